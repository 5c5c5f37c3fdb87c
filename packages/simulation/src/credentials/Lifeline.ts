/**
 * The life of a simulated process: it runs, is suspended, or is dead. Each operation that reaches beyond the process
 * passes here twice, before and after its effect, so that a fault can hit between any two steps.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

/** The end or the suspension of a process at one of its next operations. */
export interface Strike {
  readonly what: "Kill" | "Suspend"
  /** The number of operations that are not hit. */
  operations: number
  /** Whether it hits after the effect of the operation, and not before. */
  readonly isAfter: boolean
}

export class Lifeline {
  readonly #record: (what: "Killed" | "Suspended" | "Resumed") => void
  readonly #running = Latch.makeUnsafe(true)
  #isDead = false
  #isSuspended = false
  #strike: Strike | undefined = undefined

  constructor(record: (what: "Killed" | "Suspended" | "Resumed") => void) {
    this.#record = record
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** Ends or suspends the process at one of its next operations. */
  strike(strike: Strike): void {
    this.#strike = strike
  }

  kill(): void {
    if (this.#isDead) return
    this.#isDead = true
    this.#record("Killed")
  }

  resume(): void {
    this.#strike = undefined
    if (this.#isDead || !this.#isSuspended) return
    this.#isSuspended = false
    this.#record("Resumed")
    Latch.openUnsafe(this.#running)
  }

  /** Runs an operation with an effect beyond the process. */
  operation<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const strike = this.#strike
      const isHit = strike !== undefined && strike.operations-- <= 0
      if (isHit && !strike.isAfter) this.#hit(strike)
      const after = Effect.suspend(() => {
        if (isHit && strike.isAfter) this.#hit(strike)
        return this.#gate()
      })
      return Effect.andThen(this.#gate(), Effect.onExit(effect, () => after))
    })
  }

  /** Passes while the process runs. */
  #gate(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#isDead) return Effect.never
      return this.#isSuspended ? Effect.andThen(Latch.await(this.#running), this.#gate()) : Effect.void
    })
  }

  #hit({ what }: Strike): void {
    if (this.#strike === undefined) return
    this.#strike = undefined
    if (what === "Kill") return this.kill()
    if (this.#isDead || this.#isSuspended) return
    this.#isSuspended = true
    Latch.closeUnsafe(this.#running)
    this.#record("Suspended")
  }
}
