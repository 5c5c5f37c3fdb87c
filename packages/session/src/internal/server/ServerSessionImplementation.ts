/** The session of a server with one client: its gate in front of the engine, its handshake and its client. */

import {
  Capabilities,
  CloseReason,
  Handshake,
  type JsonRpc,
  type Logging,
  MethodTable,
  type Profile,
  Revision
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as Handlers from "../../Handlers.ts"
import { NotificationContext } from "../../NotificationContext.ts"
import type { Principal } from "../../Principal.ts"
import { RequestContext } from "../../RequestContext.ts"
import type * as RequestError from "../../RequestError.ts"
import type * as Session from "../../Session.ts"
import { SessionClosedError } from "../../SessionClosedError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin, Transport } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import type * as Dispatch from "../engine/Dispatch.ts"
import { HandshakeGate } from "../engine/HandshakeGate.ts"
import { type InboundGate, InboundProcessor } from "../engine/InboundProcessor.ts"
import type { IncomingRequest } from "../engine/IncomingRequests.ts"
import * as KeptProfile from "../engine/KeptProfile.ts"
import * as LogLevel from "../engine/LogLevel.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import { reject, type RequestServer } from "../engine/RequestServer.ts"
import * as Sender from "../engine/Sender.ts"
import * as SessionId from "../engine/SessionId.ts"
import * as SessionRuntime from "../engine/SessionRuntime.ts"
import { trust } from "../trust.ts"
import * as InboundEra from "./InboundEra.ts"
import * as ListenStream from "./ListenStream.ts"
import type { ModernClient } from "./ModernRequest.ts"
import { ModernRequestGate, type ModernServer } from "./ModernRequestGate.ts"
import * as Permission from "./Permission.ts"
import * as ServerDefinition from "./ServerDefinition.ts"
import * as ServerHandshake from "./ServerHandshake.ts"
import * as ServerRequestContext from "./ServerRequestContext.ts"
import { ServerSessionMembers } from "./ServerSessionMembers.ts"
import type { HandshakeState, ServerSessionShape } from "./ServerSessionShape.ts"

/** The options that all sessions of a server share. */
export interface Options extends ServerDefinition.Options, Pick<Session.Options, "observe"> {
  readonly requireInitialized?: boolean
  readonly stateless?: { readonly revision: Revision.LegacyRevision }
}

/** The options of one session. */
export interface SessionOptions extends SessionRuntime.Surroundings {
  /** The id of the session. Default: a random one. */
  readonly id?: string | undefined
  /** The owner of the session. */
  readonly principal?: Principal | undefined
  /** Whether the session has lived before, in this process or in another one. */
  readonly isRestored?: boolean | undefined
  /** Observes the events of this session, instead of the observer of all sessions. */
  readonly observe?: ((event: SessionEvent) => void) | undefined
  readonly onState?: ((state: HandshakeState["_tag"]) => void) | undefined
  /** Called at the first request of a revision without a handshake. */
  readonly onUseWithoutHandshake?: (() => void) | undefined
  readonly onEnd?: (reason: CloseReason.CloseReason) => void
  readonly onClosed?: (reason: CloseReason.CloseReason) => void
}

/** A server that can open any number of sessions. */
export interface PreparedServer {
  readonly tasks: ServerDefinition.ServerDefinition["tasks"]
  /** Connects and starts to serve. Leaving the scope closes the session. */
  readonly open: (options: SessionOptions) => Effect.Effect<ServerSessionImplementation, TransportError, Scope.Scope>
}

/** The machine of the sessions of a server, their first state, and the client that is assumed in this state. */
interface Start extends Pick<SessionRuntime.RoleDefinition<HandshakeState>, "initial" | "machine"> {
  readonly client: Profile.ClientProfile | undefined
}

/** The server of a session. */
interface Server extends ServerDefinition.ServerDefinition {
  readonly start: Start
  readonly observe: Session.Options["observe"]
}

const { notifications } = MethodTable

/** Returns the start of sessions on a machine, in one of the states of this machine. */
const startWith = <S extends HandshakeState>(
  initial: NoInfer<S>,
  machine: SessionRuntime.RoleMachine<S>,
  client?: Profile.ClientProfile
): Start => ({
  initial,
  // A machine that starts in one of its states never leaves them, so it receives no other state of a server.
  machine: trust<Start["machine"]>(machine),
  client
})

/** Prepares the parts that all sessions of a server share. `isShared` says whether there are several clients. */
export const prepare = (
  handlers: Handlers.Handlers<"client", unknown>,
  options: Options,
  surroundings: Pick<ServerDefinition.Surroundings, "isShared">
): PreparedServer => {
  const { observe, requireInitialized, stateless } = options
  const server: Server = stateless === undefined
    ? {
      ...ServerDefinition.make(handlers, options, surroundings),
      start: startWith(
        { _tag: "AwaitingInitialize" },
        requireInitialized === true ? Handshake.strictServer : Handshake.server
      ),
      observe
    }
    : {
      ...ServerDefinition.makeStateless(handlers, {
        ...options,
        revisions: [stateless.revision, ...(options.revisions ?? Revision.modern).filter(Revision.isModern)]
      }, surroundings),
      start: startWith(
        ServerDefinition.stateless,
        ServerDefinition.statelessMachine,
        ServerDefinition.unknownClient(stateless.revision)
      ),
      observe
    }
  return { tasks: server.tasks, open: (options) => open(server, options) }
}

/** Makes a server with one session, connects, and starts to serve. Leaving the scope closes the session. */
export const make = Effect.fnUntraced(function*(
  handlers: Handlers.Handlers<"client", unknown>,
  options: Options
): Effect.fn.Return<ServerSessionImplementation, TransportError, Transport | Scope.Scope> {
  const prepared = prepare(handlers, options, { isShared: false })
  const surroundings = yield* SessionRuntime.surroundings
  const session = yield* prepared.open(surroundings)
  const stopResuming = prepared.tasks?.resumeWith(surroundings.context)
  if (stopResuming !== undefined) yield* Effect.addFinalizer(() => Effect.sync(stopResuming))
  return session
})

const open = Effect.fnUntraced(function*(
  server: Server,
  options: SessionOptions
): Effect.fn.Return<ServerSessionImplementation, TransportError, Scope.Scope> {
  const profileReady = Deferred.makeUnsafe<Profile.ClientProfile, SessionClosedError>()
  const { client, initial, machine } = server.start
  if (client !== undefined) Deferred.doneUnsafe(profileReady, Exit.succeed(client))
  let session: ServerSessionImplementation | undefined
  const runtime = yield* SessionRuntime.make<HandshakeState>({
    role: "server",
    machine,
    initial,
    firstId: 1,
    // The client may still answer questions of an earlier life, and the answers would otherwise complete new ones
    // (law 3). No store knows how many requests that life has sent, and two processes may serve the session at once.
    // Every peer returns a string unchanged, but the ids of some have no room for a random number that is large enough.
    life: options.isRestored === true ? Context.get(options.context, SessionId.RequestIdPrefix)() : undefined,
    timeOut: ServerHandshake.timeOut,
    onState: options.onState,
    onEnd: (reason) => {
      if (session?.modern !== undefined) ListenStream.endAll(session.modern)
      if (!Deferred.isDoneUnsafe(profileReady)) {
        Deferred.doneUnsafe(profileReady, Exit.fail(new SessionClosedError({ reason })))
      }
      options.onEnd?.(reason)
    },
    onClosed: options.onClosed
  }, { ...options, limits: server.limits, observe: options.observe ?? server.observe })
  // A session that is restored while its host drains never begins here, and goes on at another process.
  if (options.isRestored === true) {
    yield* Effect.addFinalizer(() => Effect.sync(() => runtime.end({ _tag: "Close", reason: CloseReason.unloaded })))
  }
  return session = new ServerSessionImplementation(server, runtime, profileReady, options)
})

/** A server's session: the gate of its requests, its part of the handshake, and what it knows of its client. */
export class ServerSessionImplementation extends ServerSessionMembers
  implements InboundGate<Profile.ClientProfile, unknown>, ServerHandshake.HandshakeOwner, Sender.SenderDependencies
{
  readonly runtime: SessionRuntime.SessionRuntime<HandshakeState>
  readonly sender: Sender.Sender
  readonly #gate: HandshakeGate<Profile.ClientProfile, unknown>
  /** The client's profile after the handshake. Without sessions, only its revision is known. */
  client: Profile.ClientProfile | undefined
  /** The parts of the requests of revisions without a handshake, after the first of them. */
  modern: ModernServer | undefined
  readonly #server: Server
  readonly #profileReady: Deferred.Deferred<Profile.ClientProfile, SessionClosedError>
  /** The client of the first request of a revision without a handshake. */
  #firstClient: Profile.ClientProfile | undefined
  #isEstablished = false
  readonly #level = LogLevel.make()
  #details: ServerHandshake.InitializeDetails | undefined
  readonly #onUseWithoutHandshake: SessionOptions["onUseWithoutHandshake"]
  readonly #isAnonymous: boolean
  #id: string | undefined

  constructor(
    server: Server,
    runtime: SessionRuntime.SessionRuntime<HandshakeState>,
    profileReady: Deferred.Deferred<Profile.ClientProfile, SessionClosedError>,
    { id, onUseWithoutHandshake, principal }: Pick<SessionOptions, "id" | "onUseWithoutHandshake" | "principal">
  ) {
    super()
    this.#id = id
    this.#isAnonymous = principal === undefined
    this.#onUseWithoutHandshake = onUseWithoutHandshake
    this.#server = server
    this.runtime = runtime
    this.#profileReady = profileReady
    this.client = server.start.client
    this.sender = new Sender.Sender(runtime, this)
    this.#gate = new HandshakeGate(runtime, this)
    runtime.read(new InboundProcessor(runtime, this))
  }

  // ===================================================================================================================
  // The gate in front of the engine
  // ===================================================================================================================

  get dispatch(): Dispatch.Dispatch<unknown> {
    return this.#server.dispatch
  }

  peer(): Profile.ClientProfile | undefined {
    return this.client
  }

  contextOf(
    request: IncomingRequest,
    message: JsonRpc.Request,
    profile: Profile.ClientProfile
  ): Context.Context<unknown> {
    const own = new ServerRequestContext.ServerRequestContext(this, request, message, profile)
    const context = Context.add(this.runtime.context, RequestContext, own)
    // The services of the handlers were captured with the session's context when it was made.
    return trust(message.method === LogLevel.method ? Context.add(context, LogLevel.LogLevel, this.#level) : context)
  }

  notificationContextOf(profile: Profile.ClientProfile): Context.Context<unknown> {
    // The services of the handlers were captured with the session's context when it was made.
    return trust(Context.add(this.runtime.context, NotificationContext, { session: this.session, profile }))
  }

  serve(
    requests: RequestServer,
    message: JsonRpc.Request,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    const era = InboundEra.ofRequest(this.#server, message, origin)
    switch (era._tag) {
      case "Handshake":
        return requests.serve(this.#gate, message, origin, bytes, principal)
      case "Rejected":
        return reject(this.runtime, message, era.error, origin)
      case "Modern":
        return this.#serveModern(requests, message, era.client, origin, bytes, principal)
    }
  }

  answerInitialize(message: JsonRpc.Request, origin: StreamOrigin | undefined): void {
    ServerHandshake.answer(this.runtime, this, message, origin)
  }

  permit(message: JsonRpc.Request, principal: Principal | undefined): JsonRpc.ErrorObject | undefined {
    return Permission.ofRequest(this, message, principal)
  }

  get scopesOf(): Permission.ScopesOf | undefined {
    return this.#server.scopesOf
  }

  scopesFailed(thrown: unknown): void {
    this.runtime.fork(Permission.log(thrown))
  }

  intercept(message: JsonRpc.Notification): boolean {
    return ServerHandshake.observe(this.runtime, message, () => this.release())
  }

  release(): void {
    this.sender.release()
  }

  /**
   * Serves a request of a revision without a handshake. It shares the connection, the tables and the limits of the
   * session, and neither needs its handshake nor changes it.
   */
  #serveModern(
    requests: RequestServer,
    message: JsonRpc.Request,
    client: ModernClient,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    const { runtime } = this
    const state = runtime.state()
    if ("reason" in state) return reject(runtime, message, RequestRejections.notReady("server", state._tag), origin)
    if (this.modern === undefined) {
      const { context, clock } = runtime
      this.modern = {
        ...this.#server,
        requestState: ServerDefinition.requestStateSettings(this.#server, context, clock),
        listeners: new Set()
      }
    }
    // A client without a handshake never sends `initialize`.
    if (runtime.needsHandshake) this.#onUseWithoutHandshake?.()
    runtime.needsHandshake = false
    this.#firstClient ??= this.#keep(client.profile)
    const carrier = {
      runtime,
      authenticates: this.authenticates,
      permit: (message: JsonRpc.Request) => this.permit(message, principal),
      parameterHeaders: undefined,
      source: this,
      send: (notification: JsonRpc.Notification) => this.sender.send(notification, origin)
    }
    const gate = new ModernRequestGate(this.modern, carrier, message, client, principal)
    requests.serve(gate, message, origin, bytes, principal)
  }

  /** Keeps the client of the first request without a handshake, within the limit, and returns it to the program. */
  #keep(profile: Profile.ClientProfile): Profile.ClientProfile {
    const kept = KeptProfile.within(profile, this.runtime.limits.maxProfileBytes)
    const known = Result.isSuccess(kept)
      ? kept.success.profile
      : { revision: profile.revision, capabilities: {}, info: undefined }
    Deferred.doneUnsafe(this.#profileReady, Exit.succeed(known))
    return known
  }

  // ===================================================================================================================
  // The handshake
  // ===================================================================================================================

  get description(): ServerHandshake.ServerDescription {
    return this.#isAnonymous ? this.#server.anonymousDescription : this.#server.description
  }

  storeClient(profile: Profile.ClientProfile, details: ServerHandshake.InitializeDetails): void {
    this.client = profile
    this.#details = details
  }

  establish(profile: Profile.ClientProfile): void {
    this.runtime.connection.onHandshake?.(profile)
    this.#isEstablished = true
    Deferred.doneUnsafe(this.#profileReady, Exit.succeed(profile))
  }

  // ===================================================================================================================
  // The dependencies of its messages
  // ===================================================================================================================

  get detachStream(): ServerRequestContext.ServerContextDependencies["detachStream"] {
    return this.runtime.connection.detachStream
  }

  /** The session of a handler; none without sessions, because each request stands alone. */
  get session(): ServerSessionShape | undefined {
    return this.#server.start.client === undefined ? this : undefined
  }

  /** Whether the transport authenticates its senders. */
  get authenticates(): boolean {
    return this.runtime.connection.authenticates === true
  }

  /** One session, so one client. */
  get source(): this {
    return this
  }

  get declared(): Capabilities.ServerCapabilities {
    return this.#server.description.capabilities
  }

  get projection(): Sender.SenderDependencies["projection"] {
    return this.#server.description.projection
  }

  get middleware(): Sender.SenderDependencies["middleware"] {
    return this.#server.middleware?.outbound
  }

  sendLog(
    message: Omit<Logging.LogMessageParams, "_meta">,
    replyTo: StreamOrigin | undefined
  ): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() =>
      LogLevel.admits(this.#level, message.level)
        ? this.sender.notify(notifications["notifications/message"], message, replyTo)
        : Effect.void
    )
  }

  // ===================================================================================================================
  // The client, as the members of `ServerSession` know it
  // ===================================================================================================================

  get id(): string {
    return this.#id ??= SessionId.make()
  }

  get state(): ServerSessionShape["state"] {
    return Effect.sync(() => {
      const state = this.runtime.state()
      return state._tag === "AwaitingInitialize" && this.#firstClient !== undefined
        ? { _tag: "Modern", profile: this.#firstClient }
        : state
    })
  }

  get profile(): ServerSessionShape["profile"] {
    return Effect.suspend(() =>
      // A client may shake hands after other requests.
      this.#isEstablished && this.client !== undefined
        ? Effect.succeed(this.client)
        : Deferred.await(this.#profileReady)
    )
  }

  get requestedRevision(): ServerSessionShape["requestedRevision"] {
    return Effect.map(this.profile, () => this.#details?.requestedRevision)
  }

  get initializeMeta(): ServerSessionShape["initializeMeta"] {
    return Effect.map(this.profile, () => this.#details?.meta)
  }

  get hasCapability(): ServerSessionShape["hasCapability"] {
    return (required) =>
      Effect.sync(() =>
        // Without the details there was no `initialize`, even if a profile is assumed.
        this.#details !== undefined && this.client !== undefined &&
        Capabilities.covers(this.client.capabilities, required)
      )
  }

  /** Whether the requests of the client have no handshake. It ignores requests of the server, pings included. */
  get hasModernClient(): boolean {
    return this.client === undefined && (this.modern !== undefined || this.description.revisions.length === 0)
  }
}
