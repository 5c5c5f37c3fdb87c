/** Web Crypto, which every platform has. No library of types covers all platforms. */

/** A key that Web Crypto holds. */
export interface CryptoKey {
  readonly type: string
}

interface AesGcm {
  readonly name: "AES-GCM"
  readonly iv: Uint8Array
  readonly additionalData: Uint8Array
}

interface Subtle {
  readonly digest: (algorithm: "SHA-256", data: Uint8Array) => Promise<ArrayBuffer>
  readonly importKey: (
    format: "raw",
    key: ArrayBuffer,
    algorithm: "AES-GCM",
    extractable: false,
    uses: ReadonlyArray<"encrypt" | "decrypt">
  ) => Promise<CryptoKey>
  readonly encrypt: (algorithm: AesGcm, key: CryptoKey, data: Uint8Array) => Promise<ArrayBuffer>
  readonly decrypt: (algorithm: AesGcm, key: CryptoKey, data: Uint8Array) => Promise<ArrayBuffer>
}

declare const crypto: {
  readonly randomUUID: () => string
  readonly getRandomValues: (bytes: Uint8Array) => Uint8Array
  readonly subtle: Subtle
}

declare const TextEncoder: new() => { readonly encode: (text: string) => Uint8Array }

declare const TextDecoder: new() => { readonly decode: (bytes: Uint8Array) => string }

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Returns the bytes of a text in UTF-8. */
export const bytesOf = (text: string): Uint8Array => encoder.encode(text)

/** Returns the text of bytes in UTF-8. */
export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes)

/** Returns random bytes from a cryptographic source. */
export const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))

/** Returns a random UUID from a cryptographic source. */
export const randomUUID = (): string => crypto.randomUUID()

/** Returns the operations of Web Crypto that take time. Node loads Web Crypto when a program first uses it: 5 ms. */
export const subtle = (): Subtle => crypto.subtle
