import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { Bounds } from "../collections/SlidingBuffer.ts"
import * as SlidingMailbox from "../collections/SlidingMailbox.ts"
import * as Weight from "./Weight.ts"

/** What observers need of their session. */
export interface Observed {
  readonly bounds: Bounds
  readonly observe: ((event: SessionEvent) => void) | undefined
  observerThrew(thrown: unknown): void
}

/**
 * The bytes of heap of what the peer has said in an event: its words, and a response as a whole. Causes are this
 * program's own.
 */
const weightOf = (event: SessionEvent): number => {
  let bytes = "response" in event ? Weight.of(event.response) : 0
  for (const value of Object.values(event)) if (typeof value === "string") bytes += Weight.of(value)
  return bytes
}

/**
 * Who watches a session. An unwatched session pays nothing for it.
 */
export class Observers {
  readonly #session: Observed
  #readers: Set<SlidingMailbox.SlidingMailbox<SessionEvent>> | undefined
  #ended = false

  constructor(session: Observed) {
    this.#session = session
  }

  emit(event: SessionEvent): void {
    if (this.#ended) return
    if (this.#readers !== undefined) this.#offer(this.#readers, event)
    const { observe } = this.#session
    if (observe === undefined) return
    try {
      observe(event)
    } catch (thrown) {
      // An observer's mistake must not become the session's.
      this.#session.observerThrew(thrown)
    }
  }

  /** What happens from now on; a slow reader loses the oldest. Ends with the session. */
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
