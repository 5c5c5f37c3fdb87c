import { Link, LinkedList } from "../collections/LinkedList.ts"

/** How much is held. Bytes are two for each UTF-16 code unit, and so many besides for each event and each stream. */
export interface Bounds {
  readonly maxEventsPerStream: number
  readonly maxBytesPerStream: number
  readonly maxBytesPerSession: number
  readonly maxBytes: number
}

/** What came behind an event. */
interface Behind {
  readonly stream: string
  readonly events: ReadonlyArray<{ readonly id: string; readonly data: string }>
  readonly ended: boolean
}

/** About what an event takes besides its text; without it, empty events would be held without end. */
const eventBytes = 64

/** About what a stream takes besides its events, with its share of its session. */
const streamBytes = 512

interface Event {
  readonly number: number
  readonly data: string
  next: Event | undefined
}

const bytesOf = (data: string): number => eventBytes + 2 * data.length

/** An id is printable ASCII without a space, whatever the stream is called. */
const escaped = (name: string): string =>
  name.replace(/[^!-$&-~]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

const unescaped = (text: string): string =>
  text.replace(/%([0-9a-f]{4})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))

class Session {
  readonly name: string
  readonly streams = new Map<string, Stream>()
  /** The one that was not used for longest is the first. */
  readonly byUse = new LinkedList<Stream>()
  bytes = 0

  constructor(name: string) {
    this.name = name
  }
}

class Stream {
  readonly session: Session
  readonly name: string
  /** What the ids of its events begin with. */
  readonly prefix: string
  readonly inSession: Link<Stream> = new Link<Stream>(this)
  readonly inLog: Link<Stream> = new Link<Stream>(this)
  /** Its place among those that have ended. */
  ending: Link<Stream> | undefined = undefined
  keptUntil = Number.POSITIVE_INFINITY
  oldest: Event | undefined = undefined
  newest: Event | undefined = undefined
  events = 0
  bytes = 0

  constructor(session: Session, name: string, prefix: string) {
    this.session = session
    this.name = name
    this.prefix = prefix
  }
}

/**
 * The events of all streams of all sessions, within bounds. It holds nothing of a session or a stream without events.
 *
 * An id is `<stream>-<log>.<number>`. The number is counted over all streams, so no id is given twice; `name` is that of the log,
 * so that an id from a log that was there before names nothing.
 */
export class EventLog {
  readonly #bounds: Bounds
  readonly #name: string
  readonly #sessions = new Map<string, Session>()
  readonly #byUse = new LinkedList<Stream>()
  /** The one that goes first is the first. */
  readonly #ended = new LinkedList<Stream>()
  #bytes = 0
  #count = 0

  constructor(bounds: Bounds, name: string) {
    this.#bounds = bounds
    this.#name = name
  }

  /** Holds one more event, and gives it an id. */
  append(sessionName: string, streamName: string, data: string): string {
    const bounds = this.#bounds
    const session = this.#session(sessionName)
    const stream = this.#stream(session, streamName)
    const event: Event = { number: ++this.#count, data, next: undefined }
    if (stream.newest === undefined) stream.oldest = event
    else stream.newest.next = event
    stream.newest = event
    stream.events++
    this.#weigh(stream, bytesOf(data))
    this.#use(stream)
    // What each of these takes out was put in by an append before, so all of them together take no longer than the appends.
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

  /** What came behind an event that is held. */
  replay(sessionName: string, after: string): Behind | undefined {
    const name = unescaped(after.slice(0, Math.max(after.lastIndexOf("-"), 0)))
    const stream = this.#sessions.get(sessionName)?.streams.get(name)
    if (stream === undefined) return undefined
    const number = Number(after.slice(after.lastIndexOf(".") + 1))
    // There is one way to write an id.
    if (stream.prefix + number !== after) return undefined
    let event = stream.oldest
    while (event !== undefined && event.number < number) event = event.next
    if (event?.number !== number) return undefined
    const events: Array<{ readonly id: string; readonly data: string }> = []
    for (let behind = event.next; behind !== undefined; behind = behind.next) {
      events.push({ id: stream.prefix + behind.number, data: behind.data })
    }
    this.#use(stream)
    return { stream: stream.name, events, ended: stream.ending !== undefined }
  }

  /** Nothing more comes of a stream; it is held until then. None may end earlier than those that have ended before. */
  end(sessionName: string, streamName: string, until: number): void {
    const stream = this.#sessions.get(sessionName)?.streams.get(streamName)
    if (stream === undefined || stream.ending !== undefined) return
    stream.keptUntil = until
    stream.ending = new Link(stream)
    this.#ended.add(stream.ending)
  }

  /** Forgets a session. */
  drop(sessionName: string): void {
    for (const stream of this.#sessions.get(sessionName)?.streams.values() ?? []) this.#forget(stream)
  }

  /** Forgets the streams whose time is over, and says when that of the next will be; `Infinity` where there is none. */
  expire(now: number): number {
    while (this.#ended.first !== undefined) {
      const stream = this.#ended.first.value
      if (stream.keptUntil > now) return stream.keptUntil
      this.#forget(stream)
    }
    return Number.POSITIVE_INFINITY
  }

  /** Forgets everything. */
  clear(): void {
    for (const session of this.#sessions.keys()) this.drop(session)
  }

  /** How many sessions there is something of. */
  size(): number {
    return this.#sessions.size
  }

  /** How many bytes are held. */
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

  #stream(session: Session, name: string): Stream {
    const known = session.streams.get(name)
    if (known !== undefined) return known
    const stream = new Stream(session, name, `${escaped(name)}-${this.#name}.`)
    session.streams.set(name, stream)
    session.byUse.add(stream.inSession)
    this.#byUse.add(stream.inLog)
    session.bytes += streamBytes
    this.#bytes += streamBytes
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

  /** Takes the oldest event out of a stream, and with the last one the stream. */
  #shift(stream: Stream): void {
    const event = stream.oldest
    if (event === undefined) return
    stream.oldest = event.next
    // An event that has grown old in the heap would keep all that came behind it until the next full collection.
    event.next = undefined
    stream.events--
    this.#weigh(stream, -bytesOf(event.data))
    if (stream.oldest === undefined) this.#forget(stream)
  }

  #forget(stream: Stream): void {
    const { session } = stream
    this.#weigh(stream, -stream.bytes)
    session.bytes -= streamBytes
    this.#bytes -= streamBytes
    session.byUse.remove(stream.inSession)
    this.#byUse.remove(stream.inLog)
    if (stream.ending !== undefined) this.#ended.remove(stream.ending)
    session.streams.delete(stream.name)
    if (session.streams.size === 0) this.#sessions.delete(session.name)
  }
}
