import * as GrowingBuffer from "./GrowingBuffer.ts"

/**
 * The body of a message of HTTP, collected from its chunks. The peer chooses how many there are: four million chunks of
 * one byte would take 400 MiB if each was kept, because each is an object with a view of all that came with it. So only
 * a first chunk is kept as it came.
 */
export interface CollectedBody {
  /** Takes a chunk. Returns `false`, and keeps nothing of it, when the body is larger than the limit with it. */
  readonly push: (chunk: Uint8Array) => boolean
  /** The body so far. */
  readonly bytes: () => Uint8Array
}

const none = new Uint8Array(0)

export const make = (limitBytes: number): CollectedBody => {
  const buffer = GrowingBuffer.make(limitBytes)
  let only: Uint8Array | undefined
  return {
    push: (chunk) => {
      if ((only?.length ?? buffer.length()) + chunk.length > limitBytes) return false
      if (only === undefined && buffer.length() === 0) only = chunk
      else {
        if (only !== undefined) buffer.add(only)
        only = undefined
        buffer.add(chunk)
      }
      return true
    },
    bytes: () => only ?? (buffer.length() === 0 ? none : buffer.bytes())
  }
}
