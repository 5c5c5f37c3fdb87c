/** Authenticated encryption with AES-256-GCM. All implementations read each other's results. */

import type * as Effect from "effect/Effect"
import * as webCrypto from "../webCrypto.ts"

/** Encrypts with the first of its secrets, and decrypts with all of them. Its failures are those of the platform. */
export interface Cipher {
  /** Encrypts bytes. The result is a nonce, the encrypted bytes, and their tag; `context` is authenticated. */
  readonly encrypt: (bytes: Uint8Array, context: Uint8Array) => Effect.Effect<Uint8Array, unknown>
  /** Decrypts bytes. Returns `undefined` if no secret fits, or the context differs. */
  readonly decrypt: (sealed: Uint8Array, context: Uint8Array) => Effect.Effect<Uint8Array | undefined, unknown>
  /** Returns the SHA-256 digest of bytes. */
  readonly digest: (bytes: Uint8Array) => Effect.Effect<Uint8Array, unknown>
}

/** The bytes of a nonce and of a tag. */
export const nonceBytes = 12
export const tagBytes = 16

/** Distinguishes these keys from other uses of the same secret. */
const purpose = "effect-mcp request state 1\n"

/** Returns the bytes whose digest is the key of a secret. */
export const keyMaterial = (secret: string): Uint8Array => webCrypto.bytesOf(`${purpose}${secret}`)
