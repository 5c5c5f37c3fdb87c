import type { EventStore, EventStoreError, StreamKey } from "@effect-mcp/session/EventStore"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import * as Sse from "../../../Sse.ts"
import { type Past, SseResponseBody } from "./SseResponseBody.ts"
import type { StreamWatchdog } from "./StreamWatchdog.ts"

/** What all streams of a server have in common. */
export interface Settings {
  readonly store: EventStore["Service"] | undefined
  readonly watchdog: StreamWatchdog
  /** How many characters may wait for one reader. */
  readonly capacity: number
  /** How long a client waits before it comes back, in milliseconds. */
  readonly retryMillis: number
}

const noRoute = Effect.fail(TransportError.make({ _tag: "NoRoute", method: undefined }))

/** Needs it no fiber any more? */
const isDone = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)

/**
 * One stream of events to the client: of one of its requests, or the standalone one. It has one reader at a time, or none. With
 * a store it goes on without one, and a client that resumes it is given what it has missed; without one, it ends with
 * its reader. It goes on as if it had no store once an event could not be stored: resumed behind a gap, it would seem
 * to be complete.
 */
export class SseStream {
  readonly key: StreamKey
  readonly #settings: Settings
  #reader: SseResponseBody | undefined
  #last: string | undefined
  #ended = false
  #isStored = false
  #isBroken = false
  // One at a time, where the store takes its time: events are read in the order in which they are stored.
  #turn: Semaphore.Semaphore | undefined
  #turns = 0

  constructor(key: StreamKey, settings: Settings) {
    this.key = key
    this.#settings = settings
  }

  get isRead(): boolean {
    return this.#reader !== undefined
  }

  /** An event could not be stored, so that the stream cannot be resumed. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /** Can what is said now be read by anybody, ever? */
  get isOpen(): boolean {
    return !this.#ended &&
      (this.#reader !== undefined || (this.#settings.store !== undefined && this.#last !== undefined))
  }

  /** Begins a reader: of what is said from now on, or behind an event that it names. */
  read(after: string | undefined, onLeave: () => void): SseResponseBody {
    const { watchdog, capacity, store } = this.#settings
    const past: Past | undefined = after === undefined || store === undefined
      ? undefined
      : {
        after,
        replay: (after) => store.replay(this.key.session, after),
        inTurn: (effect) => this.#inTurn(effect)
      }
    // Whoever comes back knows that the earlier response is lost, which this side may not yet.
    this.#reader?.breakOff()
    const reader = new SseResponseBody({
      budget: watchdog.budget,
      capacity,
      now: watchdog.now,
      past,
      onLeave: () => {
        watchdog.unwatch(reader)
        if (this.#reader === reader) this.#reader = undefined
        onLeave()
      }
    })
    this.#reader = reader
    watchdog.watch(reader)
    if (this.#ended) reader.finish()
    return reader
  }

  /**
   * Says something that the client can come back behind, and how soon it should (SHS-03, SHS-05), if there is anything to come back
   * to.
   */
  prime(): void {
    const { watchdog, retryMillis, store } = this.#settings
    if (store === undefined) return
    this.#reader?.put(Sse.retry(retryMillis))
    watchdog.run(Effect.ignore(this.write("")))
  }

  /** Says nothing, aloud: the head of a response is sent with the first of its body only. */
  hail(): void {
    this.#reader?.put(Sse.comment("open"))
  }

  /**
   * Says something. It is said when the reader has room for it, or has left and will be given it later; there is no route to one that
   * has left for good.
   */
  write(data: string): Effect.Effect<void, TransportError.TransportError> {
    if (!this.isOpen) return noRoute
    const written = this.#next(() => this.#store(data))
    if (!isDone(written)) return Effect.andThen(written, Effect.suspend(() => this.#caughtUp))
    return this.#reader?.isBehind === true ? Effect.andThen(written, this.#caughtUp) : written
  }

  /** Whoever has something to catch up with is not to be outrun, or the store would let go of it. */
  get #caughtUp(): Effect.Effect<void> {
    return this.#reader?.isBehind === true ? this.#reader.room : Effect.void
  }

  /** Does something in its turn. What can be done at once is, if it is its turn. */
  #next<A, E>(make: () => Effect.Effect<A, E>): Effect.Effect<A, E> {
    if (this.#turns > 0) return this.#inTurn(Effect.suspend(make))
    const made = make()
    return isDone(made) ? made : this.#inTurn(made)
  }

  #inTurn<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      this.#turn ??= Semaphore.makeUnsafe(1)
      this.#turns++
      return Effect.ensuring(
        this.#turn.withPermit(effect),
        Effect.sync(() => {
          this.#turns--
        })
      )
    })
  }

  #store(data: string): Effect.Effect<void, TransportError.TransportError> {
    const { store } = this.#settings
    if (store === undefined || this.#isBroken) return this.#pass(undefined, data)
    const appended = store.append(this.key, data)
    // What needs no fiber shall have none.
    return isDone(appended)
      ? this.#pass(appended.value, data)
      : Effect.matchEffect(appended, {
        onSuccess: (id) => this.#pass(id, data),
        onFailure: () => {
          this.#break()
          return this.#pass(undefined, data)
        }
      })
  }

  #break(): void {
    this.#isBroken = true
    this.#last = undefined
  }

  #stored(id: string): void {
    this.#last = id
    this.#isStored = true
  }

  #pass(id: string | undefined, data: string): Effect.Effect<void, TransportError.TransportError> {
    if (id !== undefined) this.#stored(id)
    const reader = this.#reader
    if (reader === undefined) return id === undefined ? noRoute : Effect.void
    // An event that only gives an id says nothing without one.
    if (id === undefined && data === "") return Effect.void
    const text = Sse.event(id, data)
    if (reader.isBehind) {
      // What is in the store is found there, in its turn.
      if (id === undefined) reader.putBehindPast(text)
      return Effect.void
    }
    if (!reader.isFull) {
      reader.put(text)
      return Effect.void
    }
    return Effect.flatMap(reader.room, () => {
      if (!reader.hasLeft) {
        reader.put(text)
        return Effect.void
      }
      // Another reader that came meanwhile came back behind an earlier event, and is given this one from the store.
      return id === undefined ? noRoute : Effect.void
    })
  }

  /** Breaks off the response that is being read. With a store the client can come back for the rest. */
  breakOff(): void {
    this.#reader?.breakOff()
  }

  /** Lets the response go, and keeps the stream, if the client can come back to it. */
  release(): Effect.Effect<boolean> {
    return this.#next(() => {
      if (this.#settings.store === undefined || this.#last === undefined || this.#reader === undefined) {
        return Exit.succeed(false)
      }
      this.#reader.finish()
      return Exit.succeed(true)
    })
  }

  /** Says a last thing, whether there is room for it or not. */
  endWith(data: string): void {
    const { watchdog, store } = this.#settings
    const put = (id: string | undefined) => {
      if (id !== undefined) this.#stored(id)
      const text = Sse.event(id, data)
      if (this.#reader?.isBehind === false) this.#reader.put(text)
      else if (id === undefined) this.#reader?.putBehindPast(text)
      this.#finish()
    }
    if (store === undefined || this.#isBroken || !this.isOpen) {
      put(undefined)
      return watchdog.run(this.#told)
    }
    const appended = this.#next(() => Effect.map(store.append(this.key, data), put))
    watchdog.run(Effect.onError(
      Effect.andThen(appended, Effect.suspend(() => this.#told)),
      // A client that reads it has it in any case, and its end.
      () =>
        Effect.sync(() => {
          this.#break()
          put(undefined)
        })
    ))
  }

  /** Nothing more will be said. */
  end(): void {
    if (this.#ended) return
    this.#finish()
    this.#settings.watchdog.run(this.#told)
  }

  #finish(): void {
    this.#ended = true
    this.#reader?.finish()
  }

  /** The store is told that this was the last. */
  get #told(): Effect.Effect<void, EventStoreError> {
    const { store } = this.#settings
    return store === undefined
      ? Effect.void
      : this.#next(() => this.#isStored ? store.end(this.key) : Effect.void)
  }
}
