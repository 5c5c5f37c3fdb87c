/** The private key of a client, read by Web Crypto. */
import * as Redacted from "effect/Redacted"
import type { CryptoKey } from "oauth4webapi"
import type { PrivateKey } from "../../ClientIdentity.ts"

/** The parameters of a key for Web Crypto. */
interface Parameters {
  readonly name: string
  readonly namedCurve?: string
  readonly hash?: string
}

const ellipticCurves: Readonly<Record<string, string>> = { ES256: "P-256", ES384: "P-384", ES512: "P-521" }

const parametersOf = (algorithm: PrivateKey["algorithm"]): Parameters => {
  const namedCurve = ellipticCurves[algorithm]
  if (namedCurve !== undefined) return { name: "ECDSA", namedCurve }
  if (algorithm === "EdDSA" || algorithm === "Ed25519") return { name: "Ed25519" }
  const name = algorithm.startsWith("PS") ? "RSA-PSS" : "RSASSA-PKCS1-v1_5"
  return { name, hash: `SHA-${algorithm.slice(2)}` }
}

/** Returns the bytes of a key in PEM. Keys of other kinds, such as `RSA PRIVATE KEY`, are not PKCS#8. */
const bytesOf = (pem: string): Uint8Array<ArrayBuffer> => {
  const [, base64 = ""] = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/.exec(pem) ?? []
  return Uint8Array.from(atob(base64.replaceAll(/\s/g, "")), (character) => character.charCodeAt(0))
}

/** Reads a key. The promise is rejected if the text is no key for the algorithm. */
export const read = async ({ algorithm, key }: PrivateKey): Promise<CryptoKey> => {
  const text = Redacted.value(key).trim()
  const parameters = parametersOf(algorithm)
  if (!text.startsWith("{")) return crypto.subtle.importKey("pkcs8", bytesOf(text), parameters, false, ["sign"])
  // A key for another use, or one that names its own algorithm, is still a key for signatures.
  const { alg: _alg, key_ops: _keyOps, use: _use, ...jwk } = JSON.parse(text)
  return crypto.subtle.importKey("jwk", jwk, parameters, false, ["sign"])
}
