/** The cipher of Web Crypto, which every platform has. Each of its operations waits for another thread. */

import * as Effect from "effect/Effect"
import * as webCrypto from "../webCrypto.ts"
import { type Cipher, keyMaterial, nonceBytes } from "./Cipher.ts"

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, unknown> =>
  Effect.tryPromise({ try: run, catch: (cause) => cause })

const keyOf = async (secret: string): Promise<webCrypto.CryptoKey> =>
  webCrypto.subtle().importKey(
    "raw",
    await webCrypto.subtle().digest("SHA-256", keyMaterial(secret)),
    "AES-GCM",
    false,
    ["encrypt", "decrypt"]
  )

const encrypt = async (
  key: webCrypto.CryptoKey,
  bytes: Uint8Array,
  additionalData: Uint8Array
): Promise<Uint8Array> => {
  const iv = webCrypto.randomBytes(nonceBytes)
  const encrypted = new Uint8Array(
    await webCrypto.subtle().encrypt({ name: "AES-GCM", iv, additionalData }, key, bytes)
  )
  const sealed = new Uint8Array(nonceBytes + encrypted.length)
  sealed.set(iv)
  sealed.set(encrypted, nonceBytes)
  return sealed
}

const decrypt = async (
  keys: ReadonlyArray<webCrypto.CryptoKey>,
  sealed: Uint8Array,
  additionalData: Uint8Array
): Promise<Uint8Array | undefined> => {
  const iv = sealed.subarray(0, nonceBytes)
  for (const key of keys) {
    try {
      const opened = await webCrypto.subtle().decrypt(
        { name: "AES-GCM", iv, additionalData },
        key,
        sealed.subarray(nonceBytes)
      )
      return new Uint8Array(opened)
    } catch {
      // Another key may have sealed it. Web Crypto does not say why it could not decrypt.
    }
  }
  return undefined
}

/** Makes the cipher of these secrets. */
export const make = (first: string, others: ReadonlyArray<string>): Cipher => {
  const sealing = keyOf(first)
  const opening = Promise.all([sealing, ...others.map(keyOf)])
  return {
    encrypt: (bytes, context) => attempt(async () => encrypt(await sealing, bytes, context)),
    decrypt: (sealed, context) => attempt(async () => decrypt(await opening, sealed, context)),
    digest: (bytes) => attempt(async () => new Uint8Array(await webCrypto.subtle().digest("SHA-256", bytes)))
  }
}
