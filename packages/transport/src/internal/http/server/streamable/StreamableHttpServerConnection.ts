/** The connection of one session over Streamable HTTP: POSTs carry messages in, and event streams carry them out. */
import { type CloseReason, JsonRpc, type Profile, type RequestId, Revision } from "@effect-mcp/protocol"
import type { EventStore, UnendedStream, WrittenStream } from "@effect-mcp/session/EventStore"
import type { StoredCall, StoredCalls } from "@effect-mcp/session/internalEngine"
import type { Principal } from "@effect-mcp/session/Principal"
import type { Hosted } from "@effect-mcp/session/SessionHost"
import { SupersededError } from "@effect-mcp/session/SupersededError"
import type {
  Connection,
  End,
  Hooks,
  Inbound,
  MovableRequest,
  Outbound,
  StreamOrigin,
  Transport
} from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { InboundBuffer } from "../../../shared/InboundBuffer.ts"
import * as OutgoingFrame from "../../../shared/OutgoingFrame.ts"
import type { Post } from "../HttpGuard.ts"
import type { SseResponseBody } from "../SseResponseBody.ts"
import { type Settings, SseStream } from "../SseStream.ts"
import type { StreamWatchdog } from "../StreamWatchdog.ts"
import * as AboutRequests from "./AboutRequests.ts"
import * as EarlierStream from "./EarlierStream.ts"
import { type Owner, PostExchange, type ResponseMode } from "./PostExchange.ts"
import * as StreamTakeover from "./StreamTakeover.ts"

/** The settings of all connections of a server. */
export interface Options extends Settings {
  readonly mode: ResponseMode
  readonly detachedMillis: number
  readonly store: EventStore["Service"] | undefined
  readonly watchdog: StreamWatchdog
  /** The calls that go on at the next owner of their session. */
  readonly calls?: StoredCalls | undefined
}

const ended: End = { exit: undefined, writable: false }

// One function for all connections, because a process may have thousands of idle ones.
const endExchange = (origin: StreamOrigin, rejected?: boolean): void => {
  if (origin instanceof PostExchange) origin.finish(rejected)
}

const detachStream = (origin: StreamOrigin): Effect.Effect<boolean> =>
  origin instanceof PostExchange ? origin.detachStream() : Effect.succeed(false)

/** The time for which an answer waits for the requests of an earlier owner, in milliseconds. */
const knowledgeMillis = 5000

/** The time after which a request is abandoned, if the process did not have its lease, in milliseconds. */
const abandonMillis = 1000

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
  #epoch = 1
  #principal: Principal | undefined
  readonly #inbound = new InboundBuffer()
  #hooks: Hooks | undefined
  #resumeRun: ((end: End) => void) | undefined
  #isUsed = false
  #isClosed = false
  /** Whether the session has begun to end, and serves no request of an earlier owner any more. */
  #isEnding = false
  /** Whether a call of the session may be stored. */
  #hasStoredCalls = false
  #isEndedByClient = false
  #revision: Revision.Revision | undefined
  #streamCount = 0
  #exchanges: Set<PostExchange> | undefined
  #resumable: Map<string, Resumable> | undefined
  #standalone: SseStream | undefined
  /** The streams that are open in the store and not here: they have to be ended, are being ended, or have ended. */
  #takeover: "Due" | "Done" | Effect.Effect<void> = "Done"
  /** Whether a stream has ended at this copy, but not in the store, since the last take-over of the streams began. */
  #hasUnended = false
  /** The requests of an earlier owner whose questions do not wait for their answers here yet. */
  #adopting: Set<PostExchange> | undefined
  #adopted: Deferred.Deferred<void> | undefined
  #isSuperseded = false
  /** Whether the session goes on elsewhere, after its host has shut down. */
  #isKept = false
  /** The session, as its host keeps it. Absent until it is open. */
  #hosted: Pick<Hosted, "supersede"> | undefined

  constructor(session: string, options: Options) {
    this.#session = session
    this.#options = options
    // No two connections have streams of the same name, so that an event id of another session finds no stream here.
    this.#prefix = globalThis.crypto.randomUUID().slice(0, 18)
  }

  /** Sets the epoch of this copy of the session and its principal, before the session connects. */
  begin(epoch: number, principal: Principal | undefined): void {
    this.#epoch = epoch
    this.#principal = principal
    if (epoch > 1 && this.#options.store !== undefined) this.#takeover = "Due"
  }

  /** Sets the session, as its host keeps it, so that the connection can close it. */
  closesBy(hosted: Pick<Hosted, "supersede">): void {
    this.#hosted = hosted
    if (this.#isSuperseded) hosted.supersede()
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
      onSessionEnding: () => this.onSessionEnding(),
      onSessionEnd: (reason) => this.onSessionEnd(reason),
      detachStream,
      movable: (origin) => this.#movable(origin)
    }
    const disconnect = Effect.suspend(() => {
      this.close()
      return this.settled()
    })
    return Effect.suspend(() => {
      if (this.#isUsed) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      this.#isUsed = true
      const acquired = Effect.acquireRelease(Effect.succeed(connection), () => disconnect)
      return this.#takeover === "Due" ? Effect.tap(acquired, this.#takeOver()) : acquired
    })
  }

  /**
   * Takes the streams of the session over from its earlier owner, whose writes fail from then on, or from this copy, if
   * the store was away when they ended here. A stored call goes on in its stream, as does the standalone stream. The
   * streams of other requests are ended in the background. A failure costs the resumption of the streams, until the
   * next attempt. There is one attempt at a time: two would end each stream twice.
   */
  #takeOver(): Effect.Effect<void> {
    const { store, watchdog } = this.#options
    if (store === undefined) return Effect.void
    return Effect.uninterruptibleMask((restore) => {
      const attempted = Deferred.makeUnsafe<void>()
      this.#takeover = Deferred.await(attempted)
      this.#hasUnended = false
      const finish = (state: "Due" | "Done") => {
        this.#takeover = this.#hasUnended ? "Due" : state
        Deferred.doneUnsafe(attempted, Exit.void)
      }
      // The last event of a stream that has ended here may be on its way to the store.
      const written = this.#streamCount === 0 ? Effect.void : this.settled()
      const takingOver = Effect.andThen(
        written,
        Effect.suspend(() => store.takeOver(this.#session, this.#epoch))
      )
      return Effect.matchCause(restore(takingOver), {
        onSuccess: (unended) => {
          if (this.#isClosed) return finish("Due")
          this.#continueStandalone(unended)
          const left = unended.filter(({ stream }) => !this.#isOpen(stream)).map(EarlierStream.read)
          watchdog.run(
            Effect.onExit(
              Effect.flatMap(this.#continueCalls(left), ({ hasFailed, others }) =>
                Effect.map(
                  StreamTakeover.endStreams(store, others, ({ requests, stream }) => this.#written(stream, requests)),
                  (hasEnded) => hasEnded && !hasFailed
                )),
              (exit) => Effect.sync(() => finish(Exit.isSuccess(exit) && exit.value ? "Done" : "Due"))
            )
          )
        },
        onFailure: (cause) => {
          finish("Due")
          if (Cause.squash(cause) instanceof SupersededError) this.#isSupersededNow()
        }
      })
    })
  }

  /** Continues the standalone stream of the earlier owner: messages wait in it until the client resumes it. */
  #continueStandalone(unended: ReadonlyArray<UnendedStream>): void {
    const known = unended.findLast(({ events, requests }) => requests.length === 0 && events.length > 0)
    const last = known?.events.at(-1)
    if (known === undefined || last === undefined || this.#standalone !== undefined) return
    this.#standalone = this.#open(known.stream, undefined).continueAfter(last.id)
  }

  /**
   * Serves the stored calls among the requests of these streams again. Returns the other streams, without those whose
   * requests may be stored, because the store has failed.
   */
  #continueCalls(
    left: ReadonlyArray<EarlierStream.EarlierStream>
  ): Effect.Effect<{ readonly others: ReadonlyArray<EarlierStream.EarlierStream>; readonly hasFailed: boolean }> {
    const { calls, mode, watchdog } = this.#options
    const owned = { session: this.#session, epoch: this.#epoch }
    // A response that must be JSON has no stream that a call could go on in.
    if (calls === undefined || mode === "json") return Effect.succeed({ others: left, hasFailed: false })
    const others: Array<EarlierStream.EarlierStream> = []
    let hasFailed = false
    const taken = Effect.forEach(left, (earlier) =>
      Effect.suspend(() => {
        const [id, ...more] = earlier.unanswered
        if (id === undefined || more.length > 0) return Effect.sync(() => void others.push(earlier))
        // The next owner takes the call.
        if (this.#isEnding) return Effect.sync(() => void (hasFailed = true))
        return Effect.matchCause(calls.take(owned, id), {
          onSuccess: (call) => {
            if (call === undefined) others.push(earlier)
            else if (this.#isEnding) hasFailed = true
            else this.#continueCall(earlier, call)
          },
          onFailure: () => {
            hasFailed = true
          }
        })
      }), { concurrency: StreamTakeover.concurrency, discard: true })
    return Effect.map(taken, () => {
      if (!hasFailed) watchdog.run(calls.clean(owned, this.#principal?.id))
      return { others, hasFailed }
    })
  }

  /** Serves a stored call again, in the stream of the earlier owner. */
  #continueCall(
    { progress, questions, stream: { events, stream } }: EarlierStream.EarlierStream,
    call: StoredCall
  ): void {
    const exchange: PostExchange = new PostExchange(this, JsonRpc.classify(call.message), undefined, {
      questions,
      progress,
      call,
      adopted: () => this.#isAdopted(exchange)
    })
    this.#exchanges ??= new Set()
    this.#exchanges.add(exchange)
    this.#adopting ??= new Set()
    this.#adopting.add(exchange)
    const opened = this.#open(stream, exchange)
    exchange.continueOn(opened.continueAfter(events.at(-1)?.id ?? ""))
    this.#inbound.deliver({ frame: Result.succeed(call.message), origin: exchange, principal: call.principal })
  }

  #isAdopted(exchange: PostExchange): void {
    if (this.#adopting?.delete(exchange) !== true || this.#adopting.size > 0) return
    if (this.#adopted !== undefined) Deferred.doneUnsafe(this.#adopted, Exit.void)
    this.#adopted = undefined
  }

  /** Waits until the questions of an earlier owner wait for their answers here. */
  get #adoption(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#adopting === undefined || this.#adopting.size === 0) return Effect.void
      this.#adopted ??= Deferred.makeUnsafe()
      return Deferred.await(this.#adopted)
    })
  }

  /**
   * Waits until the session knows the requests of its earlier owner that messages can be about: an answer or a
   * cancellation that makes this process the owner would otherwise find nothing. Returns `false` if that takes longer
   * than 5 seconds, or if the store fails; the sender repeats the message then.
   */
  knows(message: JsonRpc.Classified): Effect.Effect<boolean> {
    const isSettled = this.#takeover === "Done" && (this.#adopting === undefined || this.#adopting.size === 0)
    if (isSettled || AboutRequests.of(message).every((one) => this.#hooks?.knows?.(one) === true)) {
      return Exit.succeed(true)
    }
    return Effect.map(
      Effect.timeoutOption(Effect.andThen(this.takenOver, this.#adoption), knowledgeMillis),
      (settled) => Option.isSome(settled) && this.#takeover !== "Due"
    )
  }

  #movable(origin: StreamOrigin): MovableRequest | undefined {
    const { calls, lease, mode, store } = this.#options
    const isShared = calls !== undefined && lease !== undefined && store !== undefined && mode !== "json"
    if (!isShared || !(origin instanceof PostExchange)) return undefined
    this.#hasStoredCalls = true
    return origin.movable({ session: this.#session, epoch: this.#epoch, isOwned: lease.isAlive })
  }

  /** Waits until the streams that are not open here have ended. Tries it again if the store has failed before. */
  get takenOver(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#takeover === "Due" ? Effect.andThen(this.#takeOver(), this.#attempt) : this.#attempt
    )
  }

  /** Waits for the attempt that runs. */
  get #attempt(): Effect.Effect<void> {
    return Effect.suspend(() => typeof this.#takeover === "string" ? Effect.void : this.#takeover)
  }

  /** Whether a stream may still have to be ended in the store, because the store has failed. */
  isUnended(stream: string): boolean {
    return this.#takeover === "Due" && !this.#isOpen(stream)
  }

  #isOpen(stream: string): boolean {
    return this.#resumable?.has(stream) === true
  }

  /** Lets the next client that resumes a stream have it ended. */
  #isUnendedNow(): void {
    this.#hasUnended = true
    if (this.#takeover === "Done") this.#takeover = "Due"
  }

  /** Closes this copy of the session, because another process has the session. */
  #isSupersededNow(): void {
    if (this.#isSuperseded) return
    this.#isSuperseded = true
    this.#hosted?.supersede()
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

  onSessionEnding(): void {
    this.#isEnding = true
  }

  onSessionEnd(reason: CloseReason.CloseReason): void {
    if (reason._tag === "Superseded") this.#isSuperseded = true
    this.#isKept = reason._tag === "Requested" && reason.isKept === true
  }

  /** Whether the session goes on at another process, although it is closed here. */
  get hasMoved(): boolean {
    return this.#isSuperseded || this.#isKept
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
      const stream = new SseStream(this.#written(name, []), this.#options)
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
    for (const exchange of this.#exchanges ?? []) {
      if (this.hasMoved) exchange.leave(StreamTakeover.outcomeUnknown, this.#isSuperseded)
      else exchange.fail()
    }
    if (this.#isSuperseded) this.#standalone?.supersede()
    else if (this.#isKept) this.#standalone?.release()
    else this.#standalone?.end()
    this.#resumable?.clear()
    const { calls, lease, store, watchdog } = this.#options
    // A session that ends for another reason may go on at another host, where its client resumes the streams.
    if (!this.#isEndedByClient) return
    if (store !== undefined && this.#streamCount > 0) {
      watchdog.run(Effect.andThen(watchdog.settled(), Effect.suspend(() => store.drop(this.#session, this.#epoch))))
    }
    // An owner that was paused may have stored a call after the next owner had taken the session over.
    if (calls !== undefined && lease !== undefined && (this.#hasStoredCalls || this.#epoch > 1)) {
      watchdog.run(calls.clean({ session: this.#session, epoch: this.#epoch + 1 }, this.#principal?.id))
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

  get isEnding(): boolean {
    return this.#isEnding
  }

  openStream(exchange: PostExchange): SseStream {
    return this.#newStream(exchange)
  }

  abandon(exchange: PostExchange): void {
    const { lease, watchdog } = this.#options
    // A process that was paused finds its timers due before it learns that another one has the session.
    if (lease?.isAlive() === false && !this.#isClosed) {
      return void watchdog.schedule(abandonMillis, () => this.abandon(exchange))
    }
    this.#hooks?.abandon(exchange)
    // The session ends only exchanges that have requests in flight.
    exchange.finish()
  }

  remove(exchange: PostExchange, stream: SseStream | undefined, ids: ReadonlyArray<RequestId.RequestId>): void {
    this.#exchanges?.delete(exchange)
    this.#isAdopted(exchange)
    const { calls, watchdog } = this.#options
    const [id] = ids
    if (calls !== undefined && id !== undefined && exchange.isRefused && !this.#isEnding) {
      watchdog.run(calls.drop({ session: this.#session, epoch: this.#epoch }, id))
    }
    if (stream !== undefined) this.#resumable?.delete(stream.key.stream)
  }

  #written(stream: string, requests: ReadonlyArray<RequestId.RequestId>): WrittenStream {
    return { session: this.#session, stream, epoch: this.#epoch, requests }
  }

  #newStream(exchange: PostExchange | undefined): SseStream {
    return this.#open(`${this.#prefix}.${this.#streamCount++}`, exchange)
  }

  #open(name: string, exchange: PostExchange | undefined): SseStream {
    const stream = new SseStream(
      this.#written(name, exchange?.requests ?? []),
      this.#options,
      { onSuperseded: () => this.#isSupersededNow(), onUnended: () => this.#isUnendedNow() }
    )
    if (this.#options.store !== undefined) {
      this.#resumable ??= new Map()
      this.#resumable.set(name, { stream, exchange })
    }
    return stream
  }
}
