/** Digests of tokens and proofs. A table has the digest of a token, and never the token. */
import { webCrypto } from "@effect-mcp/session/internal"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Base64Url from "effect/encoding/Base64Url"

/** Returns the digest of Node, or that of any platform. Web Crypto would make each request wait. */
const digestOfPlatform = (): (text: string) => string => {
  const hash = globalThis.process?.getBuiltinModule?.("node:crypto")?.hash
  // An object of `createHash` would cost several times as much.
  if (typeof hash === "function") return (text) => hash("sha256", text, "base64url")
  return (text) => Base64Url.encode(sha256(webCrypto.bytesOf(text)))
}

let digest: ((text: string) => string) | undefined

/** Returns the SHA-256 of a text in base64url, as `ath` and `jkt` of DPoP have it. Each request has a token. */
export const of = (text: string): string => {
  digest ??= digestOfPlatform()
  return digest(text)
}
