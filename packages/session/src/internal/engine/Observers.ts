/** The observers of a session and their streams of events. */

import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { Bounds } from "../collections/SlidingBuffer.ts"
import * as SlidingMailbox from "../collections/SlidingMailbox.ts"
import * as Weight from "./Weight.ts"

/** The session that is observed. */
export interface ObserversDependencies {
  readonly bounds: Bounds
  readonly observe: ((event: SessionEvent) => void) | undefined
  observerThrew(thrown: unknown): void
}

/**
 * Returns the memory in bytes that the peer decides in an event: its texts, and a response as a whole. Causes belong to
 * this program.
 */
const weightOf = (event: SessionEvent): number => {
  let bytes = "response" in event ? Weight.of(event.response) : 0
  for (const value of Object.values(event)) if (typeof value === "string") bytes += Weight.of(value)
  return bytes
}

/** The observers of a session, and the streams of its events. Without them, an event costs nothing. */
export class Observers {
  readonly #session: ObserversDependencies
  #readers: Set<SlidingMailbox.SlidingMailbox<SessionEvent>> | undefined
  #ended = false

  constructor(session: ObserversDependencies) {
    this.#session = session
  }

  /** Passes an event to the observer and to the streams. */
  emit(event: SessionEvent): void {
    if (this.#ended) return
    if (this.#readers !== undefined) this.#offer(this.#readers, event)
    const { observe } = this.#session
    if (observe === undefined) return
    try {
      observe(event)
    } catch (thrown) {
      // An exception of an observer must not end the session.
      this.#session.observerThrew(thrown)
    }
  }

  /** Streams the events from the start of the stream to the end of the session. A slow consumer loses the oldest. */
  get events(): Stream.Stream<SessionEvent> {
    return Stream.unwrap(Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => this.#open()),
        (reader) =>
          Effect.sync(() => {
            reader.close()
            this.#readers?.delete(reader)
          })
      ),
      (reader) => reader.stream
    ))
  }

  /** Ends the streams. Later events are dropped. */
  end(): void {
    this.#ended = true
    for (const reader of this.#readers ?? []) reader.end()
    this.#readers = undefined
  }

  #offer(readers: ReadonlySet<SlidingMailbox.SlidingMailbox<SessionEvent>>, event: SessionEvent): void {
    const bytes = weightOf(event)
    for (const reader of readers) reader.offer(event, bytes)
  }

  #open(): SlidingMailbox.SlidingMailbox<SessionEvent> {
    const reader = SlidingMailbox.make<SessionEvent>(this.#session.bounds)
    if (this.#ended) reader.end()
    else {
      this.#readers ??= new Set()
      this.#readers.add(reader)
    }
    return reader
  }
}
