/** The server of one frame without a session: its part of the engine, and its state. */

import { type Handshake, JsonRpc, MethodTable, type Profile, Revision } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import type { Limits } from "../../Limits.ts"
import type * as MemoryBudget from "../../MemoryBudget.ts"
import { NotificationContext } from "../../NotificationContext.ts"
import type { Principal } from "../../Principal.ts"
import { RequestContext } from "../../RequestContext.ts"
import * as RequestError from "../../RequestError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin } from "../../Transport.ts"
import * as TransportError from "../../TransportError.ts"
import { isBatch } from "../engine/Batch.ts"
import * as Cancellation from "../engine/Cancellation.ts"
import type { Dispatch } from "../engine/Dispatch.ts"
import { HandshakeGate } from "../engine/HandshakeGate.ts"
import { type InboundGate, InboundProcessor, type InboundRuntime } from "../engine/InboundProcessor.ts"
import * as IncomingRequests from "../engine/IncomingRequests.ts"
import type { NotificationHandling } from "../engine/NotificationQueue.ts"
import * as Outbox from "../engine/Outbox.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import type { RateLimit } from "../engine/RateLimit.ts"
import { reject, RequestServer } from "../engine/RequestServer.ts"
import { trust } from "../trust.ts"
import type { FairCapacity } from "./FairCapacity.ts"
import * as InboundEra from "./InboundEra.ts"
import * as ListenStream from "./ListenStream.ts"
import type { ModernClient } from "./ModernRequest.ts"
import { type ModernCarrier, ModernRequestGate, type ModernServer } from "./ModernRequestGate.ts"
import * as Permission from "./Permission.ts"
import * as ServerDefinition from "./ServerDefinition.ts"
import * as ServerHandshake from "./ServerHandshake.ts"
import * as ServerRequestContext from "./ServerRequestContext.ts"
import { type Reply, StatelessReplies } from "./StatelessReplies.ts"

/** The parts that the frames of a server share. */
export interface Server
  extends ServerDefinition.ServerDefinition, ModernServer, Pick<Permission.Permitting, "scopesFailed" | "scopesOf">
{
  /** The services of the handlers. */
  readonly context: Context.Context<never>
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly emit: (event: SessionEvent) => void
  readonly timer: { readonly now: () => number }
  readonly budget: MemoryBudget.MemoryBudget
  readonly capacity: FairCapacity
  /** The capacity of streams of notifications, which stay open and must not take that of other requests. */
  readonly listenerCapacity: FairCapacity
  /** Bounds the warnings about responses, which match no request without a session. */
  readonly unmatchedWarnings: RateLimit
}

/** The client and the circumstances of one frame. */
export interface IncomingFrame {
  /**
   * The revision of the frame, because no handshake has negotiated one. `initialize` negotiates its own. In a revision
   * without a handshake, the metadata of each request names its revision and its client.
   */
  readonly revision: Revision.Revision
  /** The frame as `JsonRpc.classify` returns it, if the caller has classified it. Default: the server classifies it. */
  readonly message?: JsonRpc.Classified | undefined
  /** The era of the frame, if the caller has asked the server for it. Default: that of `revision`. */
  readonly era?: InboundEra.InboundEra | undefined
  /** The authenticated sender of the frame. */
  readonly principal?: Principal | undefined
  /**
   * Whether the transport authenticates its senders. A sender without a principal is then anonymous, and lacks every
   * scope. Default: no, and a sender without a principal lacks none.
   */
  readonly authenticates?: boolean | undefined
  /**
   * An identity for a client without a principal, such as its address. It prevents one client from taking all of the
   * capacity. Default: all clients without a principal count as one client.
   */
  readonly client?: string | undefined
  /** The `Mcp-Param-*` headers of the frame by their names in lower case, if it came by HTTP. */
  readonly parameterHeaders?: { readonly [name: string]: string } | undefined
  /** The number of bytes of the frame on the wire. If it is given, the memory of the frame is counted. */
  readonly bytes?: number | undefined
  /**
   * Sends a notification that belongs to the frame, before the reply. Calls do not overlap. Default: notifications of
   * handlers fail with `NoRoute`.
   */
  readonly notify?: ((message: JsonRpc.Notification) => Effect.Effect<void, TransportError.TransportError>) | undefined
}

/** A notification of the frame that has a handler. */
interface Queued extends NotificationHandling {
  readonly bytes: number
}

const profiles: ReadonlyMap<Revision.Revision, Profile.ClientProfile> = new Map(
  Revision.supported.map((revision) => [revision, ServerDefinition.unknownClient(revision)])
)

const profileOf = (revision: Revision.Revision): Profile.ClientProfile =>
  profiles.get(revision) ?? ServerDefinition.unknownClient(revision)

/** Returns the era of a request whose caller knows its revision only. */
const eraOf = (server: Server, revision: Revision.Revision, request: JsonRpc.Request): InboundEra.InboundEra =>
  Revision.isModern(revision) ? InboundEra.ofModern(server, request) : InboundEra.handshake

/**
 * The server of one frame of a client without a session. It takes the place of a session, in the state `Stateless`,
 * until the frame is served. It is the stream origin of its messages. Request ids and cancellations have an effect only
 * within the frame, because another frame may be from another client.
 */
export class FrameServer implements InboundRuntime, InboundGate<Profile.ClientProfile, unknown>, ModernCarrier {
  readonly role = "server"
  readonly replies: StatelessReplies
  readonly notifications: InboundRuntime["notifications"]
  readonly #server: Server
  readonly #from: IncomingFrame
  readonly #profile: Profile.ClientProfile
  /** Whether the request of the frame opens a stream of notifications. */
  #isListening = false
  readonly #requests = new RequestServer(this)
  readonly #queued: Array<Queued> = []
  #inflight: IncomingRequests.IncomingRequests | undefined
  #notifying: Fiber.Fiber<void> | undefined
  #sending: Semaphore.Semaphore | undefined
  #contexts: ServerRequestContext.ServerContextDependencies | undefined

  /** `done` receives the reply in the step in which the last message of the frame has ended. */
  constructor(server: Server, from: IncomingFrame, done: (reply: Reply) => void) {
    this.#server = server
    this.#from = from
    this.#profile = profileOf(from.revision)
    this.replies = new StatelessReplies(server, done)
    this.notifications = {
      offer: (notification, bytes) => {
        this.#queued.push({ ...notification, bytes })
        return true
      }
    }
  }

  /** Starts to serve the frame, in its era. */
  start(frame: unknown): void {
    const { bytes, message = JsonRpc.classify(frame), principal } = this.#from
    if (message._tag === "Request") {
      const { era = eraOf(this.#server, this.#from.revision, message.message) } = this.#from
      if (era._tag === "Rejected") return reject(this, message.message, era.error, this)
      if (era._tag === "Modern") return this.#serveModern(message.message, era.client)
    }
    new InboundProcessor(this, this).receive(frame, this, bytes, principal, message)
    this.#startNotifications()
  }

  /** Serves a request of a revision without a handshake. */
  #serveModern(request: JsonRpc.Request, client: ModernClient): void {
    const { bytes, principal } = this.#from
    this.#isListening = request.method === ListenStream.method
    const gate = new ModernRequestGate(this.#server, this, request, client, principal)
    this.#requests.serve(gate, request, this, bytes, principal)
  }

  /** Whether no notification was sent, and none has to be handled. */
  get isSettled(): boolean {
    return this.#sending === undefined && this.#notifying === undefined
  }

  /** Waits until all notifications of the handlers are sent, and all notifications of the frame are handled. */
  get settled(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const sent = this.#sending === undefined ? Effect.void : this.#sending.withPermit(Effect.void)
      return this.#notifying === undefined ? sent : Effect.andThen(Fiber.await(this.#notifying), sent)
    })
  }

  /** Interrupts the handlers of the frame, and waits until they have ended. */
  get interrupted(): Effect.Effect<void> {
    return Effect.suspend(() => {
      Cancellation.abandon(this, this)
      const drained = this.#inflight === undefined ? Effect.void : this.#inflight.drained
      return this.#notifying === undefined ? drained : Effect.andThen(Fiber.interrupt(this.#notifying), drained)
    })
  }

  // ===================================================================================================================
  // The runtime of the engine
  // ===================================================================================================================

  get limits(): Limits {
    return this.#server.limits
  }

  /** The runtime of a request without a handshake. */
  get runtime(): this {
    return this
  }

  get context(): Context.Context<never> {
    return this.#server.context
  }

  get timer(): Server["timer"] {
    return this.#server.timer
  }

  get parameterHeaders(): IncomingFrame["parameterHeaders"] {
    return this.#from.parameterHeaders
  }

  get authenticates(): boolean {
    return this.#from.authenticates === true
  }

  get source(): IncomingFrame["client"] {
    return this.#from.client
  }

  get unmatchedWarnings(): RateLimit {
    return this.#server.unmatchedWarnings
  }

  get inflight(): IncomingRequests.IncomingRequests {
    const { capacity, listenerCapacity } = this.#server
    return this.#inflight ??= new IncomingRequests.IncomingRequests(
      (this.#isListening ? listenerCapacity : capacity).roomOf(this.#from, () => this.#requests.displaceLargest())
    )
  }

  state(): Handshake.StatelessServerState {
    return ServerDefinition.stateless
  }

  apply<Tag extends Handshake.EventTag>(
    event: Handshake.EventOf<Tag>
  ): Handshake.Outcome<Handshake.StatelessServerState, Tag> {
    return ServerDefinition.statelessMachine.transition(ServerDefinition.stateless, event)
  }

  emit(event: SessionEvent): void {
    this.#server.emit(event)
  }

  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return this.#server.fork(effect)
  }

  /** Handles the notifications of the frame in order. Together they count as one request. */
  #startNotifications(): void {
    const queued = this.#queued
    if (queued.length === 0) return
    const bytes = queued.reduce((sum, { bytes }) => sum + bytes, 0)
    const room = this.#server.capacity.roomOf(this.#from)
    const full = room.take(bytes)
    if (full !== undefined) {
      for (const { method } of queued) this.emit({ _tag: "NotificationIgnored", method, problem: full })
      return
    }
    this.#notifying = this.fork(Effect.forEach(queued, ({ handle }) => handle, { discard: true }))
    this.#notifying.addObserver(() => room.release(bytes))
  }

  // ===================================================================================================================
  // The gate in front of the engine
  // ===================================================================================================================

  get dispatch(): Dispatch<unknown> {
    return this.#server.dispatch
  }

  get description(): ServerHandshake.ServerDescription {
    return this.#from.principal === undefined ? this.#server.anonymousDescription : this.#server.description
  }

  peer(): Profile.ClientProfile {
    return this.#profile
  }

  contextOf(
    request: IncomingRequests.IncomingRequest,
    message: JsonRpc.Request,
    profile: Profile.ClientProfile
  ): Context.Context<unknown> {
    const own = new ServerRequestContext.ServerRequestContext(this.#contextDependencies, request, message, profile)
    // The services of the handlers were captured when the server was made.
    return trust<Context.Context<unknown>>(Context.add(this.context, RequestContext, own))
  }

  notificationContextOf(profile: Profile.ClientProfile): Context.Context<unknown> {
    // The services of the handlers were captured when the server was made.
    return trust<Context.Context<unknown>>(
      Context.add(this.context, NotificationContext, { session: undefined, profile })
    )
  }

  serve(
    requests: RequestServer,
    message: JsonRpc.Request,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    // The era of the frame is that of its only message. Each message of a batch has its own.
    const era = isBatch(origin) ? InboundEra.ofRequest(this.#server, message, origin) : InboundEra.handshake
    if (era._tag === "Rejected") return reject(this, message, era.error, origin)
    requests.serve(new HandshakeGate(this, this), message, origin, bytes, principal)
  }

  permit(message: JsonRpc.Request): JsonRpc.ErrorObject | undefined {
    return Permission.ofRequest(this, message, this.#from.principal)
  }

  get scopesOf(): Permission.ScopesOf | undefined {
    return this.#server.scopesOf
  }

  scopesFailed(thrown: unknown): void {
    this.#server.scopesFailed(thrown)
  }

  answerInitialize(message: JsonRpc.Request, origin: StreamOrigin | undefined): void {
    ServerHandshake.answerInFrame(this, this.description, message, origin)
  }

  intercept(message: JsonRpc.Notification): boolean {
    // A frame without a session holds no requests.
    return ServerHandshake.observe(this, message, () => {})
  }

  // ===================================================================================================================
  // The messages of handlers
  // ===================================================================================================================

  get #contextDependencies(): ServerRequestContext.ServerContextDependencies {
    return this.#contexts ??= {
      runtime: this,
      sender: { notify: (row, params) => this.#notify(row, params), request: (row) => this.#request(row.name) },
      session: undefined,
      source: this.source,
      authenticates: this.authenticates,
      detachStream: undefined,
      // No client has a log level, because none is stored.
      sendLog: (message) => this.#notify(MethodTable.notifications["notifications/message"], message)
    }
  }

  /** Fails: the machine of a server without sessions sends no request. */
  #request(method: string): Effect.Effect<never, RequestError.RequestError> {
    return Effect.suspend(() => {
      const admission = Outgoing.admitRequest(this, Outgoing.sendRequest)
      // If the machine allowed it, the response would have no stream to arrive on.
      return typeof admission === "object" ? Effect.fail(RequestError.make(method, admission)) : failedToSend(method)
    })
  }

  #notify(row: Outgoing.MethodRequirements, params: object): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const admission = Outgoing.admitNotification(this)
      if (typeof admission === "object") return Effect.fail(RequestError.make(row.name, admission))
      const { capabilities, projection } = this.description
      const message = Outgoing.notification(row, params, this.#profile, { declared: capabilities, projection })
      return Result.isFailure(message)
        ? Effect.fail(RequestError.make(row.name, message.failure))
        : this.send(message.success)
    })
  }

  /** Sends notifications in the order of the handlers' calls, one at a time. */
  send(message: JsonRpc.Notification): Effect.Effect<void, RequestError.RequestError> {
    const { notify } = this.#from
    const sending = this.#sending ??= Semaphore.makeUnsafe(1)
    const sent = Effect.suspend(() => notify === undefined ? noRoute(message.method) : notify(message))
    return Effect.catchCause(sending.withPermit(sent), (cause) => {
      const error = Outbox.errorIn(cause)
      this.emit({ _tag: "SendFailed", method: message.method, error })
      return Effect.fail(RequestError.make(message.method, { _tag: "SendFailed", error }))
    })
  }
}

const noRouteError = (method: string) => TransportError.make({ _tag: "NoRoute", method })

const noRoute = (method: string) => Effect.fail(noRouteError(method))

const failedToSend = (method: string) =>
  Effect.fail(RequestError.make(method, { _tag: "SendFailed", error: noRouteError(method) }))
