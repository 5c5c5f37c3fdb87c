/** The receiving half of a bus: it connects again, whenever its connection breaks. */

import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Random from "effect/Random"
import type { ChangeConnection, ChangeReceiver } from "./ChangeBusShape.ts"
import * as ChangeMessage from "./ChangeMessage.ts"
import * as Outage from "./Outage.ts"
import * as Sending from "./Sending.ts"

/** The bus that receives. */
export interface ReceivingDependencies {
  readonly connection: ChangeConnection
  readonly outage: Outage.Outage
  readonly now: () => number
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** Returns the text of a message without changes. */
  readonly probe: () => string
  readonly onConnected: () => void
  readonly onMessage: (message: ChangeMessage.ChangeMessage) => void
  readonly onGap: () => void
}

/** The error of a connection that has broken. */
export class Disconnected extends Data.TaggedError("Disconnected")<{ readonly problem: string }> {
  override get message(): string {
    return this.problem
  }
}

const broken = (problem: string) => Effect.fail(new Disconnected({ problem }))

/** The time that a connection has to release what it holds, in milliseconds. */
const releaseMillis = 1_000

/** The time after which a connection counts as one that works, in milliseconds. */
const stableMillis = 10_000

/** One connection, until it breaks. Whatever it reports afterwards is ignored. */
class Attempt {
  readonly #bus: ReceivingDependencies
  readonly #opened = Latch.makeUnsafe(false)
  readonly #heard = Latch.makeUnsafe(false)
  readonly fiber: Fiber.Fiber<unknown, unknown>
  #heardAt = 0
  #isCurrent = true
  openedAt: number | undefined

  constructor(bus: ReceivingDependencies) {
    this.#bus = bus
    this.fiber = bus.fork(Effect.suspend(() => bus.connection.receive(this.#receiver())))
  }

  /** Fails when the connection has broken. */
  readonly broken: Effect.Effect<never, unknown> = Effect.suspend(() =>
    Effect.raceFirst(
      Effect.flatMap(Fiber.await(this.fiber), (exit) =>
        Exit.isFailure(exit) ? Effect.failCause(exit.cause) : broken("ChangeBus: its connection has ended")),
      Effect.andThen(this.#open(), this.#probes())
    )
  )

  /** Closes the connection. One that does not close in time continues alone. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#isCurrent = false
    this.fiber.interruptUnsafe()
    return Effect.asVoid(
      Effect.timeoutOption(Effect.interruptible(Fiber.await(this.fiber)), Duration.millis(releaseMillis))
    )
  })

  #receiver(): ChangeReceiver {
    const bus = this.#bus
    const current = (report: () => void) => {
      if (this.#isCurrent) report()
    }
    return {
      onOpen: () =>
        current(() => {
          if (this.openedAt !== undefined) return
          this.openedAt = bus.now()
          this.#hear()
          Latch.openUnsafe(this.#opened)
          bus.onConnected()
        }),
      onMessage: (text) =>
        current(() => {
          this.#hear()
          const isTooLong = ChangeMessage.sizeOf(text) > bus.connection.messageBytes
          const message = isTooLong ? undefined : ChangeMessage.decode(text)
          if (message === undefined) bus.onGap()
          else bus.onMessage(message)
        }),
      onGap: () => current(bus.onGap)
    }
  }

  #hear(): void {
    this.#heardAt = this.#bus.now()
    Latch.openUnsafe(this.#heard)
  }

  #open(): Effect.Effect<void, Disconnected> {
    return Effect.timeoutOrElse(Latch.await(this.#opened), {
      duration: Duration.millis(Sending.deadlineMillis),
      orElse: () => broken(`ChangeBus: no connection within ${Sending.deadlineMillis} ms`)
    })
  }

  /** Sends a message whenever none was received for some time. It comes back, unless the connection has broken. */
  #probes(): Effect.Effect<never, unknown> {
    const { connection, now, probe } = this.#bus
    if (connection.probeInterval === undefined) return Effect.never
    const interval = Duration.toMillis(connection.probeInterval)
    return Effect.forever(Effect.gen({ self: this }, function*() {
      // The times differ, so that a message of one process serves all of them.
      yield* Effect.sleep(Duration.millis(interval * (0.5 + (yield* Random.next) / 2)))
      if (now() - this.#heardAt < interval / 2) return
      Latch.closeUnsafe(this.#heard)
      const sent = yield* Sending.send(connection, probe())
      if (Exit.isFailure(sent)) return yield* Effect.failCause(sent.cause)
      return yield* Effect.timeoutOrElse(Latch.await(this.#heard), {
        duration: Duration.millis(Sending.deadlineMillis),
        orElse: () => broken(`ChangeBus: an own message did not return within ${Sending.deadlineMillis} ms`)
      })
    }))
  }
}

/** Receives for ever, by one connection after another. */
export const run = (bus: ReceivingDependencies, disconnected: () => void): Effect.Effect<never> =>
  Effect.gen(function*() {
    let failures = 0
    while (true) {
      yield* Effect.acquireUseRelease(
        Effect.sync(() => new Attempt(bus)),
        (attempt) =>
          Effect.matchCause(attempt.broken, {
            onSuccess: () => undefined,
            onFailure: (cause: Cause.Cause<unknown>) => {
              disconnected()
              bus.outage.begin("receive", cause)
              // One that breaks as soon as it stands is no connection.
              const isStable = attempt.openedAt !== undefined && bus.now() - attempt.openedAt >= stableMillis
              failures = isStable ? 1 : failures + 1
            }
          }),
        (attempt) => attempt.close
      )
      yield* Outage.delay(failures)
    }
  })
