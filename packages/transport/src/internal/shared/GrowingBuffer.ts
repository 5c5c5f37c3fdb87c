/** A buffer for bytes that arrive in chunks of any size, up to a limit. */
export interface GrowingBuffer {
  /** Returns the number of bytes in the buffer. */
  readonly length: () => number
  /** Returns whether more bytes fit within the limit. */
  readonly fits: (bytes: Uint8Array) => boolean
  /** Adds a copy of more bytes, which must fit. */
  readonly add: (bytes: Uint8Array) => void
  /** Returns the bytes. They are valid until the next call of a member. */
  readonly bytes: () => Uint8Array
  /** Removes all bytes. */
  readonly clear: () => void
}

const noBytes = new Uint8Array(0)

/** The largest memory that the buffer keeps when it is cleared. */
const retainedBytes = 64 * 1024

/** Creates an empty buffer. */
export const make = (limitBytes: number): GrowingBuffer => {
  // `length` bytes at the start of `buffer`.
  let buffer = noBytes
  let length = 0
  return {
    length: () => length,
    fits: (bytes) => length + bytes.length <= limitBytes,
    add: (bytes) => {
      const needed = length + bytes.length
      if (needed > buffer.length) {
        // Doubling keeps the copying in proportion to the bytes, however small the chunks are.
        const grown = new Uint8Array(Math.min(limitBytes, Math.max(needed, 2 * buffer.length, 1024)))
        grown.set(buffer.subarray(0, length))
        buffer = grown
      }
      buffer.set(bytes, length)
      length = needed
    },
    bytes: () => buffer.subarray(0, length),
    clear: () => {
      if (buffer.length > retainedBytes) buffer = noBytes
      length = 0
    }
  }
}
