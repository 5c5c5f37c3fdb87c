import { type EventStore, EventStoreError } from "@effect-mcp/session/EventStore"
import * as ForeignCall from "@effect-mcp/session/ForeignCall"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { LimitedLog } from "../../shared/LimitedLog.ts"
import { monotonicMillis } from "../../shared/monotonicMillis.ts"

/** Whether it needs a fiber no more. */
const isDone = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)

type Store = EventStore["Service"]

/** The cost of a failure, for the log. */
const costs = {
  append: "the stream of this event cannot be resumed",
  replay: "a client cannot resume a stream now",
  end: "the store keeps an ended stream as if it were open",
  drop: "the store keeps the events of an ended session"
}

type Operation = keyof typeof costs

/** The same, but for a failure, of which the log has told. */
const logged = (called: Effect.Effect<void, EventStoreError>): Effect.Effect<void, EventStoreError> =>
  isDone(called) ? called : Effect.ignore(called)

const absent = Effect.fail(
  new EventStoreError({ cause: new Error("the event store has not answered an earlier call in time") })
)

/**
 * A store of events as a server calls it. Each call has a deadline. One that throws, dies, is interrupted or is late
 * fails with `EventStoreError`, and a log line says so at most every ten seconds: it costs the server what the store is
 * for, and nothing else.
 *
 * After a late `append`, others do not wait for as long, each stream in its turn: they fail at once. One in
 * `withinMillis` is tried, until the store is well again.
 */
export class GuardedEventStore implements Store {
  readonly #store: Store
  readonly #withinMillis: number
  readonly #clock: Clock.Clock
  readonly #log: LimitedLog
  /** Until when an event is not stored. */
  #absentUntil = Number.NEGATIVE_INFINITY

  constructor(store: Store, withinMillis: number, clock: Clock.Clock) {
    this.#store = store
    this.#withinMillis = withinMillis
    this.#clock = clock
    this.#log = new LimitedLog(clock)
  }

  readonly append: Store["append"] = (key, data) => {
    const isAbsent = this.#absentUntil !== Number.NEGATIVE_INFINITY
    if (isAbsent) {
      const now = monotonicMillis(this.#clock)
      if (now < this.#absentUntil) return absent
      // While this call finds out, others need not.
      this.#absentUntil = now + this.#withinMillis
    }
    const called = this.#call("append", () => this.#store.append(key, data))
    if (!isAbsent) return called
    return Effect.tap(called, () =>
      Effect.sync(() => {
        this.#absentUntil = Number.NEGATIVE_INFINITY
      }))
  }

  readonly replay: Store["replay"] = (session, after) => this.#call("replay", () => this.#store.replay(session, after))

  /** Does not fail: a failure is logged. */
  readonly end: Store["end"] = (key) => logged(this.#call("end", () => this.#store.end(key)))

  /** Does not fail: a failure is logged. */
  readonly drop: Store["drop"] = (session) => logged(this.#call("drop", () => this.#store.drop(session)))

  #call<A>(operation: Operation, make: () => Effect.Effect<A, EventStoreError>): Effect.Effect<A, EventStoreError> {
    const made = this.#made(make)
    return isDone(made) ? made : Effect.catchCause(
      ForeignCall.within(`EventStore.${operation}`, this.#withinMillis, () => made),
      (cause) => this.#failed(operation, cause)
    )
  }

  #made<A>(make: () => Effect.Effect<A, EventStoreError>): Effect.Effect<A, EventStoreError> {
    try {
      return make()
    } catch (defect) {
      return Effect.die(defect)
    }
  }

  #failed(
    operation: Operation,
    cause: Cause.Cause<EventStoreError | ForeignCall.TimedOut>
  ): Effect.Effect<never, EventStoreError> {
    const error = Cause.squash(cause)
    if (operation === "append" && error instanceof ForeignCall.TimedOut) {
      this.#absentUntil = monotonicMillis(this.#clock) + this.#withinMillis
    }
    return Effect.andThen(
      this.#log.warn(`EventStore.${operation} failed: ${costs[operation]}`, cause),
      Effect.fail(error instanceof EventStoreError ? error : new EventStoreError({ cause: error }))
    )
  }
}
