import {
  Capabilities,
  type CloseReason,
  type Elicitation,
  type ElicitationSchema,
  Handshake,
  JsonRpc,
  type Logging,
  type Meta,
  type MethodDefinition,
  MethodTable,
  type Profile,
  type Progress,
  type RequestId,
  type Revision,
  type Roots,
  type Sampling,
  Task
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as Dispatch from "../../Dispatch.ts"
import type { Extension } from "../../Extension.ts"
import * as Handlers from "../../Handlers.ts"
import * as Limits from "../../Limits.ts"
import type { Middleware } from "../../Middleware.ts"
import { RequestContext } from "../../RequestContext.ts"
import type { RequestError } from "../../RequestError.ts"
import * as RequestErrors from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import type * as Session from "../../Session.ts"
import { SessionClosed } from "../../SessionClosed.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import { Batch } from "../engine/Batch.ts"
import * as InboundProcessor from "../engine/InboundProcessor.ts"
import type { Served } from "../engine/IncomingRequests.ts"
import * as LogLevel from "../engine/LogLevel.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import * as Sender from "../engine/Sender.ts"
import * as SessionRuntime from "../engine/SessionRuntime.ts"
import { trust } from "../trust.ts"
import * as InitializeResponder from "./InitializeResponder.ts"
import type * as KeptProfile from "./KeptProfile.ts"
import * as ServerRequestContext from "./ServerRequestContext.ts"

/** The states of a server, with or without sessions. */
type State = Handshake.ServerState | Handshake.SessionlessServerState

/** What all sessions of a server have in common, as the options of `ServerSession` say it. */
export interface Options extends Session.Options {
  readonly instructions?: string
  readonly capabilities?: Handlers.ServerDeclarations
  readonly requireInitialized?: boolean
  readonly sessionless?: { readonly revision: Revision.Revision }
  readonly extensions?: ReadonlyArray<Extension<"client" | "either", unknown>>
  readonly middleware?: Middleware<unknown, unknown>
}

/** What one session has for itself. */
export interface Opening extends SessionRuntime.Surroundings {
  /** Is told of this session's events, instead of whoever is told of all. */
  readonly observe?: ((event: SessionEvent) => void) | undefined
  readonly onState?: ((state: State["_tag"]) => void) | undefined
  readonly onEnd?: (reason: CloseReason.CloseReason) => void
  readonly onClosed?: (reason: CloseReason.CloseReason) => void
}

/** A server that can have any number of sessions. */
export interface Prepared {
  /** Connects and begins to serve. Leaving the scope closes the session. */
  readonly open: (opening: Opening) => Effect.Effect<ServedSession, TransportError, Scope.Scope>
}

interface Related {
  readonly relatedRequestId?: RequestId.RequestId
}

interface AskOptions<R> extends RequestOptions<R>, Related {}

/** As `ServerSession.Shape` has it: what comes of a question without tools is one piece of content. */
interface CreateMessage {
  <R = never>(
    params: Sampling.CreateMessageParamsWithoutTools,
    options?: AskOptions<R>
  ): Effect.Effect<Sampling.CreateMessageResultWithoutTools, RequestError, R>
  <R = never>(
    params: Sampling.CreateMessageParams,
    options?: AskOptions<R>
  ): Effect.Effect<Sampling.CreateMessageResult, RequestError, R>
}

interface BuildOptions {
  readonly relatedTaskId?: string
  readonly task?: Task.TaskMetadata
}

/** What is the same for all sessions of one server. */
interface Server {
  readonly options: Options
  readonly limits: Limits.Limits
  readonly introduction: InitializeResponder.InitializeResponder
  readonly dispatch: Dispatch.Dispatch<unknown>
  readonly transition: SessionRuntime.Side<State>["transition"]
}

const { notifications, requests } = MethodTable

const machineOf = (options: Options) =>
  options.sessionless !== undefined
    ? Handshake.sessionlessServer
    : options.requireInitialized
    ? Handshake.strictServer
    : Handshake.server

/** Makes what sessions share. */
export const prepare = (handlers: Handlers.Handlers<"client", unknown>, options: Options): Prepared => {
  const capabilities = Handlers.serverCapabilities(handlers, options.capabilities)
  const remembers = options.sessionless === undefined
  const server: Server = {
    options,
    limits: Limits.make(options.limits),
    introduction: InitializeResponder.make({ ...options, capabilities }),
    dispatch: Dispatch.make(
      "client",
      capabilities.logging === undefined ? handlers : LogLevel.settable(handlers, { remembers }),
      { middleware: options.middleware?.inbound, extensions: options.extensions, projection: options.projection }
    ),
    // A machine that begins in one of its states never leaves them.
    transition: trust<SessionRuntime.Side<State>["transition"]>(machineOf(options).transition)
  }
  return { open: (opening) => open(server, opening) }
}

const open = Effect.fnUntraced(function*(
  server: Server,
  opening: Opening
): Effect.fn.Return<ServedSession, TransportError, Scope.Scope> {
  const { options: { sessionless }, limits } = server
  const introduced = Deferred.makeUnsafe<Profile.ClientProfile, SessionClosed>()
  const core = yield* SessionRuntime.make<State>({
    role: "server",
    transition: server.transition,
    initial: sessionless === undefined ? { _tag: "AwaitingInitialize" } : { _tag: "Sessionless" },
    firstId: 1,
    onState: opening.onState,
    onEnd: (reason) => {
      if (!Deferred.isDoneUnsafe(introduced)) {
        Deferred.doneUnsafe(introduced, Exit.fail(new SessionClosed({ reason })))
      }
      opening.onEnd?.(reason)
    },
    onClosed: opening.onClosed
  }, { ...opening, limits, observe: opening.observe ?? server.options.observe })
  return new ServedSession(server, core, introduced)
})

/**
 * A server's session, as `ServerSession.Shape` describes it. There may be thousands of them, most of which do nothing, so their
 * members are made when they are looked at.
 */
export class ServedSession implements InboundProcessor.Parts<Profile.ClientProfile, unknown>, Sender.Parties {
  readonly core: SessionRuntime.SessionRuntime<State>
  readonly sender: Sender.Sender
  /** What is known of the client, once it has introduced itself. */
  client: Profile.ClientProfile | undefined
  readonly #server: Server
  readonly #introduced: Deferred.Deferred<Profile.ClientProfile, SessionClosed>
  readonly #level = LogLevel.make()
  #opening: InitializeResponder.Opening | undefined

  constructor(
    server: Server,
    core: SessionRuntime.SessionRuntime<State>,
    introduced: Deferred.Deferred<Profile.ClientProfile, SessionClosed>
  ) {
    this.#server = server
    this.core = core
    this.#introduced = introduced
    const { sessionless } = server.options
    if (sessionless !== undefined) {
      this.client = { revision: sessionless.revision, capabilities: {}, info: undefined }
      Deferred.doneUnsafe(introduced, Exit.succeed(this.client))
    }
    this.sender = new Sender.Sender(core, this)
    core.read(new InboundProcessor.InboundProcessor(core, this))
  }

  get release(): ServerRequestContext.AskingParts["release"] {
    return this.core.connection.detachStream
  }

  get declared(): Capabilities.ServerCapabilities {
    return this.#server.introduction.capabilities
  }

  get projection(): Sender.Parties["projection"] {
    return this.#server.options.projection
  }

  get middleware(): Sender.Parties["middleware"] {
    return this.#server.options.middleware?.outbound
  }

  get dispatch(): Dispatch.Dispatch<unknown> {
    return this.#server.dispatch
  }

  peer(): Profile.ClientProfile | undefined {
    return this.client
  }

  contextOf(served: Served, request: JsonRpc.Request, profile: Profile.ClientProfile): Context.Context<unknown> {
    const asking = new ServerRequestContext.ServerRequestContext(this, served, request, profile)
    const context = Context.add(this.core.context, RequestContext, asking)
    // The services of the handlers were captured with the session's context when it was made.
    return trust(request.method === LogLevel.method ? Context.add(context, LogLevel.LogLevel, this.#level) : context)
  }

  intercept(message: JsonRpc.Request | JsonRpc.Notification, origin: StreamOrigin | undefined): boolean {
    // The answer takes its place in the outbox in this same step, ahead of all that is pipelined behind the request, and of
    // whatever an observer of the new state may say.
    if (message.method === "initialize" && "id" in message) this.core.quietly(() => this.#initialize(message, origin))
    else if (message.method === "notifications/initialized" && !("id" in message)) this.#initialized(message)
    else return false
    return true
  }

  #refuse(request: JsonRpc.Request, error: JsonRpc.ErrorObject, origin: StreamOrigin | undefined): void {
    this.core.emit({ _tag: "Refused", method: request.method, id: request.id, code: error.code })
    this.core.replies.reply(JsonRpc.failure(request.id, error), origin)
  }

  /** What the client says of itself, as far as it is kept; or what is wrong with it. */
  #introduce(
    request: JsonRpc.Request
  ): Result.Result<
    KeptProfile.Kept<Profile.ClientProfile> & { readonly opening: InitializeResponder.Opening },
    JsonRpc.ErrorObject
  > {
    const { introduction, limits, options: { sessionless } } = this.#server
    return Result.flatMap(InitializeResponder.params(request), (params) => {
      const revision = sessionless?.revision ?? InitializeResponder.agreed(introduction, params.protocolVersion)
      // Without sessions nothing is kept.
      const limitBytes = sessionless === undefined ? limits.maxProfileBytes : Number.POSITIVE_INFINITY
      return Result.map(
        InitializeResponder.profile(introduction, params, revision, limitBytes),
        (kept) => ({ ...kept, opening: InitializeResponder.opening(params) })
      )
    })
  }

  #initialize(request: JsonRpc.Request, origin: StreamOrigin | undefined): void {
    const { introduction, options: { sessionless } } = this.#server
    if (origin instanceof Batch) return this.#refuse(request, InitializeResponder.notInBatch, origin)
    const kept = this.#introduce(request)
    if (Result.isFailure(kept)) {
      const outcome = this.core.happen({ _tag: "ReceiveInvalidInitialize" })
      const error = outcome._tag === "Moved" && outcome.action === "RejectParams"
        ? kept.failure
        : RequestRejections.invalidRequest("The session is initialized already")
      return this.#refuse(request, error, origin)
    }
    const { isTrimmed, opening, profile: client } = kept.success
    const { revision } = client
    const outcome = this.core.happen({ _tag: "ReceiveInitialize", profile: client })
    if (outcome._tag !== "Moved" || outcome.action !== "Answer") {
      return this.#refuse(request, RequestRejections.invalidRequest("The session is initialized already"), origin)
    }
    if (isTrimmed) this.core.emit({ _tag: "ProfileTrimmed", limitBytes: this.core.limits.maxProfileBytes })
    if (sessionless === undefined) {
      this.client = client
      this.#opening = opening
    }
    // The machine moves first, since a transport may bring the client's next words before the call returns.
    this.core.happen({ _tag: "SendInitializeResult" })
    this.core.replies.reply(InitializeResponder.answer(introduction, request.id, revision), origin)
    if (sessionless !== undefined) return
    this.core.connection.onHandshake?.(client)
    Deferred.doneUnsafe(this.#introduced, Exit.succeed(client))
  }

  #initialized(notification: JsonRpc.Notification): void {
    const outcome = this.core.happen({ _tag: "ReceiveInitialized" })
    if (outcome._tag === "Moved" && outcome.action === "Release") return this.sender.release()
    this.core.emit({
      _tag: "NotificationIgnored",
      method: notification.method,
      problem: `not expected while ${this.core.state()._tag}`
    })
  }

  logVia(
    message: Omit<Logging.LogMessageParams, "_meta">,
    replyTo: StreamOrigin | undefined
  ): Effect.Effect<void, RequestError> {
    return Effect.suspend(() =>
      LogLevel.admits(this.#level, message.level)
        ? this.sender.notify(notifications["notifications/message"], message, replyTo)
        : Effect.void
    )
  }

  /** The stream of the request that a message belongs to. */
  #related<A, R>(
    method: string,
    options: Related | undefined,
    use: (replyTo: StreamOrigin | undefined) => Effect.Effect<A, RequestError, R>
  ): Effect.Effect<A, RequestError, R> {
    return Effect.suspend(() => {
      const id = options?.relatedRequestId
      if (id === undefined) return use(undefined)
      const served = this.core.inflight.find(id)
      return served === undefined
        ? Effect.fail(RequestErrors.make(method, { _tag: "ExchangeEnded" }))
        : use(served.origin)
    })
  }

  #ask<Name extends MethodTable.RequestName<"server">, R>(
    name: Name,
    params: MethodTable.ParamsOf<Name>,
    options: AskOptions<R> | undefined
  ): Effect.Effect<MethodTable.ResultOf<Name>, RequestError, R> {
    return this.#related(
      name,
      options,
      (replyTo) => this.sender.request(requests[name], params, { ...options, replyTo })
    )
  }

  #tell<Name extends MethodTable.NotificationName<"server">>(
    name: Name,
    params: MethodTable.NotificationParamsOf<Name>,
    options?: Related
  ): Effect.Effect<void, RequestError> {
    return this.#related(name, options, (replyTo) => this.sender.notify(notifications[name], params, replyTo))
  }

  #build(method: string, params: object, options: BuildOptions = {}): JsonRpc.Request {
    const { relatedTaskId, task } = options
    const number = this.core.exchanges.nextId()
    const id = relatedTaskId === undefined ? number : `task-${relatedTaskId}-${number}`
    const meta = "_meta" in params ? params._meta : undefined
    const related = relatedTaskId === undefined ? undefined : { [Task.relatedTaskKey]: { taskId: relatedTaskId } }
    return JsonRpc.request(id, method, {
      ...params,
      ...(task === undefined ? undefined : { task }),
      ...(related === undefined
        ? undefined
        : { _meta: { ...(typeof meta === "object" ? meta : undefined), ...related } })
    })
  }

  // ===================================================================================================================
  // What `ServerSession.Shape` describes
  // ===================================================================================================================

  get state(): Effect.Effect<State> {
    return Effect.sync(() => this.core.state())
  }

  get inFlight(): Effect.Effect<Session.InFlight> {
    return SessionRuntime.inFlight(this.core)
  }

  get events(): Session.Session<State>["events"] {
    return this.core.observers.events
  }

  get messages(): Stream.Stream<JsonRpc.Message> {
    return SessionRuntime.messages(this.core)
  }

  get close(): Effect.Effect<CloseReason.CloseReason> {
    return this.core.close
  }

  get closed(): Effect.Effect<CloseReason.CloseReason> {
    return this.core.closed
  }

  get profile(): Effect.Effect<Profile.ClientProfile, SessionClosed> {
    return Deferred.await(this.#introduced)
  }

  get requestedRevision(): Effect.Effect<string | undefined, SessionClosed> {
    return Effect.map(this.profile, () => this.#opening?.requestedRevision)
  }

  get initializeMeta(): Effect.Effect<Meta.RequestMeta | undefined, SessionClosed> {
    return Effect.map(this.profile, () => this.#opening?.meta)
  }

  get hasCapability(): (required: Capabilities.ClientCapabilities) => Effect.Effect<boolean> {
    return (required) =>
      Effect.sync(() =>
        // Without a session no client introduces itself, and each request may come from another one.
        this.#server.options.sessionless === undefined && this.client !== undefined &&
        Capabilities.covers(this.client.capabilities, required)
      )
  }

  get request(): <Name extends MethodTable.RequestName<"server">, R = never>(
    name: Name,
    params: MethodTable.ParamsOf<Name>,
    options?: AskOptions<R>
  ) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError, R> {
    return (name, params, options) => this.#ask(name, params, options)
  }

  get extension(): <Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, "server" | "either", Params, Result>,
    params: Params,
    options?: AskOptions<R>
  ) => Effect.Effect<Result, RequestError, R> {
    return (row, params, options) =>
      this.#related(row.name, options, (replyTo) => this.sender.request(row, params, { ...options, replyTo }))
  }

  get ping(): <R = never>(options?: AskOptions<R>) => Effect.Effect<void, RequestError, R> {
    return (options) => Effect.asVoid(this.#ask("ping", {}, options))
  }

  get createMessage(): CreateMessage {
    const ask = <R>(params: Sampling.CreateMessageParams, options?: AskOptions<R>) =>
      this.#ask("sampling/createMessage", params, options)
    // What is answered without tools has been checked for having none (`Rules.problemOf`).
    return trust(ask)
  }

  get listRoots(): <R = never>(options?: AskOptions<R>) => Effect.Effect<Roots.ListRootsResult, RequestError, R> {
    return (options) => this.#ask("roots/list", {}, options)
  }

  get elicitForm(): <R = never>(
    message: string,
    form: ElicitationSchema.ElicitationSchema,
    options?: AskOptions<R>
  ) => Effect.Effect<Elicitation.ElicitResult, RequestError, R> {
    return (message, form, options) => this.#ask("elicitation/create", { message, requestedSchema: form }, options)
  }

  get elicit(): ServedSession["elicitForm"] {
    return this.elicitForm
  }

  get elicitUrl(): <R = never>(
    message: string,
    page: { readonly url: string; readonly elicitationId: string },
    options?: AskOptions<R>
  ) => Effect.Effect<Elicitation.ElicitResult, RequestError, R> {
    return (message, page, options) => this.#ask("elicitation/create", { mode: "url", message, ...page }, options)
  }

  get elicitationComplete(): (elicitationId: string, options?: Related) => Effect.Effect<void, RequestError> {
    return (elicitationId, options) =>
      Effect.suspend(() => {
        // The user may take longer than the request that sent them to the page; then it takes the standalone stream.
        const id = options?.relatedRequestId
        const replyTo = id === undefined ? undefined : this.core.inflight.find(id)?.origin
        return this.sender.notify(notifications["notifications/elicitation/complete"], { elicitationId }, replyTo)
      })
  }

  get log(): (
    message: Omit<Logging.LogMessageParams, "_meta">,
    options?: Related
  ) => Effect.Effect<void, RequestError> {
    return (message, options) =>
      this.#related("notifications/message", options, (replyTo) => this.logVia(message, replyTo))
  }

  get progress(): (
    token: Meta.ProgressToken,
    step: Progress.Progress,
    options?: Related
  ) => Effect.Effect<void, RequestError> {
    return (token, step, options) =>
      this.#related("notifications/progress", options, (replyTo) => this.sender.progress(token, step, replyTo))
  }

  get resourceUpdated(): (uri: string) => Effect.Effect<void, RequestError> {
    return (uri) => this.#tell("notifications/resources/updated", { uri })
  }

  get resourceListChanged(): Effect.Effect<void, RequestError> {
    return this.#tell("notifications/resources/list_changed", {})
  }

  get toolListChanged(): Effect.Effect<void, RequestError> {
    return this.#tell("notifications/tools/list_changed", {})
  }

  get promptListChanged(): Effect.Effect<void, RequestError> {
    return this.#tell("notifications/prompts/list_changed", {})
  }

  get notifications(): <Name extends Handlers.NotificationName<"client">>(
    name: Name
  ) => Stream.Stream<MethodTable.NotificationParamsOf<Name>> {
    return (name) => this.core.subscriptions.follow(name)
  }

  get send(): (message: JsonRpc.Message, options?: Related) => Effect.Effect<void, RequestError> {
    return (message, options) => this.#related("send", options, (replyTo) => this.sender.send(message, replyTo))
  }

  get buildCreateMessage(): (params: Sampling.CreateMessageParams, options?: BuildOptions) => JsonRpc.Request {
    return (params, options) => this.#build("sampling/createMessage", params, options)
  }

  get buildElicitForm(): (
    message: string,
    form: ElicitationSchema.ElicitationSchema,
    options?: BuildOptions
  ) => JsonRpc.Request {
    return (message, form, options) => this.#build("elicitation/create", { message, requestedSchema: form }, options)
  }

  get buildElicitUrl(): (
    message: string,
    page: { readonly url: string; readonly elicitationId: string },
    options?: BuildOptions
  ) => JsonRpc.Request {
    return (message, page, options) => this.#build("elicitation/create", { mode: "url", message, ...page }, options)
  }
}
