/**
 * Middleware that limits how many calls of a tool run at the same time.
 */
import { ErrorCode, McpError } from "@effect-mcp/protocol"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as McpMiddleware from "./McpMiddleware.ts"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options {
  /** The calls of one tool that run at the same time. */
  readonly max: number
  /** The calls of one tool that wait for their turn. One more is rejected. Default 100. */
  readonly maxWaiting?: number
  /** The time that a call waits for its turn. After that it is rejected. Default 30 seconds. */
  readonly waitFor?: Duration.Input
}

const overloaded = (tool: string, problem: string): McpError.McpError =>
  new McpError.McpError({
    code: ErrorCode.Overloaded,
    message: `the tool "${tool}" is busy: ${problem}; try again later`
  })

/** The calls of one tool. */
class Turns {
  readonly #tool: string
  readonly #max: number
  readonly #maxWaiting: number
  readonly #waitMillis: number
  /** The calls that wait, the first one first. */
  readonly #waiting = new Set<Deferred.Deferred<void>>()
  #running = 0

  constructor(
    tool: string,
    limits: { readonly max: number; readonly maxWaiting: number; readonly waitMillis: number }
  ) {
    this.#tool = tool
    this.#max = limits.max
    this.#maxWaiting = limits.maxWaiting
    this.#waitMillis = limits.waitMillis
  }

  /** Runs a call when it is its turn. */
  run<A, R>(call: Effect.Effect<A, McpError.McpError, R>): Effect.Effect<A, McpError.McpError, R> {
    // Without the mask, a call that is cancelled between two steps would keep its turn.
    return Effect.uninterruptibleMask((restore) => {
      if (this.#running < this.#max) {
        this.#running++
        return Effect.ensuring(restore(call), this.#leave)
      }
      if (this.#waiting.size >= this.#maxWaiting) {
        return Effect.fail(overloaded(this.#tool, `${this.#max} calls run, and ${this.#maxWaiting} wait`))
      }
      const turn = Deferred.makeUnsafe<void>()
      this.#waiting.add(turn)
      return Effect.ensuring(
        restore(Effect.andThen(
          Effect.timeoutOrElse(Deferred.await(turn), {
            duration: this.#waitMillis,
            orElse: () => Effect.fail(overloaded(this.#tool, `the call waited for ${this.#waitMillis} ms`))
          }),
          call
        )),
        // A call that is cancelled or times out leaves the queue. It may have got its turn at the same time.
        Effect.suspend(() => this.#waiting.delete(turn) ? Effect.void : this.#leave)
      )
    })
  }

  /** Ends a call, and lets the first one that waits run. */
  readonly #leave: Effect.Effect<void> = Effect.sync(() => {
    for (const next of this.#waiting) {
      this.#waiting.delete(next)
      Deferred.doneUnsafe(next, Exit.void)
      return
    }
    this.#running--
  })
}

/**
 * Implements a middleware that limits the concurrent calls of each tool of its groups. A tool under two prefixes
 * (`McpMount`) counts as two tools. Further calls wait for their turn, in the order of their arrival. A call that
 * cannot wait is rejected with −32010 and the reason. Lists, prompts, resources and completions are not limited.
 *
 * @example
 * ```ts
 * import { McpConcurrencyLimit, McpGroup, McpMiddleware } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * class Turns extends McpMiddleware.Service<Turns>()("Turns") {}
 *
 * const Reports = McpGroup.make("reports", Tool.make("report")).middleware(Turns)
 *
 * export const ReportsLive = Reports.toLayer((handlers) => handlers.tool("report", () => Effect.void)).pipe(
 *   Layer.provide(McpConcurrencyLimit.layer(Turns, { max: 2 }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = <Self extends McpMiddleware.AnyId>(
  middleware: Context.Key<Self, McpMiddleware.McpMiddleware<never, never>>,
  { max, maxWaiting = 100, waitFor = "30 seconds" }: Options
): Layer.Layer<Self> =>
  Layer.sync(middleware, () => {
    const byTool = new Map<string, Turns>()
    const limits = { max, maxWaiting, waitMillis: Duration.toMillis(Duration.fromInputUnsafe(waitFor)) }
    return (handler, { group, method, mount, name }) => {
      if (method !== "tools/call" || name === undefined) return handler
      // Only tools of a group have calls, so the table has at most as many entries as there were tools.
      // Groups under two prefixes can have tools of the same name, and so has one group under two prefixes.
      const key = JSON.stringify([mount, group, name])
      const turns = byTool.get(key) ?? new Turns(`${mount}${name}`, limits)
      byTool.set(key, turns)
      return turns.run(handler)
    }
  })
