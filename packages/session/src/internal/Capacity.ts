/**
 * How much may be served at the same time: so many requests, which came in so many bytes.
 */
export interface Capacity {
  /** Takes the room for one more; or says why there is none. */
  readonly take: (bytes: number) => string | undefined
  /** Gives the room of one back. */
  readonly release: (bytes: number) => void
}

export const make = (limits: { readonly requests: number; readonly bytes: number }): Capacity => {
  let requests = 0
  let bytes = 0
  return {
    take: (more) => {
      if (requests >= limits.requests) return `${limits.requests} requests are in flight`
      if (bytes + more > limits.bytes) return `the requests in flight may have ${limits.bytes} bytes`
      requests++
      bytes += more
      return undefined
    },
    release: (taken) => {
      requests--
      bytes -= taken
    }
  }
}
