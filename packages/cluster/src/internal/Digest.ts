/** Digests of ids: a database has the digest of a session id, and never the id, which is a secret. */
import { webCrypto } from "@effect-mcp/session/internal"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Base64Url from "effect/encoding/Base64Url"

/** Returns the digest of Node, or that of any platform. Web Crypto would make each write wait. */
const digestOfPlatform = (): (text: string) => string => {
  const hash = globalThis.process?.getBuiltinModule?.("node:crypto")?.hash
  if (typeof hash === "function") return (text) => hash("sha256", text, "base64url")
  return (text) => Base64Url.encode(sha256(webCrypto.bytesOf(text)))
}

let digest: ((text: string) => string) | undefined

/** Returns the SHA-256 of a text in base64url. A lone surrogate counts as U+FFFD. */
export const of = (text: string): string => {
  digest ??= digestOfPlatform()
  return digest(text)
}
