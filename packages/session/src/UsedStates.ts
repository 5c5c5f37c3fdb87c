/**
 * The states that clients have used already. With it a server accepts each `requestState` once (MRTR-10).
 *
 * @stability unstable
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NumericOption from "./internal/NumericOption.ts"

/**
 * The error of a store that could not say whether a state was used. The state is then rejected.
 *
 * @example
 * ```ts
 * import { UsedStates } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const query = <A>(run: () => Promise<A>) =>
 *   Effect.tryPromise({ try: run, catch: (cause) => new UsedStates.UsedStatesError({ cause }) })
 * ```
 *
 * @category errors
 */
export class UsedStatesError extends Data.TaggedError("UsedStatesError")<{
  readonly cause: unknown
}> {}

/**
 * The store of used states. Several processes that serve the same clients need one store together, such as
 * `SET id 1 NX PXAT expiresAt` of Redis.
 *
 * @category models
 */
export interface UsedStates {
  /**
   * Stores the id of a state, and returns whether it was not stored before. The id can be forgotten after `expiresAt`,
   * in milliseconds since the epoch. Of two calls at the same time, one returns `true`. `principal` is the id of the
   * client's principal, or `undefined` for anonymous clients. A store with limits needs it to share them fairly.
   */
  readonly use: (
    id: string,
    expiresAt: number,
    principal: string | undefined
  ) => Effect.Effect<boolean, UsedStatesError>
}

/**
 * Options of {@link makeMemory} and {@link layerMemory}.
 *
 * @category models
 */
export interface Options {
  /**
   * The number of states that are remembered, about 150 bytes each. Further states are rejected until others expire.
   * No principal may have more states than there is still room for, so that one client cannot take the room of all.
   * Anonymous clients count as one principal. Default 100,000.
   */
  readonly capacity?: number
}

/** The least time between two searches for expired ids: a search of a large table takes milliseconds. */
const searchMillis = 1_000

/**
 * Makes a store in memory. Expired ids are forgotten when there is no room, at most once a second.
 *
 * @example
 * ```ts
 * import { UsedStates } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const { use } = UsedStates.makeMemory()
 *
 * const useOnce = use("a", Number.MAX_VALUE, "ada")
 *
 * export const uses = Effect.all([useOnce, useOnce]) // => [true, false]
 * ```
 *
 * @category constructors
 */
export const makeMemory = (options: Options = {}): UsedStates => {
  NumericOption.check(options, { capacity: NumericOption.count })
  const { capacity = 100_000 } = options
  const used = new Map<string, { readonly expiresAt: number; readonly principal: string | undefined }>()
  const counts = new Map<string | undefined, number>()
  /** The time before which no id of the table expires. */
  let nextExpiry = Number.POSITIVE_INFINITY
  let searchedAt = Number.NEGATIVE_INFINITY

  /** Returns whether to search the table. A client that has used up its room could cause a search by each state. */
  const isSearchDue = (now: number): boolean =>
    // The clock may have been set back.
    nextExpiry <= now && Math.abs(now - searchedAt) >= searchMillis

  const forget = (now: number): void => {
    searchedAt = now
    nextExpiry = Number.POSITIVE_INFINITY
    for (const [id, { expiresAt, principal }] of used) {
      if (expiresAt > now) {
        nextExpiry = Math.min(nextExpiry, expiresAt)
        continue
      }
      used.delete(id)
      const left = (counts.get(principal) ?? 0) - 1
      if (left > 0) counts.set(principal, left)
      else counts.delete(principal)
    }
  }

  return {
    use: (id, expiresAt, principal) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (used.has(id)) return Effect.succeed(false)
        const isFull = () => (counts.get(principal) ?? 0) >= capacity - used.size
        if (isSearchDue(now) && isFull()) forget(now)
        if (isFull()) {
          const problem = `${used.size} of ${capacity} states are remembered already, ` +
            `${counts.get(principal) ?? 0} of them of this principal; set capacity to allow more`
          return Effect.fail(new UsedStatesError({ cause: new Error(problem) }))
        }
        used.set(id, { expiresAt, principal })
        counts.set(principal, (counts.get(principal) ?? 0) + 1)
        nextExpiry = Math.min(nextExpiry, expiresAt)
        return Effect.succeed(true)
      })
  }
}

/**
 * The used states of the servers. A server reads this reference when it is made, and uses it if its option
 * `requestState.singleUse` is set. A server of groups (`McpServer`) takes it from the Layers of its groups as well. The
 * default is one store in memory for the whole process.
 *
 * @example
 * ```ts
 * import { UsedStates } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const isNew = (id: string, principal: string) =>
 *   Effect.flatMap(UsedStates.UsedStates, ({ use }) => use(id, Date.now() + 60_000, principal))
 * ```
 *
 * @category services
 */
export const UsedStates: Context.Reference<UsedStates> = Context.Reference("@effect-mcp/session/UsedStates", {
  defaultValue: () => makeMemory()
})

/**
 * Provides a separate store in memory to the servers that use this Layer.
 *
 * @example
 * ```ts
 * import { UsedStates } from "@effect-mcp/session"
 *
 * export const small = UsedStates.layerMemory({ capacity: 1_000 })
 * ```
 *
 * @category layers
 */
export const layerMemory = (options?: Options): Layer.Layer<never> =>
  Layer.effect(UsedStates, Effect.sync(() => makeMemory(options)))
