/** One event stream to a client, which outlives its HTTP response if an `EventStore` keeps its events. */
import type { EventStore, EventStoreError, WrittenStream } from "@effect-mcp/session/EventStore"
import type { SupersededError } from "@effect-mcp/session/SupersededError"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import * as Sse from "../../../Sse.ts"
import { isDone } from "./isDone.ts"
import { type Missed, SseResponseBody } from "./SseResponseBody.ts"
import type { StreamWatchdog } from "./StreamWatchdog.ts"

/** The lease of the process. While it is over, another process may have the session of a stream. */
export interface Lease {
  readonly isAlive: () => boolean
  /** Waits for the lease, up to 5 seconds. Returns whether this process still has the session. */
  readonly regained: (session: string) => Effect.Effect<boolean>
}

/** The settings of all streams of a server. */
export interface Settings {
  /** Absent if processes do not share their sessions. */
  readonly lease?: Lease | undefined
  readonly store: EventStore["Service"] | undefined
  readonly watchdog: StreamWatchdog
  /** The characters that wait for the client before senders wait. */
  readonly capacity: number
  /** The delay after which a client should reconnect, in milliseconds. */
  readonly retryMillis: number
}

/** The connection of a stream, as the stream informs it. */
export interface Observer {
  /** Called when the store says that another process has the session. */
  readonly onSuperseded: () => void
  /** Called when the stream has ended here but not in the store. A client that resumes it still needs the response. */
  readonly onUnended: () => void
}

const noRoute = Effect.fail(TransportError.make({ _tag: "NoRoute", method: undefined }))

/**
 * The event stream of one request, or the standalone stream. It has at most one response body at a time.
 *
 * With a store, the stream continues without a body, and a body that resumes it first sends the missed events. Without
 * a store it ends with its body. After an event could not be stored, the stream continues as if it had no store: a body
 * that resumed it after the gap would seem complete. An event that was not stored is sent only while the lease of the
 * process stands: another process may have ended the stream, and a request would have two final responses.
 *
 * If the store rejects an event because another process has the session, the stream ends here without an event: neither
 * this event nor a later one is sent. The other process ends the stream, or continues it.
 */
export class SseStream {
  readonly key: WrittenStream
  readonly #settings: Settings
  readonly #observer: Observer | undefined
  #body: SseResponseBody | undefined
  /** The id of the last stored event. */
  #lastId: string | undefined
  #isEnded = false
  #isSuperseded = false
  #isStored = false
  #hasGap = false
  /** Whether an event was neither stored nor sent, so that no client has the response to the request. */
  #hasLost = false
  /** The lock on appending to a slow store: events are sent in the order in which they are stored. */
  #turn: Semaphore.Semaphore | undefined
  #turns = 0

  constructor(key: WrittenStream, settings: Settings, observer?: Observer) {
    this.key = key
    this.#settings = settings
    this.#observer = observer
  }

  /** Continues a stream of an earlier owner of the session, whose last event has this id. */
  continueAfter(id: string): this {
    this.#markStored(id)
    return this
  }

  /** Whether a client reads the stream. */
  get isAttached(): boolean {
    return this.#body !== undefined
  }

  /** Returns whether this body is that of the stream now. */
  isAttachedTo(body: SseResponseBody): boolean {
    return this.#body === body
  }

  /** Whether a client has an event after which it can resume the stream. */
  get canResume(): boolean {
    return !this.#isEnded && this.#lastId !== undefined
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
    if (!this.isOpen) {
      this.#hasLost = true
      return noRoute
    }
    let isStoring = false
    const written = this.#next(() =>
      this.#append(data, () => {
        isStoring = true
      })
    )
    if (!isDone(written)) {
      const orLost = Effect.onInterrupt(written, () => isStoring ? Effect.void : this.#lose)
      return Effect.andThen(orLost, Effect.suspend(() => this.#replayed))
    }
    return this.#body?.isReplaying === true ? Effect.andThen(written, this.#replayed) : written
  }

  /** Records that an event is neither stored nor sent. */
  get #lose(): Effect.Effect<void> {
    return Effect.sync(() => {
      this.#hasLost = true
    })
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

  /**
   * Stores and sends an event. Calls `begin` when the append begins: an interruption before it loses the event, and one
   * during it does not.
   */
  #append(data: string, begin: () => void): Effect.Effect<void, TransportError.TransportError> {
    const { store } = this.#settings
    if (store === undefined) return this.#send(undefined, data)
    if (this.#hasGap) return this.#sendUnstored(data)
    const appended = store.append(this.key, data)
    if (isDone(appended)) {
      begin()
      return this.#send(appended.value, data)
    }
    // An append that has begun ends in its turn, also if its sender is interrupted. Without this, the end of the stream
    // could overtake it on the way to the store, and so could the release or the deletion of the session.
    return Effect.uninterruptibleMask((restore) => {
      begin()
      return Effect.matchEffect(appended, {
        onSuccess: (id) => restore(this.#send(id, data)),
        onFailure: (error) => {
          if (error._tag === "SupersededError") {
            this.supersede()
            return noRoute
          }
          this.#markGap()
          const sent = this.#sendUnstored(data)
          // If the sender was interrupted during the append, `restore` fails before it runs what still waits.
          return isDone(sent) ? sent : Effect.onInterrupt(restore(sent), () => this.#lose)
        }
      })
    })
  }

  /**
   * Sends an event that the store does not have, as soon as it is certain that this process has the session. If it is
   * interrupted, the event is lost.
   */
  #sendUnstored(data: string): Effect.Effect<void, TransportError.TransportError> {
    const { lease } = this.#settings
    if (lease === undefined || lease.isAlive()) return this.#send(undefined, data)
    return Effect.flatMap(lease.regained(this.key.session), (isRegained) => {
      if (isRegained && !this.#isSuperseded) return this.#send(undefined, data)
      this.#breakOff()
      return noRoute
    })
  }

  /** Breaks off the response. The owner of the session, perhaps this process again, ends the stream in the store. */
  #breakOff(): void {
    this.#isSuperseded = true
    this.#isEnded = true
    this.#body?.abort()
    this.#leaveUnended()
  }

  /** A standalone stream has no response that its client waits for. */
  #leaveUnended(): void {
    if (this.#isStored && this.key.requests.length > 0) this.#observer?.onUnended()
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
    if (body === undefined) {
      this.#hasLost ||= id === undefined
      return id === undefined ? noRoute : Effect.void
    }
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
      this.#hasLost ||= id === undefined
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
    const { lease, store, watchdog } = this.#settings
    const put = (id: string | undefined) => {
      if (id === undefined && store !== undefined && lease?.isAlive() === false) return this.#breakOff()
      if (id !== undefined) this.#markStored(id)
      else if (this.#body === undefined) this.#hasLost = true
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
    const ended = Effect.andThen(appended, Effect.suspend(() => this.#endStored))
    watchdog.run(Effect.onError(
      Effect.catchTag(ended, "SupersededError", () => Effect.sync(() => this.supersede())),
      // Without the store, a client that reads the stream still gets the event, and the end.
      () =>
        Effect.sync(() => {
          this.#markGap()
          put(undefined)
        })
    ))
  }

  /** Ends the stream. A response that a client neither got nor can resume breaks off. */
  end(): void {
    if (this.#isEnded) return
    if (this.#hasLost && this.#lastId === undefined) this.#body?.abort()
    const { watchdog } = this.#settings
    if (this.#turns === 0) {
      this.#finish()
      return watchdog.run(this.#endStored)
    }
    // An event that is being stored is sent before the end, such as the cancellation of a question.
    this.#isEnded = true
    watchdog.run(Effect.andThen(this.#inTurn(Effect.sync(() => this.#finish())), this.#endStored))
  }

  /** Ends the response and sends nothing more, because another process has the session. The store is not changed. */
  supersede(): void {
    if (this.#isSuperseded) return
    this.#leave()
    this.#observer?.onSuperseded()
  }

  /**
   * Ends the response and sends nothing more. The store is not changed, so that the next owner of the session continues
   * the stream. A client that got no event id cannot resume it: its connection breaks, because the proper end of a
   * stream without events would look like the response to its request.
   */
  #leave(): void {
    this.#isSuperseded = true
    // The release of the session waits for the last append, up to the bound of `StreamWatchdog.settled`.
    if (this.#turns > 0) this.#settings.watchdog.run(this.#inTurn(Effect.void))
    if (this.#lastId === undefined) this.#body?.abort()
    this.#finish()
  }

  /** Ends the response of a session that its host has released; see {@link supersede}. */
  release(): void {
    if (!this.#isEnded) this.#leave()
  }

  #finish(): void {
    this.#isEnded = true
    this.#body?.finish()
  }

  /** Marks the stream in the store as ended, unless the response of its request is neither there nor sent. */
  get #endStored(): Effect.Effect<void, EventStoreError | SupersededError> {
    const { store } = this.#settings
    return store === undefined ? Effect.void : this.#next(() => {
      if (!this.#isStored || this.#isSuperseded) return Effect.void
      if (!this.#hasLost || this.key.requests.length === 0) return store.end(this.key)
      this.#leaveUnended()
      return Effect.void
    })
  }
}
