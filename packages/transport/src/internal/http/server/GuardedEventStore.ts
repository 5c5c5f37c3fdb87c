/** The `EventStore` as a server calls it: with a timeout, and with failures that cost only resumption. */
import { type EventStore, EventStoreError } from "@effect-mcp/session/EventStore"
import { ForeignCall, monotonicMillis, StoreCall } from "@effect-mcp/session/internal"
import { SupersededError } from "@effect-mcp/session/SupersededError"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { LimitedLog } from "../../shared/LimitedLog.ts"
import { isDone } from "./isDone.ts"

type Store = EventStore["Service"]

/** The consequence of a failed operation, for the log. */
const consequences = {
  append: "the stream of this event cannot be resumed",
  replay: "a client cannot resume its stream now",
  end: "the store keeps an ended stream as an open one",
  takeOver: "the streams of a session that was taken over do not end",
  drop: "the store keeps the events of an ended session"
}

type Operation = keyof typeof consequences

/** The errors of a call. */
type Failure = EventStoreError | SupersededError

/** Ignores a failure, which is logged. */
const ignoreFailure = (called: Effect.Effect<void, Failure>): Effect.Effect<void, Failure> =>
  isDone(called) ? called : Effect.ignore(called)

const suspended = Effect.fail(
  new EventStoreError({ cause: new Error("EventStore.append is suspended after a timeout") })
)

/**
 * An event store whose calls have a timeout. A call that throws, dies, is interrupted or times out fails with
 * `EventStoreError`, and is logged at most every ten seconds. One of a superseded writer fails as it is.
 *
 * After an `append` timed out, further ones fail at once, so that not every stream waits in its turn. One `append` per
 * timeout is tried until the store responds again.
 */
export class GuardedEventStore implements Store {
  readonly #store: Store
  readonly #timeoutMillis: number
  readonly #clock: Clock.Clock
  readonly #log: LimitedLog
  /** The time until which `append` is suspended. */
  #suspendedUntil = Number.NEGATIVE_INFINITY

  constructor(store: Store, timeoutMillis: number, clock: Clock.Clock) {
    this.#store = store
    this.#timeoutMillis = timeoutMillis
    this.#clock = clock
    this.#log = new LimitedLog(clock)
  }

  readonly append: Store["append"] = (key, data) => {
    const isSuspended = this.#suspendedUntil !== Number.NEGATIVE_INFINITY
    if (isSuspended) {
      const now = monotonicMillis(this.#clock)
      if (now < this.#suspendedUntil) return suspended
      // Only this call tries the store; the others still fail at once.
      this.#suspendedUntil = now + this.#timeoutMillis
    }
    const called = this.#call("append", () => this.#store.append(key, data))
    if (!isSuspended) return called
    return Effect.tap(called, () =>
      Effect.sync(() => {
        this.#suspendedUntil = Number.NEGATIVE_INFINITY
      }))
  }

  readonly replay: Store["replay"] = (session, after) =>
    Effect.catchTag(
      this.#call("replay", () => this.#store.replay(session, after)),
      "SupersededError",
      (cause) => Effect.fail(new EventStoreError({ cause }))
    )

  readonly takeOver: Store["takeOver"] = (session, epoch) =>
    this.#call("takeOver", () => this.#store.takeOver(session, epoch))

  /** Does not fail: a failure is logged. */
  readonly end: Store["end"] = (key) => ignoreFailure(this.#call("end", () => this.#store.end(key)))

  /** Does not fail: a failure is logged. */
  readonly drop: Store["drop"] = (session, epoch) =>
    ignoreFailure(this.#call("drop", () => this.#store.drop(session, epoch)))

  #call<A>(operation: Operation, make: () => Effect.Effect<A, Failure>): Effect.Effect<A, Failure> {
    const made = this.#made(make)
    return isDone(made) ? made : Effect.catchCause(
      StoreCall.within("EventStore", operation, this.#timeoutMillis, () => made),
      (cause) => this.#failed(operation, cause)
    )
  }

  #made<A>(make: () => Effect.Effect<A, Failure>): Effect.Effect<A, Failure> {
    try {
      return make()
    } catch (defect) {
      return Effect.die(defect)
    }
  }

  #failed(operation: Operation, cause: Cause.Cause<unknown>): Effect.Effect<never, Failure> {
    const error = Cause.squash(cause)
    if (error instanceof SupersededError) return Effect.fail(error)
    if (operation === "append" && error instanceof ForeignCall.TimedOut) {
      this.#suspendedUntil = monotonicMillis(this.#clock) + this.#timeoutMillis
    }
    return Effect.andThen(
      this.#log.warn(`EventStore.${operation} failed: ${consequences[operation]}`, cause),
      Effect.fail(error instanceof EventStoreError ? error : new EventStoreError({ cause: error }))
    )
  }
}
