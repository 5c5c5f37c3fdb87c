/**
 * The memory that the sessions of one process hold for their peers, all of them together.
 *
 * Each session has limits of its own, but a process may have thousands of sessions. Everything that a peer can make a session keep is
 * charged to the budget of the process as well: the requests it serves, the notifications and steps of progress that wait for a slow
 * consumer, and the messages that wait to be sent. What is charged is released when it is no longer kept, at the latest with the session.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NumericOption from "./NumericOption.ts"

/**
 * A number of bytes that many share. Sessions and sessionless servers charge what they keep, and do without it where the budget is
 * used up: a request is answered with −32010 `Overloaded`, and the oldest of a consumer's notifications make room.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryBudget {
  /** The most that may be charged at the same time, in bytes. */
  readonly limitBytes: number
  /** The bytes that are charged now. */
  readonly usedBytes: () => number
  /** Charges so many bytes; returns `false` and charges nothing if that would exceed the limit. */
  readonly take: (bytes: number) => boolean
  /** Releases so many of the bytes that were charged. */
  readonly release: (bytes: number) => void
}

/**
 * Options of {@link make} and {@link layer}.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The most that may be charged at the same time, in bytes. Default 256 MiB: a quarter of a heap of 1 GiB. */
  readonly limitBytes?: number
}

/**
 * Creates a budget of its own, of which nothing is charged yet.
 *
 * @example
 * ```ts
 * import { MemoryBudget } from "@effect-mcp/session"
 *
 * const budget = MemoryBudget.make({ limitBytes: 1000 })
 *
 * export const taken = [budget.take(800), budget.take(300), budget.usedBytes()] // => [true, false, 800]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): MemoryBudget => {
  NumericOption.check(options, { limitBytes: NumericOption.count })
  const { limitBytes = 256 * 1024 * 1024 } = options
  let used = 0
  return {
    limitBytes,
    usedBytes: () => used,
    take: (bytes) => {
      if (used + bytes > limitBytes) return false
      used += bytes
      return true
    },
    release: (bytes) => {
      used -= bytes
    }
  }
}

/**
 * Returns whether half of a budget is charged. Then messages no longer wait for peers that do not read: the other half stays for the
 * requests of those that do.
 *
 * @example
 * ```ts
 * import { MemoryBudget } from "@effect-mcp/session"
 *
 * const budget = MemoryBudget.make({ limitBytes: 1000 })
 * budget.take(500)
 *
 * export const scarce = MemoryBudget.isScarce(budget) // => true
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isScarce = (budget: MemoryBudget): boolean => budget.usedBytes() >= budget.limitBytes / 2

/**
 * The budget that sessions and servers charge. It is read where a session, a `SessionHost` or a sessionless server is made. The default
 * is one budget of 256 MiB for the whole process.
 *
 * @example
 * ```ts
 * import { MemoryBudget } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const usedMebibytes = Effect.map(
 *   MemoryBudget.MemoryBudget,
 *   (budget) => Math.round(budget.usedBytes() / 1024 / 1024)
 * )
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export const MemoryBudget: Context.Reference<MemoryBudget> = Context.Reference("@effect-mcp/session/MemoryBudget", {
  defaultValue: () => make()
})

/**
 * A budget of its own for the sessions and servers below it. Set it to about a quarter of the heap of the process, and provide one
 * constant of it to everything in the process that has sessions.
 *
 * @example
 * ```ts
 * import { MemoryBudget } from "@effect-mcp/session"
 *
 * // For a process that runs with --max-old-space-size=512.
 * export const small = MemoryBudget.layer({ limitBytes: 128 * 1024 * 1024 })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<never> =>
  Layer.effect(MemoryBudget, Effect.sync(() => make(options)))
