/** The connection to Redis, with a deadline for each command and a bound of those that wait. */
import { ForeignCall } from "@effect-mcp/session/internal"
import * as Effect from "effect/Effect"
import * as Redis from "effect/persistence/Redis"
import type { script } from "./Lua.ts"

/** The number of commands that may wait for their replies, and the characters of their values. */
const maxPending = 10_000
const maxPendingCharacters = 64 * 1024 * 1024

/** A script of this package. */
type Script<Result> = ReturnType<typeof script<Result>>

/** A connection, and the prefix of its keys. */
export interface Connection {
  /** Redis with the deadline and the bound, for stores of other packages. */
  readonly redis: Redis.Redis["Service"]
  /** Returns a key with the prefix. */
  readonly key: (name: string) => string
  /** Runs a script, whose first argument is the prefix. */
  readonly run: <Result>(
    script: Script<Result>,
    key: string,
    ...values: ReadonlyArray<string | number>
  ) => Effect.Effect<Result, Redis.RedisError>
}

/**
 * Wraps the client of a program. A client can keep the commands of an outage for as long as it lasts. Such a queue has
 * no bound, and its callers have failed by then. Here a command fails after the deadline, and at once if too many wait.
 * A command that has failed may still be run: the fences of the stores allow for it.
 */
export const make = (redis: Redis.Redis["Service"], prefix: string, millis: number): Connection => {
  let pending = 0
  let pendingCharacters = 0

  const guarded = <A>(
    command: Effect.Effect<A, Redis.RedisError>,
    values: ReadonlyArray<unknown>
  ): Effect.Effect<A, Redis.RedisError> =>
    Effect.suspend(() => {
      const characters = values.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 0), 0)
      // A command that is larger than the bound is sent if no other one waits.
      if (pending >= maxPending || (pending > 0 && pendingCharacters + characters > maxPendingCharacters)) {
        const problem = `${pending} commands with ${pendingCharacters} characters wait for Redis already; it is ` +
          "away, or slower than its clients"
        return Effect.fail(new Redis.RedisError({ cause: new Error(problem) }))
      }
      pending++
      pendingCharacters += characters
      // An interruption does not reach a command that was sent, so it is counted until its reply arrives.
      const counted = Effect.uninterruptible(
        Effect.onExit(command, () =>
          Effect.sync(() => {
            pending--
            pendingCharacters -= characters
          }))
      )
      return Effect.catchTag(
        ForeignCall.within("Redis", millis, () => counted),
        "TimedOut",
        (cause) => Effect.fail(new Redis.RedisError({ cause }))
      )
    })

  const evaluate: Redis.Redis["Service"]["eval"] = (script) => {
    const evaluated = redis.eval(script)
    return (...params) => guarded(evaluated(...params), params)
  }

  return {
    redis: {
      ...redis,
      send: (command, ...values) => guarded(redis.send(command, ...values), values),
      eval: evaluate
    },
    key: (name) => prefix + name,
    run: (script, key, ...values) => evaluate(script)(key, prefix, ...values)
  }
}
