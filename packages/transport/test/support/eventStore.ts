/** A store of events in a Map, which can be made slow, or made to fail. */
import { EventStore } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

interface Kept {
  readonly events: Array<EventStore.StoredEvent>
  ended: boolean
}

export class MapEventStore {
  readonly streams = new Map<string, Map<string, Kept>>()
  failing = false
  /** How long an operation takes; `undefined`: it is done at once. */
  readonly delay: () => number | undefined

  constructor(delay: () => number | undefined = () => undefined) {
    this.delay = delay
  }

  #do<A>(action: () => A): Effect.Effect<A, EventStore.EventStoreError> {
    const delay = this.delay()
    const act = Effect.suspend(() =>
      this.failing
        ? Effect.fail(new EventStore.EventStoreError({ cause: new Error("the store is gone") }))
        : Effect.sync(action)
    )
    if (delay === undefined) return this.failing ? act : Exit.succeed(action())
    // What is asked is done at some time before it is known to be.
    return Effect.sleep(delay / 2).pipe(Effect.andThen(act), Effect.tap(Effect.sleep(delay / 2)))
  }

  #of(session: string): Map<string, Kept> {
    const found = this.streams.get(session) ?? new Map<string, Kept>()
    this.streams.set(session, found)
    return found
  }

  readonly service: EventStore.EventStore["Service"] = {
    append: ({ session, stream }, data) =>
      this.#do(() => {
        const kept = this.#of(session).get(stream) ?? { events: [], ended: false }
        this.#of(session).set(stream, kept)
        const id = `${stream}_${kept.events.length}`
        kept.events.push({ id, data })
        return id
      }),
    replay: (session, after) =>
      this.#do(() => {
        for (const [stream, { ended, events }] of this.streams.get(session) ?? []) {
          const index = events.findIndex(({ id }) => id === after)
          if (index >= 0) return { stream, events: events.slice(index + 1), ended }
        }
        return undefined
      }),
    end: ({ session, stream }) =>
      this.#do(() => {
        const kept = this.streams.get(session)?.get(stream)
        if (kept !== undefined) kept.ended = true
      }),
    drop: (session) => this.#do(() => void this.streams.delete(session))
  }
}
