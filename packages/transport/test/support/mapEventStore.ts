/** An event store in a Map, which a test can make slow, or make fail in every way. */
import type { RequestId } from "@effect-mcp/protocol"
import { EventStore } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

interface StoredStream {
  readonly requests: ReadonlyArray<RequestId.RequestId>
  readonly events: Array<EventStore.StoredEvent>
  ended: boolean
}

/** The ways in which an operation of a store can fail. */
export const failures = {
  fails: () => Effect.fail(new EventStore.EventStoreError({ cause: new Error("the store is not available") })),
  dies: () => Effect.die(new Error("the store is broken")),
  throws: () => {
    throw new Error("the store is broken")
  },
  interrupts: () => Effect.interrupt,
  hangs: () => Effect.never,
  "hangs and cannot be interrupted": () => Effect.uninterruptible(Effect.never)
} as const satisfies Readonly<Record<string, () => Effect.Effect<never, EventStore.EventStoreError>>>

export type Failure = keyof typeof failures

export class MapEventStore {
  readonly streams = new Map<string, Map<string, StoredStream>>()
  failing = false
  /** The failures of these operations. */
  readonly broken: { -readonly [operation in keyof EventStore.EventStore["Service"]]?: Failure | undefined } = {}
  /** The number of calls of each operation. */
  readonly calls = { append: 0, replay: 0, end: 0, takeOver: 0, drop: 0 }
  /** Returns the milliseconds that an operation takes; `undefined` if it completes at once. */
  readonly delay: () => number | undefined

  constructor(delay: () => number | undefined = () => undefined) {
    this.delay = delay
  }

  #do<A>(
    operation: keyof EventStore.EventStore["Service"],
    action: () => A
  ): Effect.Effect<A, EventStore.EventStoreError> {
    this.calls[operation]++
    const broken = this.broken[operation]
    if (broken !== undefined) return failures[broken]()
    const delay = this.delay()
    const act = Effect.suspend(() =>
      this.failing
        ? Effect.fail(new EventStore.EventStoreError({ cause: new Error("the store is not available") }))
        : Effect.sync(action)
    )
    if (delay === undefined) return this.failing ? act : Exit.succeed(action())
    // The operation takes effect before its caller learns of it.
    const halfway = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, delay / 2)))
    return halfway.pipe(Effect.andThen(act), Effect.tap(halfway))
  }

  #of(session: string): Map<string, StoredStream> {
    const found = this.streams.get(session) ?? new Map<string, StoredStream>()
    this.streams.set(session, found)
    return found
  }

  readonly service: EventStore.EventStore["Service"] = {
    append: ({ requests, session, stream }, data) =>
      this.#do("append", () => {
        const stored = this.#of(session).get(stream) ?? { requests, events: [], ended: false }
        this.#of(session).set(stream, stored)
        const id = `${stream}_${stored.events.length}`
        stored.events.push({ id, data })
        return id
      }),
    replay: (session, after) =>
      this.#do("replay", () => {
        for (const [stream, { ended, events }] of this.streams.get(session) ?? []) {
          const index = events.findIndex(({ id }) => id === after)
          if (index >= 0) return { stream, events: events.slice(index + 1), ended }
        }
        return undefined
      }),
    end: ({ session, stream }) =>
      this.#do("end", () => {
        const stored = this.streams.get(session)?.get(stream)
        if (stored !== undefined) stored.ended = true
      }),
    takeOver: (session) =>
      this.#do(
        "takeOver",
        () =>
          Array.from(
            this.#of(session),
            ([stream, { ended, events, requests }]) => ({ stream, ended, events, requests })
          )
            .filter(({ ended }) => !ended)
      ),
    drop: (session) => this.#do("drop", () => void this.streams.delete(session))
  }
}
