/** The outage of a bus, which is logged once. */

import type * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** A direction of a connection. */
export type Direction = "receive" | "send"

const firstDelayMillis = 100
const longestDelayMillis = 2_000

/** Waits before an attempt that follows so many failures. The times differ, so that processes do not come together. */
export const delay = (failures: number): Effect.Effect<void> =>
  Effect.flatMap(Random.next, (random) =>
    Effect.sleep(
      Duration.millis(Math.min(firstDelayMillis * 2 ** (failures - 1), longestDelayMillis) * (0.5 + random / 2))
    ))

/** The directions of a connection that fail at present. */
export class Outage {
  readonly #failing = new Set<Direction>()
  readonly #log: (message: string, cause: Cause.Cause<unknown>) => void

  constructor(log: (message: string, cause: Cause.Cause<unknown>) => void) {
    this.#log = log
  }

  has(direction: Direction): boolean {
    return this.#failing.has(direction)
  }

  /** Remembers a failure, and logs the first one of an outage. */
  begin(direction: Direction, cause: Cause.Cause<unknown>): void {
    if (this.#failing.size === 0) {
      const message = `ChangeBus: cannot ${direction} changes; it tries again, and reports what was lost as a gap`
      this.#log(message, cause)
    }
    this.#failing.add(direction)
  }

  end(direction: Direction): void {
    this.#failing.delete(direction)
  }
}
