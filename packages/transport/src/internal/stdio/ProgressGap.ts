/**
 * The time between the last progress of a request and its reply, over stdio.
 *
 * The official TypeScript SDKs handle a notification one microtask after its arrival, and a response at once. If both
 * arrive in one chunk of bytes, the progress finds no handler any more (typescript-sdk #2580). A reader that has the
 * time to read the progress before the reply loses nothing. On a loaded machine, half of the calls lost their last step
 * without a gap, one in thirty with 5 ms, and none of 90 with 12.
 */
import { JsonRpc } from "@effect-mcp/protocol"

/** The time that a reader has for the progress, in milliseconds. */
const defaultGapMillis = 10

/** The number of requests whose progress is remembered. */
const maxTokens = 64

/** The progress that one side has sent in the last milliseconds. */
export class ProgressGap {
  /** The times of the last progress, by their tokens. The SDKs choose the id of the request as its token. */
  readonly #sentAt = new Map<unknown, number>()
  readonly #gapMillis: number

  constructor(gapMillis: number = defaultGapMillis) {
    this.#gapMillis = gapMillis
  }

  /** Observes a message that is sent now. Returns the milliseconds for which it has to wait: 0 except for replies. */
  waitBefore(message: JsonRpc.Frame): number {
    if ("method" in message) {
      if (message.method === "notifications/progress") this.#add(message.params?.["progressToken"])
      return 0
    }
    if (this.#sentAt.size === 0) return 0
    const replies = JsonRpc.isBatch(message) ? message : [message]
    return replies.reduce((millis, { id }) => Math.max(millis, this.#left(id)), 0)
  }

  #add(token: unknown): void {
    const now = performance.now()
    // Again as the last one, so that the oldest come first.
    this.#sentAt.delete(token)
    this.#sentAt.set(token, now)
    for (const [old, at] of this.#sentAt) {
      if (this.#sentAt.size <= maxTokens && now - at < this.#gapMillis) break
      this.#sentAt.delete(old)
    }
  }

  #left(id: unknown): number {
    const at = this.#sentAt.get(id)
    if (at === undefined) return 0
    this.#sentAt.delete(id)
    return this.#gapMillis - (performance.now() - at)
  }
}
