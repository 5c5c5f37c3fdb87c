/**
 * The lease of a key that this process has, and the fiber that prolongs it.
 */
import { webCrypto } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { Key, TokenStore, TokenStoreError } from "../../TokenStore.ts"

/** The options of a lease. */
export interface HeldLeaseOptions {
  readonly store: TokenStore["Service"]
  readonly key: Key
  readonly millis: number
  /** The scope of the fiber that prolongs the lease. */
  readonly fibers: Scope.Scope
  /** Runs when another owner has the lease, because this one could not prolong it in time. */
  readonly onLost: Effect.Effect<void>
}

export class HeldLease {
  /** The name of this holder. Two holders in one process differ. */
  readonly #owner = webCrypto.randomUUID()
  readonly #options: HeldLeaseOptions
  /** The time from which the lease runs, if it is held. It is taken before the store is asked. */
  #since: number | undefined = undefined
  #keeper: Fiber.Fiber<void> | undefined = undefined

  constructor(options: HeldLeaseOptions) {
    this.#options = options
  }

  /** Whether the lease has not expired. A process that was suspended learns here that it may have lost it. */
  get isHeld(): Effect.Effect<boolean> {
    return Effect.map(
      Clock.currentTimeMillis,
      (now) => this.#since !== undefined && now - this.#since < this.#options.millis
    )
  }

  /** Acquires or prolongs the lease, and keeps it until it is released. Returns whether this holder has it. */
  get acquire(): Effect.Effect<boolean, TokenStoreError> {
    // An interruption between the store and the keeper would leave a lease that is not released.
    return Effect.uninterruptible(Effect.gen({ self: this }, function*() {
      const isHeld = yield* this.#prolong
      if (isHeld && this.#keeper === undefined) {
        this.#keeper = yield* Effect.forkIn(Effect.interruptible(this.#keep), this.#options.fibers)
      }
      return isHeld
    }))
  }

  /** Releases the lease, if it is held. If the store fails, the lease expires. */
  get release(): Effect.Effect<void> {
    const { key, store } = this.#options
    return Effect.uninterruptible(Effect.suspend(() => {
      const keeper = this.#keeper
      if (this.#since === undefined && keeper === undefined) return Effect.void
      this.#since = undefined
      this.#keeper = undefined
      // Without the wait, the keeper could acquire the lease again.
      const kept = keeper === undefined ? Effect.void : Fiber.interrupt(keeper)
      return Effect.andThen(kept, Effect.ignore(store.release(key, this.#owner)))
    }))
  }

  get #prolong(): Effect.Effect<boolean, TokenStoreError> {
    const { key, millis, store } = this.#options
    return Effect.flatMap(
      Clock.currentTimeMillis,
      (now) =>
        Effect.map(store.acquire(key, this.#owner, millis), (isHeld) => {
          this.#since = isHeld ? now : undefined
          return isHeld
        })
    )
  }

  /** Prolongs the lease three times in its time. A failure of the store is no loss: the next attempt may succeed. */
  get #keep(): Effect.Effect<void> {
    const { millis, onLost } = this.#options
    return Effect.gen({ self: this }, function*() {
      while (true) {
        yield* Effect.sleep(millis / 3)
        const exit = yield* Effect.exit(this.#prolong)
        if (Exit.isFailure(exit) || exit.value) continue
        this.#keeper = undefined
        return yield* onLost
      }
    })
  }
}
