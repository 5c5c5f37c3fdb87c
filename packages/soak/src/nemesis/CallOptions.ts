/** The options of a call of a client: how it treats what it receives meanwhile. */
import type * as Message from "./Message.ts"
import type { Pending } from "./RawClient.ts"

export interface CallOptions {
  readonly slowMillis?: number
  readonly limitMillis?: number
  readonly id?: number
  readonly isCancelled?: () => boolean
  readonly onEvent?: () => void
  /** Answers a question of the call. Default: a client that answers all questions. */
  readonly answer?: (id: Message.Id, question: unknown) => Promise<void>
  /** Receives each request for the stream of the call: the call itself, and those that resume it. */
  readonly onRequest?: (pending: Pending) => void
  /** Receives the status of each request that resumes the stream. */
  readonly onResumed?: (status: number | undefined) => void
  /** Returns a promise that is done when the client may resume the stream. */
  readonly present?: () => Promise<void>
}
