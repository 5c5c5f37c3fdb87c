/** Bytes that come in pieces of any size, and are kept up to a limit. */
export interface GrowingBuffer {
  /** How many bytes are kept. */
  readonly length: () => number
  /** Whether with these bytes it is still within the limit. */
  readonly fits: (bytes: Uint8Array) => boolean
  /** Keeps a copy of more bytes, which must fit. */
  readonly add: (bytes: Uint8Array) => void
  /** What is kept, until the next call of anything here. */
  readonly bytes: () => Uint8Array
  /** Forgets what is kept. */
  readonly clear: () => void
}

const noBytes = new Uint8Array(0)

/** A buffer that has grown beyond this many bytes for one long message is given back when that message has ended. */
const retainedBytes = 64 * 1024

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
        // Doubling keeps the copying in proportion to the bytes, however small the pieces are.
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
