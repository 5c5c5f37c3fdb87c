import { type Profile, Revision } from "@effect-mcp/protocol"
import type { EventStore } from "@effect-mcp/session/EventStore"
import type { Principal } from "@effect-mcp/session/Principal"
import type { Connection, End, Hooks, Inbound, Outbound, StreamOrigin, Transport } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as OutgoingFrame from "../../../shared/OutgoingFrame.ts"
import type { SseResponseBody } from "../SseResponseBody.ts"
import { type Settings, SseStream } from "../SseStream.ts"
import type { StreamWatchdog } from "../StreamWatchdog.ts"
import { type Host, type Mode, PostExchange } from "./PostExchange.ts"

/** What all connections of a server have in common. */
export interface Options extends Settings {
  readonly mode: Mode
  readonly detachedMillis: number
  readonly store: EventStore["Service"] | undefined
  readonly watchdog: StreamWatchdog
}

const ended: End = { exit: undefined, writable: false }

/**
 * A session's connection over HTTP: what its requests bring in, and the streams that lead out. It is idle as long as nobody asks,
 * and has nothing then but itself. It is the transport of the session as well, by which it is recognized again in what a host keeps.
 */
export class StreamableHttpServerConnection implements Host {
  readonly #options: Options
  readonly #session: string
  readonly #name: string
  #deliver: ((inbound: Inbound) => void) | undefined
  #hooks: Hooks | undefined
  #early: Array<Inbound> | undefined
  #finish: ((end: End) => void) | undefined
  #used = false
  #closed = false
  #left = false
  #revision: Revision.Revision | undefined
  #streams = 0
  #exchanges: Set<PostExchange> | undefined
  #open: Map<string, { readonly stream: SseStream; readonly exchange: PostExchange | undefined }> | undefined
  #standalone: SseStream | undefined

  constructor(session: string, options: Options) {
    this.#session = session
    this.#options = options
    // Streams have names that no other session's have, so that an event of another names none of this one.
    this.#name = globalThis.crypto.randomUUID().slice(0, 18)
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** What the session gets to see of it. */
  get connect(): Transport["Service"]["connect"] {
    const connection: Connection = {
      run: (deliver, hooks) => this.run(deliver, hooks),
      send: (outbound) => this.send(outbound),
      endExchange: (origin, rejected) => this.endExchange(origin, rejected),
      stalled: (origin) => this.stalled(origin),
      onHandshake: (profile) => this.onHandshake(profile),
      detachStream: (origin) => origin instanceof PostExchange ? origin.release() : Effect.succeed(false)
    }
    const left = Effect.suspend(() => {
      this.close()
      return this.settled()
    })
    return Effect.suspend(() => {
      if (this.#used) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      this.#used = true
      return Effect.acquireRelease(Effect.succeed(connection), () => left)
    })
  }

  /** What the two sides have agreed on, once they have. */
  get revision(): Revision.Revision | undefined {
    return this.#revision
  }

  // ===================================================================================================================
  // What the session asks of it
  // ===================================================================================================================

  run(deliver: (inbound: Inbound) => void, hooks?: Hooks): Effect.Effect<End, TransportError.TransportError> {
    return Effect.callback<End>((resume) => {
      if (this.#closed) return resume(Effect.succeed(ended))
      this.#deliver = deliver
      this.#hooks = hooks
      this.#finish = (end) => resume(Effect.succeed(end))
      const early = this.#early
      this.#early = undefined
      early?.forEach(deliver)
    })
  }

  send({ last, message, replyTo }: Outbound): Effect.Effect<void, TransportError.TransportError> {
    if (replyTo instanceof PostExchange) return replyTo.say(message, last)
    const stream = this.#standalone
    if (replyTo !== undefined || stream === undefined || !stream.isOpen) return OutgoingFrame.noRoute(message)
    const encoded = OutgoingFrame.encode(message)
    return Result.isFailure(encoded) ? Effect.fail(encoded.failure) : stream.write(encoded.success)
  }

  endExchange(origin: StreamOrigin, rejected?: boolean): void {
    if (origin instanceof PostExchange) origin.settle(rejected)
  }

  /**
   * A stream has taken nothing for too long. Its watchdog may be late, on a busy machine; the session must not suffer
   * for that.
   */
  stalled(origin: StreamOrigin | undefined): void {
    if (origin instanceof PostExchange) origin.breakOffStream()
    else this.#standalone?.breakOff()
  }

  onHandshake({ revision }: Profile.Profile): void {
    this.#revision = revision
  }

  // ===================================================================================================================
  // What HTTP brings
  // ===================================================================================================================

  /** A POST came. */
  post(frame: unknown, bytes: number, principal: Principal | undefined): PostExchange {
    const exchange = new PostExchange(this, frame)
    this.#exchanges ??= new Set()
    this.#exchanges.add(exchange)
    const inbound: Inbound = { frame: Result.succeed(frame), origin: exchange, bytes, principal }
    if (this.#closed) exchange.breakOff()
    else if (this.#deliver !== undefined) this.#deliver(inbound)
    else (this.#early ??= []).push(inbound)
    return exchange
  }

  /** Begins the standalone stream; `undefined` if it is read already. */
  listen(onLeave: () => void): SseResponseBody | undefined {
    if (this.#standalone?.isRead === true) return undefined
    if (this.#standalone?.isBroken === true) this.#endStandalone(this.#standalone)
    this.#standalone ??= this.#newStream(undefined)
    const reader = this.#standalone.read(undefined, onLeave)
    this.#standalone.hail()
    if (this.primes) this.#standalone.prime()
    return reader
  }

  /** It cannot be resumed any more, but the next can. */
  #endStandalone(stream: SseStream): void {
    this.#standalone = undefined
    this.#open?.delete(stream.key.stream)
    stream.end()
  }

  /** Is this a stream of its own, and not of a connection that the session had elsewhere? */
  hasBegun(name: string): boolean {
    return name.startsWith(`${this.#name}.`)
  }

  /**
   * Resumes a stream after one of its events. A stream that has ended is read to its end. Returns `undefined` for the
   * stream of a request of which an event could not be stored. In place of such a standalone stream another one begins.
   */
  resume(name: string, after: string, onLeave: () => void): SseResponseBody | undefined {
    const open = this.#open?.get(name)
    if (open?.stream.isBroken === true) {
      if (open.exchange !== undefined) return undefined
      this.#endStandalone(open.stream)
      return this.listen(onLeave)
    }
    if (open !== undefined) {
      const reader = open.exchange?.read(open.stream, after, onLeave) ?? open.stream.read(after, onLeave)
      open.stream.hail()
      // Clients are known that forget where they were when they come back and hear of no event.
      if (this.primes) open.stream.prime()
      return reader
    }
    const stream = new SseStream({ session: this.#session, stream: name }, this.#options)
    stream.end()
    return stream.read(after, onLeave)
  }

  /** A message came under another revision than was agreed on. */
  mismatch(said: Revision.Revision): void {
    if (this.#revision === undefined || said === this.#revision) return
    this.#hooks?.report({ _tag: "RevisionMismatch", agreed: this.#revision, said })
  }

  /** The client has ended the session. */
  end(): void {
    this.#left = true
    this.#finish?.(ended)
  }

  /** The session has ended: every response ends, and every stream. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#early = undefined
    for (const exchange of this.#exchanges ?? []) exchange.breakOff()
    this.#standalone?.end()
    this.#open?.clear()
    const { watchdog, store } = this.#options
    // Where the session goes on elsewhere its client may come back for what it has missed; where it has ended nobody may.
    if (store !== undefined && this.#left && this.#streams > 0) {
      watchdog.run(Effect.andThen(watchdog.settled(), Effect.suspend(() => store.drop(this.#session))))
    }
  }

  /** Waits until the store has been told what it has to know. */
  settled(): Effect.Effect<void> {
    return this.#options.watchdog.settled()
  }

  // ===================================================================================================================
  // What its exchanges ask of it
  // ===================================================================================================================

  get mode(): Mode {
    return this.#options.mode
  }

  get detachedMillis(): number {
    return this.#options.detachedMillis
  }

  get watchdog(): StreamWatchdog {
    return this.#options.watchdog
  }

  get primes(): boolean {
    return this.#options.store !== undefined && this.#revision !== undefined &&
      Revision.isAtLeast(this.#revision, "2025-11-25")
  }

  openStream(exchange: PostExchange): SseStream {
    return this.#newStream(exchange)
  }

  abandon(exchange: PostExchange): void {
    this.#hooks?.abandon(exchange)
    // A session that has nothing of it in flight any more does not settle it.
    exchange.settle()
  }

  forget(exchange: PostExchange, stream: SseStream | undefined): void {
    this.#exchanges?.delete(exchange)
    if (stream !== undefined) this.#open?.delete(stream.key.stream)
  }

  #newStream(exchange: PostExchange | undefined): SseStream {
    const name = `${this.#name}.${this.#streams++}`
    const stream = new SseStream({ session: this.#session, stream: name }, this.#options)
    if (this.#options.store !== undefined) {
      this.#open ??= new Map()
      this.#open.set(name, { stream, exchange })
    }
    return stream
  }
}
