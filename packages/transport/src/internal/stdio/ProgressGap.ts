/**
 * The time between the last progress of a request and its reply, over stdio.
 *
 * The official TypeScript SDKs handle a notification one microtask after its arrival, and a response at once. If both
 * arrive in one chunk of bytes, the progress finds no handler any more (typescript-sdk #2580). A reader that has the
 * time to read the progress before the reply loses nothing.
 *
 * The time counts from the write of the progress, because a process without a processor may write it late and the reply
 * at once. No time is certain: a reader without a processor reads both late. Beside two busy loops on two processors,
 * half of the calls lost their last step without a gap, and 3 of 900 with one of 10 ms, whose readers had read nothing
 * for 13 to 33 ms. Under more load, 9 of 600 lost it with a gap of 20 ms, after up to 465 ms. Only an answer of the
 * reader would be certain: a `ping` before each such reply, which clients of 2026-07-28 do not answer.
 */
import { JsonRpc } from "@effect-mcp/protocol"
import type { Pacing } from "../shared/LineWriter.ts"

/** The time that a reader has for the progress, in milliseconds. */
const defaultGapMillis = 10

/** The number of requests whose progress is remembered. */
const maxTokens = 64

/** The progress that was sent last for a token. */
interface Step {
  /** The time at which the sink had taken it; `undefined` until then. */
  writtenAt: number | undefined
}

/** The progress that one side has sent in the last milliseconds. */
export class ProgressGap implements Pacing {
  /** The last steps, by their tokens. The SDKs choose the id of the request as its token. */
  readonly #steps = new Map<unknown, Step>()
  readonly #gapMillis: number
  /** The steps that are in no chunk yet, and those in the chunk that is being written. */
  #ready: Array<Step> = []
  #writing: Array<Step> = []

  constructor(gapMillis: number = defaultGapMillis) {
    this.#gapMillis = gapMillis
  }

  /** Observes a message that is sent now. Only the reply to a request with recent progress has to wait. */
  waitBefore(message: JsonRpc.Frame): (() => number) | undefined {
    if ("method" in message) {
      if (message.method === "notifications/progress") this.#add(message.params?.["progressToken"])
      return undefined
    }
    if (this.#steps.size === 0) return undefined
    const replies = JsonRpc.isBatch(message) ? message : [message]
    const steps = replies.flatMap(({ id }) => this.#take(id))
    return steps.some((step) => this.#left(step) > 0)
      ? () => Math.max(...steps.map((step) => this.#left(step)))
      : undefined
  }

  /** Observes that all is written that was ready at the call before. */
  onWritten(): void {
    if (this.#writing.length === 0 && this.#ready.length === 0) return
    const now = performance.now()
    for (const step of this.#writing) step.writtenAt = now
    this.#writing = this.#ready
    this.#ready = []
  }

  #add(token: unknown): void {
    const step: Step = { writtenAt: undefined }
    this.#ready.push(step)
    // Again as the last one, so that the oldest come first.
    this.#steps.delete(token)
    this.#steps.set(token, step)
    for (const [old, one] of this.#steps) {
      if (this.#steps.size <= maxTokens && this.#left(one) > 0) break
      this.#steps.delete(old)
    }
  }

  #take(id: unknown): ReadonlyArray<Step> {
    const step = this.#steps.get(id)
    this.#steps.delete(id)
    return step === undefined ? [] : [step]
  }

  #left({ writtenAt }: Step): number {
    return writtenAt === undefined ? this.#gapMillis : this.#gapMillis - (performance.now() - writtenAt)
  }
}
