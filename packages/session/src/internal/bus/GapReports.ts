/** The gaps of a bus, reported at most once a second: each of them counts as a change of everything in a scope. */

import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

/** The bus whose gaps are reported. */
export interface GapReportsDependencies {
  readonly now: () => number
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** Reports a gap to the listeners of these scopes. */
  readonly deliver: (scopes: ReadonlySet<string>) => void
}

/** The least time between two reports, in milliseconds. A peer that only sends malformed messages causes no more. */
const intervalMillis = 1_000

/** Gaps are reported at once, or together a second after the last report. */
export class GapReports {
  readonly #bus: GapReportsDependencies
  #due = new Set<string>()
  #reportedAt = Number.NEGATIVE_INFINITY
  #waiting: Fiber.Fiber<void> | undefined

  constructor(bus: GapReportsDependencies) {
    this.#bus = bus
  }

  /** Reports a gap of these scopes, which have listeners. */
  report(scopes: Iterable<string>): void {
    for (const scope of scopes) this.#due.add(scope)
    if (this.#due.size === 0 || this.#waiting !== undefined) return
    const wait = this.#reportedAt + intervalMillis - this.#bus.now()
    if (wait <= 0) return this.#deliver()
    this.#waiting = this.#bus.fork(
      Effect.delay(Effect.sync(() => this.#deliver()), Duration.millis(Math.ceil(wait)))
    )
  }

  stop(): void {
    this.#waiting?.interruptUnsafe()
  }

  #deliver(): void {
    const due = this.#due
    this.#due = new Set()
    this.#waiting = undefined
    this.#reportedAt = this.#bus.now()
    this.#bus.deliver(due)
  }
}
