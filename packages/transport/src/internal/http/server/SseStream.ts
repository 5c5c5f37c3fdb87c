/** One event stream to a client, which outlives its HTTP response if an `EventStore` keeps its events. */
import type { EventStore, EventStoreError, StreamKey } from "@effect-mcp/session/EventStore"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import * as Sse from "../../../Sse.ts"
import { isDone } from "./isDone.ts"
import { type Missed, SseResponseBody } from "./SseResponseBody.ts"
import type { StreamWatchdog } from "./StreamWatchdog.ts"

/** The settings of all streams of a server. */
export interface Settings {
  readonly store: EventStore["Service"] | undefined
  readonly watchdog: StreamWatchdog
  /** The characters that wait for the client before senders wait. */
  readonly capacity: number
  /** The delay after which a client should reconnect, in milliseconds. */
  readonly retryMillis: number
}

const noRoute = Effect.fail(TransportError.make({ _tag: "NoRoute", method: undefined }))

/**
 * The event stream of one request, or the standalone stream. It has at most one response body at a time.
 *
 * With a store, the stream continues without a body, and a body that resumes it first sends the missed events. Without
 * a store it ends with its body. After an event could not be stored, the stream continues as if it had no store: a body
 * that resumed it after the gap would seem complete.
 */
export class SseStream {
  readonly key: StreamKey
  readonly #settings: Settings
  #body: SseResponseBody | undefined
  /** The id of the last stored event. */
  #lastId: string | undefined
  #isEnded = false
  #isStored = false
  #hasGap = false
  /** The lock on appending to a slow store: events are sent in the order in which they are stored. */
  #turn: Semaphore.Semaphore | undefined
  #turns = 0

  constructor(key: StreamKey, settings: Settings) {
    this.key = key
    this.#settings = settings
  }

  /** Whether a client reads the stream. */
  get isAttached(): boolean {
    return this.#body !== undefined
  }

  /** Returns whether this body is that of the stream now. */
  isAttachedTo(body: SseResponseBody): boolean {
    return this.#body === body
  }

  /** Whether an event could not be stored, so that the stream cannot be resumed. */
  get hasGap(): boolean {
    return this.#hasGap
  }

  /** Whether a client reads the stream, or can still resume it. */
  get isOpen(): boolean {
    return !this.#isEnded &&
      (this.#body !== undefined || (this.#settings.store !== undefined && this.#lastId !== undefined))
  }

  /** Makes the body of a response, with the events from now on or after the event with this id. */
  attach(after: string | undefined): SseResponseBody {
    const { capacity, store, watchdog } = this.#settings
    const missed: Missed | undefined = after === undefined || store === undefined
      ? undefined
      : {
        after,
        replay: (after) => store.replay(this.key.session, after),
        inTurn: (effect) => this.#inTurn(effect)
      }
    // A client that reconnects has lost the earlier response, which the server may not have noticed yet.
    this.#body?.abort()
    const body = new SseResponseBody({ budget: watchdog.budget, capacity, now: watchdog.now, missed })
    body.onClose(() => {
      watchdog.unwatch(body)
      if (this.#body === body) this.#body = undefined
    })
    this.#body = body
    watchdog.watch(body)
    if (this.#isEnded) body.finish()
    return body
  }

  /** Sends an event without data, whose id the client can reconnect with, and the delay until then (SHS-03, SHS-05). */
  sendPrimingEvent(): void {
    const { retryMillis, store, watchdog } = this.#settings
    if (store === undefined) return
    this.#body?.put(Sse.retry(retryMillis))
    watchdog.run(Effect.ignore(this.write("")))
  }

  /** Sends a comment: platforms send the headers of a response with the first bytes of its body only. */
  flushHeaders(): void {
    this.#body?.put(Sse.comment("open"))
  }

  /**
   * Sends an event. Waits while the buffer of the body is full. If no client reads the stream, the event is only
   * stored. Fails with `NoRoute` if no client can resume the stream either.
   */
  write(data: string): Effect.Effect<void, TransportError.TransportError> {
    if (!this.isOpen) return noRoute
    const written = this.#next(() => this.#append(data))
    if (!isDone(written)) return Effect.andThen(written, Effect.suspend(() => this.#replayed))
    return this.#body?.isReplaying === true ? Effect.andThen(written, this.#replayed) : written
  }

  /** Waits for a body that replays: without this, a fast sender would push its missed events out of the store. */
  get #replayed(): Effect.Effect<void> {
    return this.#body?.isReplaying === true ? this.#body.room : Effect.void
  }

  /** Runs an effect in its turn, at once if no other waits and it needs no fiber. */
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

  #append(data: string): Effect.Effect<void, TransportError.TransportError> {
    const { store } = this.#settings
    if (store === undefined || this.#hasGap) return this.#send(undefined, data)
    const appended = store.append(this.key, data)
    return isDone(appended)
      ? this.#send(appended.value, data)
      : Effect.matchEffect(appended, {
        onSuccess: (id) => this.#send(id, data),
        onFailure: () => {
          this.#markGap()
          return this.#send(undefined, data)
        }
      })
  }

  #markGap(): void {
    this.#hasGap = true
    this.#lastId = undefined
  }

  #markStored(id: string): void {
    this.#lastId = id
    this.#isStored = true
  }

  #send(id: string | undefined, data: string): Effect.Effect<void, TransportError.TransportError> {
    if (id !== undefined) this.#markStored(id)
    const body = this.#body
    if (body === undefined) return id === undefined ? noRoute : Effect.void
    // A priming event without an id has no use.
    if (id === undefined && data === "") return Effect.void
    const text = Sse.event(id, data)
    if (body.isReplaying) {
      // The body reads a stored event from the store, in its turn.
      if (id === undefined) body.putAfterReplay(text)
      return Effect.void
    }
    if (!body.isFull) {
      body.put(text)
      return Effect.void
    }
    return Effect.flatMap(body.room, () => {
      if (!body.isClosed) {
        body.put(text)
        return Effect.void
      }
      // A body that has resumed the stream meanwhile reads this event from the store.
      return id === undefined ? noRoute : Effect.void
    })
  }

  /** Aborts the response. With a store, the client can resume the stream. */
  abortResponse(): void {
    this.#body?.abort()
  }

  /** Ends the response and keeps the stream. Returns whether the client can resume it. */
  detach(): Effect.Effect<boolean> {
    return this.#next(() => {
      if (this.#settings.store === undefined || this.#lastId === undefined || this.#body === undefined) {
        return Exit.succeed(false)
      }
      this.#body.finish()
      return Exit.succeed(true)
    })
  }

  /** Sends a last event, also if the buffer is full, and ends the stream. */
  endWith(data: string): void {
    const { store, watchdog } = this.#settings
    const put = (id: string | undefined) => {
      if (id !== undefined) this.#markStored(id)
      const text = Sse.event(id, data)
      if (this.#body?.isReplaying === false) this.#body.put(text)
      else if (id === undefined) this.#body?.putAfterReplay(text)
      this.#finish()
    }
    if (store === undefined || this.#hasGap || !this.isOpen) {
      put(undefined)
      return watchdog.run(this.#endStored)
    }
    const appended = this.#next(() => Effect.map(store.append(this.key, data), put))
    watchdog.run(Effect.onError(
      Effect.andThen(appended, Effect.suspend(() => this.#endStored)),
      // Without the store, a client that reads the stream still gets the event, and the end.
      () =>
        Effect.sync(() => {
          this.#markGap()
          put(undefined)
        })
    ))
  }

  /** Ends the stream. */
  end(): void {
    if (this.#isEnded) return
    this.#finish()
    this.#settings.watchdog.run(this.#endStored)
  }

  #finish(): void {
    this.#isEnded = true
    this.#body?.finish()
  }

  /** Marks the stream in the store as ended. */
  get #endStored(): Effect.Effect<void, EventStoreError> {
    const { store } = this.#settings
    return store === undefined
      ? Effect.void
      : this.#next(() => this.#isStored ? store.end(this.key) : Effect.void)
  }
}
