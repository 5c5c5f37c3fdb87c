/** The unfinished messages on all connections of a server. */
import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import { type Arrival, Arrivals } from "./Arrivals.ts"

/** The default for the most bytes of all unfinished messages of a server. */
export const defaultTotalBytes = 64 * 1024 * 1024

/** The bytes of each connection that do not count: nearly every message is shorter, and most arrive whole. */
const uncountedBytes = 64 * 1024

/** The unfinished message of one connection. */
export interface IncomingMessage {
  /** Sets the number of bytes that have arrived of the message. */
  readonly update: (bytes: number) => void
  /** Ends the watch: the connection has ended. */
  readonly end: () => void
}

/**
 * A bound on unfinished messages. Without it, a client could send the beginning of a message on each of its connections
 * and never the end, and the server would keep the bytes.
 */
export interface IncomingMessages {
  /**
   * Watches a connection. `disconnect` ends it: the rest of a dropped message cannot be distinguished from the next
   * one.
   */
  readonly watch: (disconnect: (reason: Error) => void) => IncomingMessage
}

/** Creates the bound of one server. */
export const make = (budget: MemoryBudget, totalBytes = defaultTotalBytes): IncomingMessages => {
  const arrivals = new Arrivals<Arrival>(budget, totalBytes)
  const reason = new Error(
    `unfinished messages exceed ${totalBytes} bytes on all connections together, and this one began first`
  )
  return {
    watch: (disconnect) => {
      let isCounted = false
      const arrival: Arrival = {
        bytes: 0,
        makeRoom: () => {
          end()
          disconnect(reason)
        }
      }
      const end = () => {
        if (isCounted) arrivals.end(arrival)
        isCounted = false
      }
      return {
        update: (bytes) => {
          if (bytes <= uncountedBytes) return end()
          // Fewer bytes than before: these belong to another message.
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
