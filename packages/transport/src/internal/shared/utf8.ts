/** Text and its bytes in UTF-8. */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const lenient = new TextDecoder("utf-8", { ignoreBOM: true })
const encoder = new TextEncoder()

const byteOrderMark = [0xEF, 0xBB, 0xBF]

/** The most characters of unreadable input that an error shows. A character takes at most four bytes. */
const shownCharacters = 200
const shownBytes = 4 * shownCharacters

/** Returns the number of bytes of a text. Browsers have no `Buffer`. */
export const byteLength = (text: string): number =>
  typeof Buffer === "undefined" ? encoder.encode(text).byteLength : Buffer.byteLength(text)

/** Decodes bytes; throws if they are not UTF-8. */
export const decode = (bytes: Uint8Array): string => strict.decode(bytes)

/** Decodes bytes, with replacement characters for invalid ones. */
export const decodeLeniently = (bytes: Uint8Array): string => lenient.decode(bytes)

export const startsWithByteOrderMark = (bytes: Uint8Array): boolean =>
  byteOrderMark.every((byte, index) => bytes[index] === byte)

/** Returns the bytes after a byte order mark, if they begin with one. */
export const withoutByteOrderMark = (bytes: Uint8Array): Uint8Array =>
  startsWithByteOrderMark(bytes) ? bytes.subarray(byteOrderMark.length) : bytes

/** Cuts a text for an error, without half a surrogate pair at the end. */
export const cut = (text: string): string => text.slice(0, shownCharacters).replace(/[\uD800-\uDBFF]$/, "")

/** Returns the beginning of bytes, for an error. */
export const beginning = (bytes: Uint8Array): string => cut(lenient.decode(bytes.subarray(0, shownBytes)))
