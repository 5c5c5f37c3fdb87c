/** Results by key: each is made once at a time, and remembered for some time. */
import { LeastRecentlyUsed } from "@effect-mcp/session/internal"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

interface Remembered<A, E> {
  readonly exit: Exit.Exit<A, E>
  readonly until: number
}

/** The settings of {@link RememberedResults}. */
export interface Options<A, E> {
  /** The number of results that are remembered. */
  readonly capacity: number
  /** The total weight of the results that are remembered, by `weightOf`. Default: no bound. */
  readonly maxWeight?: number
  readonly weightOf?: (exit: Exit.Exit<A, E>) => number
  readonly clock: Clock.Clock
  /** The scope of the program: what is being made ends with it. */
  readonly scope: Scope.Scope
  /** Returns the time until which a result is remembered; `undefined` for one that is not remembered. */
  readonly until: (exit: Exit.Exit<A, E>, now: number) => number | undefined
}

/**
 * Results by key. Callers with one key wait for the same run, which goes on if a caller is interrupted. The run must
 * have a deadline.
 */
export class RememberedResults<A, E> {
  readonly #options: Options<A, E>
  readonly #results: LeastRecentlyUsed.LeastRecentlyUsed<Remembered<A, E>>
  readonly #runs = new Map<string, Fiber.Fiber<A, E>>()

  constructor(options: Options<A, E>) {
    this.#options = options
    this.#results = LeastRecentlyUsed.make({
      size: options.capacity,
      weight: options.maxWeight ?? Number.POSITIVE_INFINITY
    })
  }

  /** Returns what is remembered of a key. */
  peek(key: string): Exit.Exit<A, E> | undefined {
    const found = this.#results.get(key)
    if (found === undefined) return undefined
    if (found.until > this.#options.clock.currentTimeMillisUnsafe()) return found.exit
    this.#results.delete(key)
    return undefined
  }

  /** Returns the result of a key, by a run of `make` if there is none. */
  get(key: string, make: () => Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const remembered = this.peek(key)
      if (remembered !== undefined) return remembered
      const running = this.#runs.get(key)
      return running === undefined ? this.#run(key, make) : Fiber.join(running)
    })
  }

  /** Forgets the result of a key. */
  forget(key: string): void {
    this.#results.delete(key)
  }

  #run(key: string, make: () => Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        Effect.forkIn(Effect.interruptible(Effect.suspend(make)), this.#options.scope),
        (fiber) => {
          this.#runs.set(key, fiber)
          fiber.addObserver((exit) => {
            this.#runs.delete(key)
            const until = this.#options.until(exit, this.#options.clock.currentTimeMillisUnsafe())
            if (until !== undefined) this.#results.set(key, { exit, until }, this.#options.weightOf?.(exit) ?? 1)
          })
          return restore(Fiber.join(fiber))
        }
      )
    )
  }
}
