/** The connection of one session over Streamable HTTP: POSTs carry messages in, and event streams carry them out. */
import { type JsonRpc, type Profile, Revision } from "@effect-mcp/protocol"
import type { EventStore } from "@effect-mcp/session/EventStore"
import type { Connection, End, Hooks, Inbound, Outbound, StreamOrigin, Transport } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { InboundBuffer } from "../../../shared/InboundBuffer.ts"
import * as OutgoingFrame from "../../../shared/OutgoingFrame.ts"
import type { Post } from "../HttpGuard.ts"
import type { SseResponseBody } from "../SseResponseBody.ts"
import { type Settings, SseStream } from "../SseStream.ts"
import type { StreamWatchdog } from "../StreamWatchdog.ts"
import { type Owner, PostExchange, type ResponseMode } from "./PostExchange.ts"

/** The settings of all connections of a server. */
export interface Options extends Settings {
  readonly mode: ResponseMode
  readonly detachedMillis: number
  readonly store: EventStore["Service"] | undefined
  readonly watchdog: StreamWatchdog
}

const ended: End = { exit: undefined, writable: false }

// One function for all connections, because a process may have thousands of idle ones.
const endExchange = (origin: StreamOrigin, rejected?: boolean): void => {
  if (origin instanceof PostExchange) origin.finish(rejected)
}

const detachStream = (origin: StreamOrigin): Effect.Effect<boolean> =>
  origin instanceof PostExchange ? origin.detachStream() : Effect.succeed(false)

/** A stream that can be resumed, and the exchange of its request; the standalone stream has none. */
interface Resumable {
  readonly stream: SseStream
  readonly exchange: PostExchange | undefined
}

/**
 * The connection of one session. It is the transport of its session as well, so it connects once. Between two requests
 * an idle session has this object and no fiber.
 */
export class StreamableHttpServerConnection implements Owner {
  readonly #options: Options
  readonly #session: string
  readonly #prefix: string
  readonly #inbound = new InboundBuffer()
  #hooks: Hooks | undefined
  #resumeRun: ((end: End) => void) | undefined
  #isUsed = false
  #isClosed = false
  #isEndedByClient = false
  #revision: Revision.Revision | undefined
  #streamCount = 0
  #exchanges: Set<PostExchange> | undefined
  #resumable: Map<string, Resumable> | undefined
  #standalone: SseStream | undefined

  constructor(session: string, options: Options) {
    this.#session = session
    this.#options = options
    // No two connections have streams of the same name, so that an event id of another session finds no stream here.
    this.#prefix = globalThis.crypto.randomUUID().slice(0, 18)
  }

  /** Whether the session has ended. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Connects the session, once. */
  get connect(): Transport["Service"]["connect"] {
    const connection: Connection = {
      run: (deliver, hooks) => this.run(deliver, hooks),
      send: (outbound) => this.send(outbound),
      endExchange,
      authenticates: true,
      stalled: (origin) => this.stalled(origin),
      onHandshake: (profile) => this.onHandshake(profile),
      detachStream
    }
    const disconnect = Effect.suspend(() => {
      this.close()
      return this.settled()
    })
    return Effect.suspend(() => {
      if (this.#isUsed) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      this.#isUsed = true
      return Effect.acquireRelease(Effect.succeed(connection), () => disconnect)
    })
  }

  /** The revision of the session, after its handshake. */
  get revision(): Revision.Revision | undefined {
    return this.#revision
  }

  // ===================================================================================================================
  // Calls of the session
  // ===================================================================================================================

  run(deliver: (inbound: Inbound) => void, hooks?: Hooks): Effect.Effect<End, TransportError.TransportError> {
    return Effect.callback<End>((resume) => {
      if (this.#isClosed) return resume(Effect.succeed(ended))
      this.#hooks = hooks
      this.#resumeRun = (end) => resume(Effect.succeed(end))
      this.#inbound.subscribe(deliver)
    })
  }

  send({ last, message, replyTo }: Outbound): Effect.Effect<void, TransportError.TransportError> {
    if (replyTo instanceof PostExchange) return replyTo.write(message, last)
    const stream = this.#standalone
    if (replyTo !== undefined || stream === undefined || !stream.isOpen) return OutgoingFrame.noRoute(message)
    const encoded = OutgoingFrame.encode(message)
    return Result.isFailure(encoded) ? Effect.fail(encoded.failure) : stream.write(encoded.success)
  }

  /** Breaks off a stream whose client reads nothing. On a busy machine, the watchdog may be later than the session. */
  stalled(origin: StreamOrigin | undefined): void {
    if (origin instanceof PostExchange) origin.abortResponse()
    else this.#standalone?.abortResponse()
  }

  onHandshake({ revision }: Profile.Profile): void {
    this.#revision = revision
  }

  // ===================================================================================================================
  // Requests of the client
  // ===================================================================================================================

  /** Delivers the message of a POST, and returns its exchange. */
  post(
    { bytes, frame, principal }: Pick<Post, "bytes" | "frame" | "principal">,
    message: JsonRpc.Classified
  ): PostExchange {
    const exchange = new PostExchange(this, message)
    this.#exchanges ??= new Set()
    this.#exchanges.add(exchange)
    if (this.#isClosed) exchange.fail()
    else this.#inbound.deliver({ frame: Result.succeed(frame), origin: exchange, bytes, principal })
    return exchange
  }

  /** Opens the standalone stream; returns `undefined` if a client reads it already. */
  openStandalone(): SseResponseBody | undefined {
    if (this.#standalone?.isAttached === true) return undefined
    if (this.#standalone?.hasGap === true) this.#endStandalone(this.#standalone)
    this.#standalone ??= this.#newStream(undefined)
    const body = this.#standalone.attach(undefined)
    this.#standalone.flushHeaders()
    if (this.sendsPrimingEvents) this.#standalone.sendPrimingEvent()
    return body
  }

  /** Ends a standalone stream that cannot be resumed, so that another can be opened. */
  #endStandalone(stream: SseStream): void {
    this.#standalone = undefined
    this.#resumable?.delete(stream.key.stream)
    stream.end()
  }

  /** Returns whether a body is that of the standalone stream. */
  isStandalone(body: SseResponseBody): boolean {
    return this.#standalone?.isAttachedTo(body) === true
  }

  /** Returns whether this connection opened the stream, and not one that the session had at another host. */
  hasOpened(name: string): boolean {
    return name.startsWith(`${this.#prefix}.`)
  }

  /**
   * Resumes a stream after one of its events; a stream that has ended is replayed to its end. Returns `undefined` for
   * the stream of a request if one of its events could not be stored. A standalone stream is replaced then.
   */
  resume(name: string, after: string): SseResponseBody | undefined {
    const open = this.#resumable?.get(name)
    if (open === undefined) {
      const stream = new SseStream({ session: this.#session, stream: name }, this.#options)
      stream.end()
      return stream.attach(after)
    }
    const { exchange, stream } = open
    if (stream.hasGap) {
      if (exchange !== undefined) return undefined
      this.#endStandalone(stream)
      return this.openStandalone()
    }
    const body = exchange?.attach(stream, after) ?? stream.attach(after)
    stream.flushHeaders()
    // Some clients forget their Last-Event-ID if they reconnect and get no event.
    if (this.sendsPrimingEvents) stream.sendPrimingEvent()
    return body
  }

  /** Reports a message whose header declares another revision than that of the session. */
  reportMismatch(received: Revision.Revision): void {
    if (this.#revision === undefined || received === this.#revision) return
    this.#hooks?.report({ _tag: "RevisionMismatch", negotiated: this.#revision, received })
  }

  /** Ends the session, because the client has sent DELETE. */
  endByClient(): void {
    this.#isEndedByClient = true
    this.#resumeRun?.(ended)
  }

  /** Ends every response and every stream, because the session has ended. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#inbound.close()
    for (const exchange of this.#exchanges ?? []) exchange.fail()
    this.#standalone?.end()
    this.#resumable?.clear()
    const { store, watchdog } = this.#options
    // A session that ends for another reason may go on at another host, where its client resumes the streams.
    if (store !== undefined && this.#isEndedByClient && this.#streamCount > 0) {
      watchdog.run(Effect.andThen(watchdog.settled(), Effect.suspend(() => store.drop(this.#session))))
    }
  }

  /** Waits until the store has all events and ends. */
  settled(): Effect.Effect<void> {
    return this.#options.watchdog.settled()
  }

  // ===================================================================================================================
  // Calls of its exchanges
  // ===================================================================================================================

  get mode(): ResponseMode {
    return this.#options.mode
  }

  get detachedMillis(): number {
    return this.#options.detachedMillis
  }

  get watchdog(): StreamWatchdog {
    return this.#options.watchdog
  }

  get sendsPrimingEvents(): boolean {
    return this.#options.store !== undefined && this.#revision !== undefined &&
      Revision.isAtLeast(this.#revision, "2025-11-25")
  }

  openStream(exchange: PostExchange): SseStream {
    return this.#newStream(exchange)
  }

  abandon(exchange: PostExchange): void {
    this.#hooks?.abandon(exchange)
    // The session ends only exchanges that have requests in flight.
    exchange.finish()
  }

  remove(exchange: PostExchange, stream: SseStream | undefined): void {
    this.#exchanges?.delete(exchange)
    if (stream !== undefined) this.#resumable?.delete(stream.key.stream)
  }

  #newStream(exchange: PostExchange | undefined): SseStream {
    const name = `${this.#prefix}.${this.#streamCount++}`
    const stream = new SseStream({ session: this.#session, stream: name }, this.#options)
    if (this.#options.store !== undefined) {
      this.#resumable ??= new Map()
      this.#resumable.set(name, { stream, exchange })
    }
    return stream
  }
}
