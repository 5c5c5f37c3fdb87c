/** The queue of each tool: a number of its calls runs at the same time, and a number waits. */

import { ErrorCode, McpError } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** The bounds for the calls of one tool. */
export interface Limits {
  readonly max: number
  readonly maxWaiting: number
  readonly waitMillis: number
}

/** The calls of one tool. */
interface Calls {
  running: number
  /** The calls that wait, the first one first. */
  readonly waiting: Set<Deferred.Deferred<void>>
}

const overloaded = (tool: string, problem: string): McpError.McpError =>
  new McpError.McpError({
    code: ErrorCode.Overloaded,
    message: `the tool "${tool}" is busy: ${problem}; try again later`
  })

/** The queues of all tools. */
export class ToolQueues {
  readonly #limits: Limits
  /** The tools that are called now. A tool without a call has no entry, because tools can come and go without end. */
  readonly #byKey = new Map<string, Calls>()

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** The number of tools that are called now. */
  get size(): number {
    return this.#byKey.size
  }

  /** Runs a call of the tool with this key when it is its turn. `tool` is its name in errors. */
  run<A, R>(key: string, tool: string, call: Effect.Effect<A, McpError.McpError, R>): Effect.Effect<
    A,
    McpError.McpError,
    R
  > {
    const { max, maxWaiting, waitMillis } = this.#limits
    // Without the mask, a call that is cancelled between two steps would keep its turn.
    return Effect.uninterruptibleMask((restore) => {
      const calls = this.#byKey.get(key) ?? { running: 0, waiting: new Set() }
      if (calls.running < max) {
        calls.running++
        this.#byKey.set(key, calls)
        return Effect.ensuring(restore(call), this.#leave(key, calls))
      }
      if (calls.waiting.size >= maxWaiting) {
        return Effect.fail(overloaded(tool, `${max} calls run, and ${maxWaiting} wait`))
      }
      const turn = Deferred.makeUnsafe<void>()
      calls.waiting.add(turn)
      return Effect.ensuring(
        restore(Effect.andThen(
          Effect.timeoutOrElse(Deferred.await(turn), {
            duration: waitMillis,
            orElse: () => Effect.fail(overloaded(tool, `the call waited for ${waitMillis} ms`))
          }),
          call
        )),
        // A call that is cancelled or times out leaves the queue. It may have got its turn at the same time.
        Effect.suspend(() => calls.waiting.delete(turn) ? Effect.void : this.#leave(key, calls))
      )
    })
  }

  /** Ends a call, and lets the first one that waits run. */
  #leave(key: string, calls: Calls): Effect.Effect<void> {
    return Effect.sync(() => {
      for (const next of calls.waiting) {
        calls.waiting.delete(next)
        Deferred.doneUnsafe(next, Exit.void)
        return
      }
      calls.running--
      if (calls.running === 0) this.#byKey.delete(key)
    })
  }
}
