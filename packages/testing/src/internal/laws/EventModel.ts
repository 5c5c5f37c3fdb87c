/** A model of an event store. */

import type { EventStore } from "@effect-mcp/session"
import * as assert from "node:assert/strict"

interface Appended extends EventStore.StreamKey, EventStore.StoredEvent {}

const isOf = ({ session, stream }: EventStore.StreamKey) => (other: EventStore.StreamKey): boolean =>
  other.session === session && other.stream === stream

/** The expected content of an event store. */
export class EventModel {
  #events: ReadonlyArray<Appended> = []
  #ended: ReadonlyArray<EventStore.StreamKey> = []
  /** Every assigned id, those of dropped sessions included. */
  readonly ids: Array<Pick<Appended, "session" | "id">> = []

  appended(key: EventStore.StreamKey, id: string, data: string): void {
    const { session, stream } = key
    const twice = this.ids.some((other) => other.session === session && other.id === id)
    assert.ok(!twice, `the id ${JSON.stringify(id)} was given out twice`)
    this.ids.push({ session, id })
    this.#events = [...this.#events, { session, stream, id, data }]
  }

  ended(key: EventStore.StreamKey): void {
    if (this.#events.some(isOf(key))) this.#ended = [...this.#ended, key]
  }

  dropped(session: string): void {
    this.#events = this.#events.filter((event) => event.session !== session)
    this.#ended = this.#ended.filter((key) => key.session !== session)
  }

  hasEnded(key: EventStore.StreamKey): boolean {
    return this.#ended.some(isOf(key))
  }

  replayAfter(session: string, after: string): EventStore.Replay | undefined {
    const event = this.#events.find((event) => event.session === session && event.id === after)
    if (event === undefined) return undefined
    const stream = this.#events.filter(isOf(event))
    return {
      stream: event.stream,
      events: stream.slice(stream.indexOf(event) + 1).map(({ data, id }) => ({ id, data })),
      ended: this.hasEnded(event)
    }
  }
}
