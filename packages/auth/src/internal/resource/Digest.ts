/** Digests of tokens and proofs. A table has the digest of a token, and never the token. */
import { hash } from "node:crypto"

/**
 * Returns the SHA-256 of a text in base64url, as `ath` and `jkt` of DPoP have it. Each request has a token, and an
 * object of `createHash` would cost several times as much.
 */
export const of = (text: string): string => hash("sha256", text, "base64url")
