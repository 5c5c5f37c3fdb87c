/** The cipher of `node:crypto`, on platforms that have it. It encrypts a state sooner than Web Crypto starts to. */

import * as Exit from "effect/Exit"
import { trust } from "../trust.ts"
import * as webCrypto from "../webCrypto.ts"
import { type Cipher, keyMaterial, nonceBytes, tagBytes } from "./Cipher.ts"

interface Transform {
  readonly setAAD: (context: Uint8Array) => unknown
  readonly update: (bytes: Uint8Array) => Uint8Array
  readonly final: () => Uint8Array
}

type Options = { readonly authTagLength: number }

/** A key that OpenSSL holds. */
interface SecretKey {
  readonly type: string
}

interface NodeCrypto {
  readonly hash: (algorithm: "sha256", bytes: Uint8Array, encoding: "buffer") => Uint8Array
  readonly createSecretKey: (bytes: Uint8Array) => SecretKey
  readonly createCipheriv: (
    algorithm: "aes-256-gcm",
    key: SecretKey,
    nonce: Uint8Array,
    options: Options
  ) => Transform & { readonly getAuthTag: () => Uint8Array }
  readonly createDecipheriv: (
    algorithm: "aes-256-gcm",
    key: SecretKey,
    nonce: Uint8Array,
    options: Options
  ) => Transform & { readonly setAuthTag: (tag: Uint8Array) => unknown }
}

declare const process: undefined | { readonly getBuiltinModule?: (name: "node:crypto") => unknown }

const algorithm = "aes-256-gcm"
const options: Options = { authTagLength: tagBytes }

const digestOf = (crypto: NodeCrypto, bytes: Uint8Array): Uint8Array => crypto.hash("sha256", bytes, "buffer")

const encrypt = (crypto: NodeCrypto, key: SecretKey, bytes: Uint8Array, context: Uint8Array): Uint8Array => {
  // Not from a stock: a process that is restored twice from a snapshot would use its nonces twice.
  const nonce = webCrypto.randomBytes(nonceBytes)
  const cipher = crypto.createCipheriv(algorithm, key, nonce, options)
  cipher.setAAD(context)
  const encrypted = cipher.update(bytes)
  // It has no bytes in this mode, and computes the tag.
  cipher.final()
  const sealed = new Uint8Array(nonceBytes + encrypted.length + tagBytes)
  sealed.set(nonce)
  sealed.set(encrypted, nonceBytes)
  sealed.set(cipher.getAuthTag(), nonceBytes + encrypted.length)
  return sealed
}

const decrypt = (
  crypto: NodeCrypto,
  keys: ReadonlyArray<SecretKey>,
  sealed: Uint8Array,
  context: Uint8Array
): Uint8Array | undefined => {
  const tagAt = sealed.length - tagBytes
  if (tagAt < nonceBytes) return undefined
  for (const key of keys) {
    const decipher = crypto.createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), options)
    decipher.setAAD(context)
    decipher.setAuthTag(sealed.subarray(tagAt))
    const opened = decipher.update(sealed.subarray(nonceBytes, tagAt))
    try {
      decipher.final()
      return opened
    } catch {
      // Another key may have sealed it.
    }
  }
  return undefined
}

/** Runs an operation at once. Its caller then needs no fiber, and no timer for a deadline. */
const attempt = <A>(run: () => A): Exit.Exit<A, unknown> => {
  try {
    return Exit.succeed(run())
  } catch (cause) {
    return Exit.fail(cause)
  }
}

/** Makes the cipher of these secrets. Throws if the platform has an incomplete `node:crypto`. */
const makeWith = (crypto: NodeCrypto, first: string, others: ReadonlyArray<string>): Cipher => {
  const keyOf = (secret: string) => crypto.createSecretKey(digestOf(crypto, keyMaterial(secret)))
  const sealing = keyOf(first)
  const opening = [sealing, ...others.map(keyOf)]
  const nothing = new Uint8Array()
  decrypt(crypto, opening, encrypt(crypto, sealing, nothing, nothing), nothing)
  return {
    encrypt: (bytes, context) => attempt(() => encrypt(crypto, sealing, bytes, context)),
    decrypt: (sealed, context) => attempt(() => decrypt(crypto, opening, sealed, context)),
    digest: (bytes) => attempt(() => digestOf(crypto, bytes))
  }
}

/** Makes the cipher of these secrets. Returns `undefined` if the platform has no complete `node:crypto`. */
export const make = (first: string, others: ReadonlyArray<string>): Cipher | undefined => {
  try {
    const crypto = typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:crypto")
    // A platform that names the module has its functions, or fails the attempt that makes the cipher.
    return crypto === undefined ? undefined : makeWith(trust<NodeCrypto>(crypto), first, others)
  } catch {
    return undefined
  }
}
