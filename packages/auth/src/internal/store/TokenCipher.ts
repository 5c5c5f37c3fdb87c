/**
 * Authenticated encryption of entries: AES-256-GCM of Web Crypto, with a key that the program gives.
 */
import { webCrypto } from "@effect-mcp/session/internal"
import { InvalidOptionError } from "@effect-mcp/session/InvalidOptionError"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

/** The keys of encryption. */
export interface Keys {
  /** The key that encrypts: 32 bytes from a cryptographic source. */
  readonly key: Redacted.Redacted<Uint8Array>
  /** Older keys, which decrypt entries that were written with them. */
  readonly previousKeys?: ReadonlyArray<Redacted.Redacted<Uint8Array>> | undefined
}

/** The result of a decryption. */
export type Opened =
  | { readonly _tag: "Opened"; readonly text: string }
  | { readonly _tag: "Newer"; readonly format: string }
  | { readonly _tag: "Damaged"; readonly problem: string }

/** The first part of an encrypted text. */
const format = "aes-256-gcm-1"

const keyBytes = 32

/** The length of a nonce. A random one is good for four billion entries of a key. */
const nonceBytes = 12

const damaged = (problem: string): Opened => ({ _tag: "Damaged", problem })

const imported = (key: Redacted.Redacted<Uint8Array>): Promise<webCrypto.CryptoKey> => {
  // A copy: the buffer of a `Buffer` may have bytes of others.
  const { buffer } = new Uint8Array(Redacted.value(key))
  return webCrypto.subtle().importKey("raw", buffer, "AES-GCM", false, ["encrypt", "decrypt"])
}

/** Throws an `InvalidOptionError` for a key of another length. */
export class TokenCipher {
  readonly #keys: readonly [Redacted.Redacted<Uint8Array>, ...ReadonlyArray<Redacted.Redacted<Uint8Array>>]
  #imported: Promise<ReadonlyArray<webCrypto.CryptoKey>> | undefined = undefined

  constructor({ key, previousKeys = [] }: Keys) {
    this.#keys = [key, ...previousKeys]
    for (const each of this.#keys) {
      const { length } = Redacted.value(each)
      if (length !== keyBytes) {
        throw new InvalidOptionError({
          option: "key",
          given: `${length} bytes`,
          allowed: `${keyBytes} bytes`
        })
      }
    }
  }

  /** Encrypts a text. It can be decrypted only in the same context, which is authenticated and not stored. */
  async seal(text: string, context: string): Promise<string> {
    const [key] = await this.#load()
    if (key === undefined) throw new Error("no key")
    const iv = webCrypto.randomBytes(nonceBytes)
    const algorithm = { name: "AES-GCM", iv, additionalData: webCrypto.bytesOf(context) } as const
    const bytes = await webCrypto.subtle().encrypt(algorithm, key, webCrypto.bytesOf(text))
    return [format, Base64Url.encode(iv), Base64Url.encode(new Uint8Array(bytes))].join(".")
  }

  /** Decrypts a text. */
  async open(sealed: string, context: string): Promise<Opened> {
    const [found = "", nonce = "", encrypted = ""] = sealed.split(".")
    if (found !== format) {
      return /^aes-256-gcm-\d+$/.test(found) ? { _tag: "Newer", format: found } : damaged("it is not encrypted")
    }
    const iv = Base64Url.decode(nonce)
    const bytes = Base64Url.decode(encrypted)
    if (Result.isFailure(iv) || Result.isFailure(bytes) || iv.success.length !== nonceBytes) {
      return damaged("it is damaged")
    }
    const algorithm = {
      name: "AES-GCM",
      iv: iv.success,
      additionalData: webCrypto.bytesOf(context)
    } as const
    for (const key of await this.#load()) {
      try {
        const text = await webCrypto.subtle().decrypt(algorithm, key, bytes.success)
        return { _tag: "Opened", text: webCrypto.textOf(new Uint8Array(text)) }
      } catch {
        // Another key may fit.
      }
    }
    return damaged("it was encrypted with another key, or is damaged")
  }

  #load(): Promise<ReadonlyArray<webCrypto.CryptoKey>> {
    this.#imported ??= Promise.all(this.#keys.map(imported))
    return this.#imported
  }
}
