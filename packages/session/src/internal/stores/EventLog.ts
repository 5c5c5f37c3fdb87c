/** The events of all streams in memory, within limits. */

import type { RequestId } from "@effect-mcp/protocol"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import { Link, LinkedList } from "../collections/LinkedList.ts"
import * as StreamName from "./StreamName.ts"

/** The limits of a log. A UTF-16 code unit counts two bytes. Each event and each stream counts a constant more. */
export interface Bounds {
  readonly maxEventsPerStream: number
  readonly maxBytesPerStream: number
  readonly maxBytesPerSession: number
  readonly maxBytes: number
}

/** The events of a stream after one of its events. */
interface LaterEvents {
  readonly stream: string
  readonly events: ReadonlyArray<{ readonly id: string; readonly data: string }>
  readonly ended: boolean
}

/** A stream that has not ended. */
interface UnendedStream {
  readonly stream: string
  readonly requests: ReadonlyArray<RequestId.RequestId>
  readonly events: ReadonlyArray<{ readonly id: string; readonly data: string }>
}

/** The number of sessions that were taken over whose epochs are remembered. */
const maxEpochs = 10_000

/** The approximate memory of an event without its text. Without it, the number of empty events would have no limit. */
const eventBytes = 64

/** The approximate memory of a stream without its events and requests, including its share of its session. */
const streamBytes = 512

interface Event {
  readonly number: number
  readonly data: string
  next: Event | undefined
}

const bytesOf = (data: string): number => eventBytes + 2 * data.length

class Session {
  readonly name: string
  readonly streams = new Map<string, Stream>()
  /** The streams, the least recently used one first. */
  readonly byUse = new LinkedList<Stream>()
  bytes = 0

  constructor(name: string) {
    this.name = name
  }
}

class Stream {
  readonly session: Session
  readonly name: string
  /** The beginning of the ids of its events. */
  readonly prefix: string
  readonly requests: ReadonlyArray<RequestId.RequestId>
  /** The memory of the stream without its events. */
  readonly ownBytes: number
  readonly inSession: Link<Stream> = new Link<Stream>(this)
  readonly inLog: Link<Stream> = new Link<Stream>(this)
  /** The link among the ended streams; `undefined` while the stream has not ended. */
  ending: Link<Stream> | undefined = undefined
  keptUntil = Number.POSITIVE_INFINITY
  oldest: Event | undefined = undefined
  newest: Event | undefined = undefined
  events = 0
  bytes = 0

  constructor(session: Session, name: string, prefix: string, requests: ReadonlyArray<RequestId.RequestId>) {
    this.session = session
    this.name = name
    this.prefix = prefix
    this.requests = requests
    this.ownBytes = streamBytes + requests.reduce((bytes: number, id) => bytes + 2 * String(id).length, 0)
  }
}

/**
 * The events of all streams of all sessions, within limits. A session or a stream without events takes no memory.
 *
 * An event id is `<stream>-<log>.<number>`. All streams share one counter, so no id is used twice. `name` is the name
 * of the log. It distinguishes its ids from those of an earlier log, which are not found.
 */
export class EventLog {
  readonly #bounds: Bounds
  readonly #name: string
  readonly #sessions = new Map<string, Session>()
  readonly #byUse = new LinkedList<Stream>()
  /** The ended streams, the one that is deleted next first. */
  readonly #ended = new LinkedList<Stream>()
  /** The epochs of sessions that were taken over. */
  readonly #epochs = LeastRecentlyUsed.make<number>({ size: maxEpochs, weight: Number.POSITIVE_INFINITY })
  #bytes = 0
  #count = 0

  constructor(bounds: Bounds, name: string) {
    this.#bounds = bounds
    this.#name = name
  }

  /** Stores an event, and returns its id. The stream has not ended. */
  append(
    sessionName: string,
    streamName: string,
    data: string,
    requests: ReadonlyArray<RequestId.RequestId>
  ): string {
    const bounds = this.#bounds
    const session = this.#session(sessionName)
    const stream = this.#stream(session, streamName, requests)
    const event: Event = { number: ++this.#count, data, next: undefined }
    if (stream.newest === undefined) stream.oldest = event
    else stream.newest.next = event
    stream.newest = event
    stream.events++
    this.#weigh(stream, bytesOf(data))
    this.#use(stream)
    // Each event that these loops remove was appended once, so `append` takes amortized constant time.
    while (
      stream.events > bounds.maxEventsPerStream || (stream.bytes > bounds.maxBytesPerStream && stream.events > 1)
    ) {
      this.#shift(stream)
    }
    while (session.bytes > bounds.maxBytesPerSession && session.byUse.first !== undefined) {
      this.#shift(session.byUse.first.value)
    }
    while (this.#bytes > bounds.maxBytes && this.#byUse.first !== undefined) this.#shift(this.#byUse.first.value)
    return stream.prefix + event.number
  }

  /** Returns the events after a stored event; `undefined` if the event is not stored. */
  replay(sessionName: string, after: string): LaterEvents | undefined {
    const name = StreamName.unescaped(after.slice(0, Math.max(after.lastIndexOf("-"), 0)))
    const stream = this.#sessions.get(sessionName)?.streams.get(name)
    if (stream === undefined) return undefined
    const number = Number(after.slice(after.lastIndexOf(".") + 1))
    // An id with leading zeros, for example, is not valid.
    if (stream.prefix + number !== after) return undefined
    let event = stream.oldest
    while (event !== undefined && event.number < number) event = event.next
    if (event?.number !== number) return undefined
    const events = this.#eventsFrom(stream, event.next)
    this.#use(stream)
    return { stream: stream.name, events, ended: stream.ending !== undefined }
  }

  /** Returns whether a session was taken over with a later epoch. */
  isSuperseded(sessionName: string, epoch: number): boolean {
    const known = this.#epochs.get(sessionName)
    return known !== undefined && known > epoch
  }

  /** Remembers the epoch of a session, and returns its streams that have not ended. */
  takeOver(sessionName: string, epoch: number): ReadonlyArray<UnendedStream> {
    this.#epochs.set(sessionName, epoch, 0)
    return Array.from(this.#sessions.get(sessionName)?.streams.values() ?? [])
      .filter(({ ending }) => ending === undefined)
      .map((stream) => ({
        stream: stream.name,
        requests: stream.requests,
        events: this.#eventsFrom(stream, stream.oldest)
      }))
  }

  /** Returns whether a stream has ended. */
  hasEnded(sessionName: string, streamName: string): boolean {
    return this.#sessions.get(sessionName)?.streams.get(streamName)?.ending !== undefined
  }

  /** Ends a stream, which is deleted at `until`. Calls must pass this time in ascending order. */
  end(sessionName: string, streamName: string, until: number): void {
    const stream = this.#sessions.get(sessionName)?.streams.get(streamName)
    if (stream === undefined || stream.ending !== undefined) return
    stream.keptUntil = until
    stream.ending = new Link(stream)
    this.#ended.add(stream.ending)
  }

  /** Deletes a session. */
  drop(sessionName: string): void {
    for (const stream of this.#sessions.get(sessionName)?.streams.values() ?? []) this.#forget(stream)
  }

  /** Deletes the ended streams that are due. Returns the time at which the next one is due, or `Infinity`. */
  expire(now: number): number {
    while (this.#ended.first !== undefined) {
      const stream = this.#ended.first.value
      if (stream.keptUntil > now) return stream.keptUntil
      this.#forget(stream)
    }
    return Number.POSITIVE_INFINITY
  }

  /** Deletes everything. */
  clear(): void {
    for (const session of this.#sessions.keys()) this.drop(session)
  }

  /** Returns the number of sessions that have events. */
  size(): number {
    return this.#sessions.size
  }

  /** Returns the number of bytes. */
  weight(): number {
    return this.#bytes
  }

  #session(name: string): Session {
    const known = this.#sessions.get(name)
    if (known !== undefined) return known
    const session = new Session(name)
    this.#sessions.set(name, session)
    return session
  }

  #eventsFrom({ prefix }: Stream, first: Event | undefined): LaterEvents["events"] {
    const events: Array<{ readonly id: string; readonly data: string }> = []
    for (let event = first; event !== undefined; event = event.next) {
      events.push({ id: prefix + event.number, data: event.data })
    }
    return events
  }

  #stream(session: Session, name: string, requests: ReadonlyArray<RequestId.RequestId>): Stream {
    const known = session.streams.get(name)
    if (known !== undefined) return known
    const stream = new Stream(session, name, `${StreamName.escaped(name)}-${this.#name}.`, requests)
    session.streams.set(name, stream)
    session.byUse.add(stream.inSession)
    this.#byUse.add(stream.inLog)
    session.bytes += stream.ownBytes
    this.#bytes += stream.ownBytes
    return stream
  }

  #use(stream: Stream): void {
    stream.session.byUse.moveToEnd(stream.inSession)
    this.#byUse.moveToEnd(stream.inLog)
  }

  #weigh(stream: Stream, bytes: number): void {
    stream.bytes += bytes
    stream.session.bytes += bytes
    this.#bytes += bytes
  }

  /** Removes the oldest event of a stream, and with its last event the stream. */
  #shift(stream: Stream): void {
    const event = stream.oldest
    if (event === undefined) return
    stream.oldest = event.next
    // Without this, a removed event in the old generation keeps all later events until the next full collection.
    event.next = undefined
    stream.events--
    this.#weigh(stream, -bytesOf(event.data))
    if (stream.oldest === undefined) this.#forget(stream)
  }

  #forget(stream: Stream): void {
    const { session } = stream
    this.#weigh(stream, -stream.bytes)
    session.bytes -= stream.ownBytes
    this.#bytes -= stream.ownBytes
    session.byUse.remove(stream.inSession)
    this.#byUse.remove(stream.inLog)
    if (stream.ending !== undefined) this.#ended.remove(stream.ending)
    session.streams.delete(stream.name)
    if (session.streams.size === 0) this.#sessions.delete(session.name)
  }
}
