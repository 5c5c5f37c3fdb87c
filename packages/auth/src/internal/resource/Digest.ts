/** Digests of tokens and proofs. A table has the digest of a token, and never the token. */
import { createHash } from "node:crypto"

/** Returns the SHA-256 of a text in base64url, as `ath` and `jkt` of DPoP have it. */
export const of = (text: string): string => createHash("sha256").update(text).digest("base64url")
