/** The sending half of a bus. */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as ForeignCall from "../engine/ForeignCall.ts"
import type { Change, ChangeConnection } from "./ChangeBusShape.ts"
import * as Outage from "./Outage.ts"
import type { PendingChanges } from "./PendingChanges.ts"

/** The bus that sends. */
export interface SendingDependencies {
  readonly connection: ChangeConnection
  readonly pending: PendingChanges
  readonly outage: Outage.Outage
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/** The deadline of one call of a connection, in milliseconds. */
export const deadlineMillis = 5_000

/** Sends a text, within the deadline. */
export const send = (connection: ChangeConnection, text: string): Effect.Effect<Exit.Exit<unknown, unknown>> =>
  Effect.exit(ForeignCall.within("ChangeBus.send", deadlineMillis, () => connection.send(text)))

/** Sends what waits, one message after another. Its fiber exists only while something waits. */
export class Sending {
  readonly #bus: SendingDependencies
  readonly #idle = Latch.makeUnsafe(true)
  #fiber: Fiber.Fiber<void> | undefined
  #isStopped = false

  constructor(bus: SendingDependencies) {
    this.#bus = bus
  }

  publish(change: Change): void {
    if (this.#isStopped) return
    this.#bus.pending.add(change)
    if (this.#fiber !== undefined) return
    Latch.closeUnsafe(this.#idle)
    // Changes that are published together are sent together.
    this.#fiber = this.#bus.fork(Effect.andThen(Effect.yieldNow, this.#drain()))
  }

  /** Waits until nothing waits, unless the connection fails. */
  get flushed(): Effect.Effect<void> {
    return Effect.suspend(() => this.#bus.outage.has("send") ? Effect.void : Latch.await(this.#idle))
  }

  stop(): void {
    this.#isStopped = true
    this.#fiber?.interruptUnsafe()
  }

  #drain(): Effect.Effect<void> {
    const { connection, outage, pending } = this.#bus
    return Effect.gen({ self: this }, function*() {
      let failures = 0
      for (let taken = pending.take(); taken !== undefined; taken = pending.take()) {
        const exit = yield* send(connection, taken.text)
        if (Exit.isSuccess(exit)) {
          failures = 0
          outage.end("send")
          continue
        }
        // The message may have been sent: it is not sent again, because a change is delivered at most once.
        pending.lose(taken.scopes)
        outage.begin("send", exit.cause)
        yield* Outage.delay(++failures)
      }
      this.#fiber = undefined
      Latch.openUnsafe(this.#idle)
    })
  }
}
