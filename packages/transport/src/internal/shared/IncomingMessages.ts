import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import { type Arrival, Arrivals } from "./Arrivals.ts"

/** The most bytes of all unfinished messages of a server, unless an option says otherwise. */
export const defaultTotalBytes = 64 * 1024 * 1024

/** So many bytes of a connection do not count: nearly every message is shorter, and most arrive whole. */
const uncountedBytes = 64 * 1024

/** The unfinished message of one connection. */
export interface IncomingMessage {
  /** So many bytes have come without a message that they complete. */
  readonly update: (bytes: number) => void
  /** The connection has ended. */
  readonly end: () => void
}

/**
 * The unfinished messages on all connections of a server. A client may send the beginning of a message and never its
 * end, on each of its connections, and the bytes are kept until then.
 */
export interface IncomingMessages {
  /** Watches a connection. `breakOff` ends it: what is dropped of a message cannot be told from the next one. */
  readonly watch: (breakOff: (reason: Error) => void) => IncomingMessage
}

export const make = (budget: MemoryBudget, totalBytes = defaultTotalBytes): IncomingMessages => {
  const arrivals = new Arrivals<Arrival>(budget, totalBytes)
  const reason = new Error(
    `unfinished messages may have ${totalBytes} bytes on all connections together, and this one took longest to arrive`
  )
  return {
    watch: (breakOff) => {
      let isCounted = false
      const arrival: Arrival = {
        bytes: 0,
        makeRoom: () => {
          end()
          breakOff(reason)
        }
      }
      const end = () => {
        if (isCounted) arrivals.end(arrival)
        isCounted = false
      }
      return {
        update: (bytes) => {
          if (bytes <= uncountedBytes) return end()
          // A message that has begun after the last look counts as a new one.
          if (bytes < arrival.bytes) end()
          if (!isCounted) arrivals.begin(arrival)
          isCounted = true
          arrivals.grow(arrival, bytes - arrival.bytes)
        },
        end
      }
    }
  }
}
