/** The body of an HTTP message, collected from its chunks. */
import * as GrowingBuffer from "./GrowingBuffer.ts"

/**
 * A body up to a limit. The peer decides how many chunks there are. Four million chunks of one byte would take 400 MiB
 * if each was kept, because each is an object with a view of its network read. So only the first chunk is kept as it
 * is.
 */
export interface CollectedBody {
  /** Takes a chunk. Returns `false`, and keeps none of it, if it would exceed the limit. */
  readonly push: (chunk: Uint8Array) => boolean
  /** Returns the body so far. */
  readonly bytes: () => Uint8Array
}

const none = new Uint8Array(0)

/** Creates an empty body. */
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
