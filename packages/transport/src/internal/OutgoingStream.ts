import type { EventStore, EventStoreError, StreamKey } from "@effect-mcp/session/EventStore"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as EventStreamFraming from "../EventStreamFraming.ts"
import type { Attendant } from "./Attendant.ts"
import { type Past, StreamReader } from "./StreamReader.ts"

/** What all streams of a server have in common. */
export interface Settings {
  readonly store: EventStore["Service"] | undefined
  readonly attendant: Attendant
  /** How many characters may wait for one reader. */
  readonly capacity: number
  /** How long a client waits before it comes back, in milliseconds. */
  readonly retryMillis: number
}

/** Needs it no fiber any more? */
const isDone = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)

const forgotten = (error: EventStoreError) => TransportError.make({ _tag: "WriteFailed", cause: error.cause })

/**
 * One stream of events to the client: of one of its requests, or the standalone one. It has one reader at a time, or none. With
 * a store it goes on without one, and whoever comes back is given what it has missed; without one, it ends with its reader.
 */
export class OutgoingStream {
  readonly key: StreamKey
  readonly #settings: Settings
  #reader: StreamReader | undefined
  #last: string | undefined
  #ended = false

  constructor(key: StreamKey, settings: Settings) {
    this.key = key
    this.#settings = settings
  }

  get isRead(): boolean {
    return this.#reader !== undefined
  }

  /** Can what is said now be read by anybody, ever? */
  get isOpen(): boolean {
    return !this.#ended &&
      (this.#reader !== undefined || (this.#settings.store !== undefined && this.#last !== undefined))
  }

  /** Begins a reader: of what is said from now on, or behind an event that it names. */
  read(after: string | undefined, onLeave: () => void): StreamReader {
    const { attendant, capacity, store } = this.#settings
    const past: Past | undefined = after === undefined || store === undefined
      ? undefined
      : { store, session: this.key.session, after, last: () => this.#last }
    // Whoever comes back knows that the earlier response is lost, which this side may not yet.
    this.#reader?.breakOff()
    const reader = new StreamReader({
      capacity,
      now: attendant.now,
      past,
      onLeave: () => {
        attendant.leave(reader)
        if (this.#reader === reader) this.#reader = undefined
        onLeave()
      }
    })
    this.#reader = reader
    attendant.attend(reader)
    if (this.#ended) reader.finish()
    return reader
  }

  /**
   * Says something that the client can come back behind, and how soon it should (SHS-03, SHS-05), if its revision knows of that and
   * there is anything to come back to.
   */
  prime(primes: boolean): Effect.Effect<void, TransportError.TransportError> {
    const { retryMillis, store } = this.#settings
    if (store === undefined || !primes) return Effect.void
    this.#reader?.put(EventStreamFraming.retry(retryMillis))
    return this.write("")
  }

  /** Says nothing, aloud: the head of a response is sent with the first of its body only. */
  hail(): void {
    this.#reader?.put(EventStreamFraming.comment("open"))
  }

  /** Says something. It is said when the reader has room for it, or has left and will be given it later. */
  write(data: string): Effect.Effect<void, TransportError.TransportError> {
    const { store } = this.#settings
    if (store === undefined) return this.#pass(undefined, data)
    const appended: Effect.Effect<string, EventStoreError> = store.append(this.key, data)
    if (isDone(appended)) return this.#pass(appended.value, data)
    return Effect.flatMap(Effect.mapError(appended, forgotten), (id) => this.#pass(id, data))
  }

  #pass(id: string | undefined, data: string): Effect.Effect<void, TransportError.TransportError> {
    if (id !== undefined) this.#last = id
    const reader = this.#reader
    if (reader === undefined) return id === undefined ? noRoute : Effect.void
    if (reader.isBehind) return Effect.void
    const text = EventStreamFraming.event(id, data)
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

  /** Lets the response go, and keeps the stream, if the client can come back to it. */
  release(): boolean {
    if (this.#settings.store === undefined || this.#last === undefined || this.#reader === undefined) return false
    this.#reader.finish()
    return true
  }

  /** Says a last thing, whether there is room for it or not. */
  endWith(data: string): void {
    const { attendant, store } = this.#settings
    const put = (id: string | undefined) => {
      if (id !== undefined) this.#last = id
      if (this.#reader?.isBehind === false) this.#reader.put(EventStreamFraming.event(id, data))
      this.end()
    }
    if (store === undefined) put(undefined)
    else attendant.run(Effect.map(store.append(this.key, data), put))
  }

  /** Nothing more will be said. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#reader?.finish()
    const { attendant, store } = this.#settings
    if (store !== undefined && this.#last !== undefined) attendant.run(store.end(this.key))
  }
}

const noRoute = Effect.fail(TransportError.make({ _tag: "NoRoute", method: undefined }))
