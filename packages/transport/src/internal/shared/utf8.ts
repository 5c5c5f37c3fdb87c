const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const lenient = new TextDecoder("utf-8", { ignoreBOM: true })

const byteOrderMark = [0xEF, 0xBB, 0xBF]

/** How much of what cannot be read is shown. A character takes at most four bytes. */
const shownCharacters = 200
const shownBytes = 4 * shownCharacters

/** The text of these bytes; throws if they are no UTF-8. */
export const decode = (bytes: Uint8Array): string => strict.decode(bytes)

/** The text of these bytes, with a replacement character for what is no UTF-8. */
export const decodeLeniently = (bytes: Uint8Array): string => lenient.decode(bytes)

export const startsWithByteOrderMark = (bytes: Uint8Array): boolean =>
  byteOrderMark.every((byte, index) => bytes[index] === byte)

/** The bytes behind a byte order mark, if they begin with one. */
export const withoutByteOrderMark = (bytes: Uint8Array): Uint8Array =>
  startsWithByteOrderMark(bytes) ? bytes.subarray(byteOrderMark.length) : bytes

/** The beginning of a text that cannot be read, without half a surrogate pair at the cut. */
export const cut = (text: string): string => text.slice(0, shownCharacters).replace(/[\uD800-\uDBFF]$/, "")

/** The beginning of bytes that cannot be read. */
export const beginning = (bytes: Uint8Array): string => cut(lenient.decode(bytes.subarray(0, shownBytes)))
