/**
 * The client's side of one conversation.
 */
import {
  type Capabilities,
  CloseReason,
  type Completion,
  Handshake,
  type Initialize,
  JsonRpc,
  type Logging,
  McpError,
  type Meta,
  type MethodDefinition,
  MethodTable,
  type Pagination,
  type Profile,
  type Progress,
  type Prompt,
  type Resource,
  Revision,
  RevisionProjection,
  type Tool
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { CallbackContext } from "./CallbackContext.ts"
import type { Extension } from "./Extension.ts"
import * as Handlers from "./Handlers.ts"
import * as HandshakeError from "./HandshakeError.ts"
import * as OutputSchemas from "./internal/client/OutputSchemas.ts"
import * as Paging from "./internal/client/Paging.ts"
import * as Dispatch from "./internal/engine/Dispatch.ts"
import * as HandlerContext from "./internal/engine/HandlerContext.ts"
import * as InboundProcessor from "./internal/engine/InboundProcessor.ts"
import * as Sender from "./internal/engine/Sender.ts"
import * as SessionRuntime from "./internal/engine/SessionRuntime.ts"
import { validate } from "./internal/engine/validation.ts"
import * as KeptProfile from "./internal/server/KeptProfile.ts"
import { trust } from "./internal/trust.ts"
import type * as JsonSchemaValidator from "./JsonSchemaValidator.ts"
import * as Limits from "./Limits.ts"
import type { Middleware } from "./Middleware.ts"
import type { RequestError } from "./RequestError.ts"
import type { RequestOptions } from "./RequestOptions.ts"
import type * as Session from "./Session.ts"
import type { Transport } from "./Transport.ts"

/**
 * What may be said about a client's session.
 *
 * @category models
 */
export interface Options<H = Handlers.Handlers<"server">, R = never> extends Session.Options {
  /**
   * What the client declares beyond what its handlers show, for example `roots: { listChanged: true }` or
   * `elicitation: { form: {}, url: {} }`.
   */
  readonly capabilities?: Capabilities.ClientCapabilities
  /**
   * What the client does with what the server sends: its requests (`sampling/createMessage`, `elicitation/create`,
   * `roots/list`), which are declared as capabilities, and its notifications. Handlers of requests run with a
   * `CallbackContext`.
   */
  readonly handlers?: H
  /** Methods of the server's own that the client handles. */
  readonly extensions?: ReadonlyArray<Extension<"server" | "either", R | CallbackContext | Scope.Scope>>
  /** What requests pass on their way to their handlers, and out to the server. */
  readonly middleware?: Middleware<R | CallbackContext | Scope.Scope, R>
  /**
   * Checks what tools return against their output schemas (TOOL-08), where the negotiated revision has them. The schemas are
   * those of the tools that the program itself lists, until the server says that its tools have changed. No tools are listed
   * behind the program's back: the result of a tool that it has not listed is passed on unchecked, as is one whose schema was
   * replaced or forgotten while the call was in flight. Default: nothing is checked.
   */
  readonly validator?: JsonSchemaValidator.JsonSchemaValidatorShape
}

/**
 * A session that is operating: the handshake is behind it. There is no value of this type before.
 *
 * @category models
 */
export interface ClientSessionShape extends Session.Session<Handshake.ClientState> {
  /** What is known of the server. */
  readonly profile: Profile.ServerProfile
  /**
   * Sends any request a client may send, and waits for its result. Interrupting it cancels it at the server (CAN-04).
   */
  readonly request: <Name extends Exclude<MethodTable.RequestName<"client">, "initialize">, R = never>(
    name: Name,
    params: MethodTable.ParamsOf<Name>,
    options?: RequestOptions<R>
  ) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError, R>
  /** Sends a request of a method that is not in the table, by a row of your own. */
  readonly extension: <Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, "client" | "either", Params, Result>,
    params: Params,
    options?: RequestOptions<R>
  ) => Effect.Effect<Result, RequestError, R>
  /** Asks whether the server is there (PING-01). */
  readonly ping: <R = never>(options?: RequestOptions<R>) => Effect.Effect<void, RequestError, R>
  /** Lists one page of the server's tools. */
  readonly listTools: <R = never>(
    params?: Pagination.ListParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Tool.ListToolsResult, RequestError, R>
  /** All of the server's tools, page by page as they are wanted. A cursor that comes twice fails as `InvalidResult`. */
  readonly tools: Stream.Stream<Tool.Tool, RequestError>
  /**
   * Calls a tool. A failure of the tool itself is a result with `isError`; a failure of the call is a `RequestError`. With a
   * `validator`, structured content that does not fit the tool's output schema is an `InvalidResult`, as is none at all.
   */
  readonly callTool: <R = never>(
    name: string,
    input?: { readonly [name: string]: unknown },
    options?: RequestOptions<R>
  ) => Effect.Effect<Tool.CallToolResult, RequestError, R>
  /** Lists one page of the server's resources. */
  readonly listResources: <R = never>(
    params?: Pagination.ListParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Resource.ListResourcesResult, RequestError, R>
  /** All of the server's resources. */
  readonly resources: Stream.Stream<Resource.Resource, RequestError>
  /** Lists one page of the server's resource templates. */
  readonly listResourceTemplates: <R = never>(
    params?: Pagination.ListParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Resource.ListResourceTemplatesResult, RequestError, R>
  /** All of the server's resource templates. */
  readonly resourceTemplates: Stream.Stream<Resource.ResourceTemplate, RequestError>
  /** Reads a resource. */
  readonly readResource: <R = never>(
    uri: string,
    options?: RequestOptions<R>
  ) => Effect.Effect<Resource.ReadResourceResult, RequestError, R>
  /** Asks to be told when a resource changes; what comes is in `notifications("notifications/resources/updated")`. */
  readonly subscribeResource: <R = never>(
    uri: string,
    options?: RequestOptions<R>
  ) => Effect.Effect<void, RequestError, R>
  /** Takes that back. */
  readonly unsubscribeResource: <R = never>(
    uri: string,
    options?: RequestOptions<R>
  ) => Effect.Effect<void, RequestError, R>
  /** Lists one page of the server's prompts. */
  readonly listPrompts: <R = never>(
    params?: Pagination.ListParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Prompt.ListPromptsResult, RequestError, R>
  /** All of the server's prompts. */
  readonly prompts: Stream.Stream<Prompt.Prompt, RequestError>
  /** Gets a prompt, filled in. */
  readonly getPrompt: <R = never>(
    name: string,
    input?: { readonly [name: string]: string },
    options?: RequestOptions<R>
  ) => Effect.Effect<Prompt.GetPromptResult, RequestError, R>
  /** Asks what may come next in an argument of a prompt or a resource template. */
  readonly complete: <R = never>(
    params: Completion.CompleteParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Completion.CompleteResult, RequestError, R>
  /** Says which log messages are wanted: this level and what is more severe. */
  readonly setLogLevel: <R = never>(
    level: Logging.Level,
    options?: RequestOptions<R>
  ) => Effect.Effect<void, RequestError, R>
  /**
   * Reports a step of progress of the server's request that brought this token (PRG-04). Inside a handler, `CallbackContext`
   * does it, and sees to it that the value grows and nothing comes behind the reply.
   */
  readonly progress: (token: Meta.ProgressToken, step: Progress.Progress) => Effect.Effect<void, RequestError>
  /** Says that the roots have changed. Needs the capability `roots.listChanged` to be declared (ROOT-02). */
  readonly rootsListChanged: Effect.Effect<void, RequestError>
  /**
   * The server's notifications of one kind, from when the stream is run and until the session ends; a follower that lags by
   * more than `Limits` lets it loses the oldest. What a handler is given is in the stream, too. A stream that is forked misses what comes
   * before its fiber has begun: fork it with `startImmediately`.
   */
  readonly notifications: <Name extends Handlers.NotificationName<"server">>(
    name: Name
  ) => Stream.Stream<MethodTable.NotificationParamsOf<Name>>
  /** Sends a message as it is: no gate, no matching. Its response, if it is a request, will be reported as unmatched. */
  readonly send: (message: JsonRpc.Message) => Effect.Effect<void, RequestError>
}

/**
 * A key for sessions with one particular server, for programs that talk to several.
 *
 * @example
 * ```ts
 * import { ClientSession, type Transport } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * class Files extends ClientSession.Service<Files>()("app/Files") {}
 * class Search extends ClientSession.Service<Search>()("app/Search") {}
 *
 * const info = { name: "app", version: "1.0.0" }
 * export const both = (files: Layer.Layer<Transport.Transport>, search: Layer.Layer<Transport.Transport>) =>
 *   Layer.merge(
 *     Layer.provide(ClientSession.layerOf(Files, { info }), files),
 *     Layer.provide(ClientSession.layerOf(Search, { info }), search)
 *   )
 *
 * export const program = Effect.gen(function*() {
 *   const files = yield* Files
 *   const search = yield* Search
 *   return [yield* files.listTools(), yield* search.listTools()]
 * })
 * ```
 *
 * @category constructors
 */
export const Service =
  <Self>() => <const Id extends string>(id: Id): Context.ServiceClass<Self, Id, ClientSessionShape> =>
    Context.Service<Self, ClientSessionShape>()(id)

/**
 * The session with the server, for programs that talk to one.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 *
 * // Whatever the server and the transport are.
 * export const toolNames = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   return yield* Stream.runCollect(Stream.map(session.tools, ({ name }) => name))
 * })
 * ```
 *
 * @category services
 */
export class ClientSession
  extends Context.Service<ClientSession, ClientSessionShape>()("@effect-mcp/session/ClientSession")
{}

/** A server also says how to use it, and a client has few of them. */
const defaultProfileBytes = 256 * 1024

/** Reads the server's answer; what it says decides whether there will be a session. */
const judge = (
  response: JsonRpc.Response,
  revisions: ReadonlyArray<Revision.Revision>,
  projection: RevisionProjection.Projection | undefined,
  limitBytes: number
): Result.Result<KeptProfile.Kept<Profile.ServerProfile>, HandshakeError.HandshakeErrorReason> => {
  if (JsonRpc.isFailure(response)) {
    return Result.fail({ _tag: "Refused", error: McpError.received(response.error) })
  }
  const answer = validate(MethodTable.requests.initialize.result)(response.result)
  if (Result.isFailure(answer)) return Result.fail({ _tag: "InvalidResult", problem: answer.failure })
  const { instructions, protocolVersion, serverInfo } = answer.success
  const revision = revisions.find((revision) => revision === protocolVersion)
  if (revision === undefined) {
    return Result.fail({ _tag: "UnsupportedRevision", answered: protocolVersion, supported: revisions })
  }
  // A capability without a meaning in the revision was not declared, even if the answer has it.
  const { capabilities } = RevisionProjection.downgrade("initialize", "result", revision, answer.success, projection)
  return Result.mapError(
    KeptProfile.within({ revision, capabilities, info: serverInfo, instructions }, limitBytes),
    (problem) => ({ _tag: "InvalidResult", problem })
  )
}

const closedWhile = (error: RequestError): HandshakeError.HandshakeErrorReason => {
  switch (error.reason._tag) {
    case "Timeout":
      return { _tag: "Timeout", afterMillis: error.reason.afterMillis }
    case "Closed":
      return { _tag: "Closed", reason: error.reason.reason }
    case "SendFailed":
      return { _tag: "Closed", reason: SessionRuntime.reasonOf(error.reason.error) }
    case "MalformedResponse":
      return { _tag: "InvalidResult", problem: error.reason.problem }
    default:
      return { _tag: "Closed", reason: { _tag: "TransportFailed", cause: error } }
  }
}

/**
 * Connects and shakes hands: sends `initialize`, checks the answer, and says `notifications/initialized` (INIT-01 to
 * INIT-08). Fails with a `HandshakeError`, after having closed the connection, if the two sides do not come to terms.
 * Leaving the scope closes the session.
 *
 * @example
 * ```ts
 * import { ClientSession, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * export const agreed = Effect.gen(function*() {
 *   const session = yield* ClientSession.make({ info, revisions: ["2025-06-18"] })
 *   return session.profile.revision
 * }).pipe(Effect.scoped, Effect.provide(ServerSession.layerInProcess({}, { info }))) // => "2025-06-18"
 * ```
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(
  function*<const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">, R = never>(
    options: Options<H, R> & { readonly handlers?: Handlers.Only<H, "server"> }
  ): Effect.fn.Return<
    ClientSessionShape,
    HandshakeError.HandshakeError,
    Transport | Scope.Scope | Handlers.ServicesOf<H, "server"> | R
  > {
    const limits = Limits.make({ maxProfileBytes: defaultProfileBytes, ...options.limits })
    const revisions = options.revisions ?? Revision.supported
    const offer = Revision.newest(revisions)
    const handlers: Handlers.Handlers<"server", unknown> = options.handlers ?? {}
    const capabilities = Handlers.clientCapabilities(handlers, options.capabilities)
    let profile: Profile.ServerProfile | undefined

    const surroundings = yield* SessionRuntime.surroundings
    let dropKept = () => {}
    const core = yield* SessionRuntime.make<Handshake.ClientState>({
      role: "client",
      transition: Handshake.client.transition,
      initial: { _tag: "Idle" },
      firstId: 0,
      onEnd: () => dropKept()
    }, { ...surroundings, limits, observe: options.observe }).pipe(
      Effect.mapError((error) => HandshakeError.make({ _tag: "ConnectFailed", error }))
    )
    const outputSchemas = options.validator === undefined
      ? undefined
      : OutputSchemas.make({
        validator: options.validator,
        capacity: limits.maxOutputSchemas,
        emit: (event) => core.emit(event),
        revision: () => profile?.revision
      })
    const sender = new Sender.Sender(core, {
      peer: () => profile,
      declared: capabilities,
      projection: options.projection,
      middleware: options.middleware?.outbound,
      checking: outputSchemas?.checking
    })
    /** What this client says of itself, in the words of a revision. */
    const introduction = (revision: Revision.Revision): Initialize.InitializeParams =>
      RevisionProjection.downgrade("initialize", "params", revision, {
        protocolVersion: revision,
        capabilities,
        clientInfo: options.info
      }, options.projection)
    const declared = () => introduction(profile?.revision ?? offer).capabilities
    const dispatch = Dispatch.make(
      "server",
      handlers,
      {
        middleware: options.middleware?.inbound,
        extensions: options.extensions,
        declared,
        projection: options.projection
      }
    )
    const contexts: HandlerContext.HandlerContextDependencies = { core, sender }
    const reader = new InboundProcessor.InboundProcessor(core, {
      sender,
      dispatch,
      peer: () => profile,
      contextOf: (served, request, profile) =>
        // The services of the handlers were captured with the session's context when it was made.
        trust(Context.add(
          core.context,
          CallbackContext,
          new HandlerContext.HandlerContext(contexts, served, request, profile)
        )),
      intercept: (message) => {
        outputSchemas?.hear(message)
        return false
      }
    })
    dropKept = () => reader.dropKept()
    core.read(reader)

    // The answer is judged as it is read, so that what the server sends right behind it finds a session.
    let verdict: Result.Result<Profile.ServerProfile, HandshakeError.HandshakeErrorReason> | undefined
    const onAnswer = (response: JsonRpc.Response) => {
      const judged = judge(response, revisions, options.projection, limits.maxProfileBytes)
      verdict = Result.map(judged, (kept) => kept.profile)
      if (Result.isFailure(judged)) return
      profile = judged.success.profile
      if (judged.success.isTrimmed) core.emit({ _tag: "ProfileTrimmed", limitBytes: limits.maxProfileBytes })
      const outcome = core.apply({ _tag: "ReceiveInitializeResult", profile })
      if (outcome._tag !== "Moved" || outcome.action !== "Establish") return
      core.connection.onHandshake?.(profile)
      core.fork(Effect.ignore(sender.notify(MethodTable.notifications["notifications/initialized"], {})))
      reader.deliverKept()
    }

    const answered = yield* Effect.result(
      sender.request(MethodTable.requests.initialize, introduction(offer), {
        timeout: limits.handshakeTimeout,
        onAnswer,
        event: { _tag: "SendInitialize", offer }
      })
    ).pipe(Effect.onInterrupt(() => {
      core.end({ _tag: "Close", reason: CloseReason.requested }, "Immediate")
      return core.closed
    }))
    if (verdict !== undefined && Result.isSuccess(verdict)) {
      return shape(core, sender, verdict.success)
    }

    const reason = verdict !== undefined
      ? verdict.failure
      : Result.isFailure(answered)
      ? closedWhile(answered.failure)
      : { _tag: "InvalidResult" as const, problem: "no answer" }
    core.end(
      reason._tag === "Timeout"
        ? { _tag: "Timeout", reason: { _tag: "HandshakeTimeout", afterMillis: reason.afterMillis } }
        : {
          _tag: "ReceiveInitializeFailure",
          reason: { _tag: "HandshakeFailed", problem: HandshakeError.describe(reason) }
        },
      "Immediate"
    )
    yield* core.closed
    return yield* HandshakeError.make(reason)
  }
)

const shape = (
  core: SessionRuntime.SessionRuntime<Handshake.ClientState>,
  sender: Sender.Sender,
  profile: Profile.ServerProfile
): ClientSessionShape => {
  const { notifications, requests } = MethodTable
  const listTools: ClientSessionShape["listTools"] = (params, options) =>
    sender.request(requests["tools/list"], params ?? {}, options)
  const listResources: ClientSessionShape["listResources"] = (params, options) =>
    sender.request(requests["resources/list"], params ?? {}, options)
  const listResourceTemplates: ClientSessionShape["listResourceTemplates"] = (params, options) =>
    sender.request(requests["resources/templates/list"], params ?? {}, options)
  const listPrompts: ClientSessionShape["listPrompts"] = (params, options) =>
    sender.request(requests["prompts/list"], params ?? {}, options)
  const at = (cursor: string | undefined) => cursor === undefined ? {} : { cursor }

  return {
    profile,
    ...SessionRuntime.session(core),
    request: (name, params, options) => sender.request(requests[name], params, options),
    extension: (row, params, options) => sender.request(row, params, options),
    ping: (options) => Effect.asVoid(sender.request(requests.ping, {}, options)),
    listTools,
    tools: Paging.stream(
      "tools/list",
      core.limits,
      (cursor) => Effect.map(listTools(at(cursor)), ({ nextCursor, tools }) => ({ items: tools, nextCursor }))
    ),
    callTool: (name, input, options) =>
      sender.request(requests["tools/call"], input === undefined ? { name } : { name, arguments: input }, options),
    listResources,
    resources: Paging.stream(
      "resources/list",
      core.limits,
      (cursor) =>
        Effect.map(listResources(at(cursor)), ({ nextCursor, resources }) => ({ items: resources, nextCursor }))
    ),
    listResourceTemplates,
    resourceTemplates: Paging.stream(
      "resources/templates/list",
      core.limits,
      (cursor) =>
        Effect.map(listResourceTemplates(at(cursor)), ({ nextCursor, resourceTemplates }) => ({
          items: resourceTemplates,
          nextCursor
        }))
    ),
    readResource: (uri, options) => sender.request(requests["resources/read"], { uri }, options),
    subscribeResource: (uri, options) =>
      Effect.asVoid(sender.request(requests["resources/subscribe"], { uri }, options)),
    unsubscribeResource: (uri, options) =>
      Effect.asVoid(sender.request(requests["resources/unsubscribe"], { uri }, options)),
    listPrompts,
    prompts: Paging.stream(
      "prompts/list",
      core.limits,
      (cursor) => Effect.map(listPrompts(at(cursor)), ({ nextCursor, prompts }) => ({ items: prompts, nextCursor }))
    ),
    getPrompt: (name, input, options) =>
      sender.request(requests["prompts/get"], input === undefined ? { name } : { name, arguments: input }, options),
    complete: (params, options) => sender.request(requests["completion/complete"], params, options),
    setLogLevel: (level, options) => Effect.asVoid(sender.request(requests["logging/setLevel"], { level }, options)),
    progress: (token, step) => sender.progress(token, step),
    rootsListChanged: sender.notify(notifications["notifications/roots/list_changed"], {}),
    notifications: (name) => core.subscriptions.follow(name),
    send: (message) => sender.send(message)
  }
}

/**
 * Handlers on their own, checked where they are written rather than where they are used.
 *
 * @example
 * ```ts
 * import { CallbackContext, ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const handlers = ClientSession.handlers({
 *   "elicitation/create": Effect.fnUntraced(function*({ message }) {
 *     const { profile } = yield* CallbackContext.CallbackContext
 *     yield* Effect.logInfo(`${profile.info.name} asks: ${message}`)
 *     return { action: "decline" }
 *   })
 * })
 *
 * export const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" }, handlers })
 * ```
 *
 * @category constructors
 */
export const handlers = <const H extends Handlers.Handlers<"server", unknown>>(
  handlers: H & Handlers.Only<H, "server">
): H => handlers

/**
 * The session as a Layer, under the key of one particular server. Every build of this Layer makes a session of its own, also
 * where one value of it stands on two transports.
 *
 * That holds of this Layer and not of what is composed with it: a constant such as `Layer.provide(layerOf(...), transport)` is
 * one Layer to Effect, which builds it once however often it is provided at the same time, and so it is one session. For two,
 * compose them in a function that is called twice, or put `Layer.fresh` around the composition.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { StdioClient } from "@effect-mcp/transport"
 * import * as Layer from "effect/Layer"
 *
 * class Files extends ClientSession.Service<Files>()("app/Files") {}
 *
 * // A function, so that each call makes a session of its own.
 * export const filesIn = (folder: string) =>
 *   Layer.provide(
 *     ClientSession.layerOf(Files, { info: { name: "app", version: "1.0.0" } }),
 *     StdioClient.layerNode({ command: "node", args: ["files.mjs", folder] })
 *   )
 * ```
 *
 * @category layers
 */
export const layerOf = <
  Self,
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never
>(
  key: Context.Key<Self, ClientSessionShape>,
  options: Options<H, R> & { readonly handlers?: Handlers.Only<H, "server"> }
): Layer.Layer<
  Self,
  HandshakeError.HandshakeError,
  Transport | Handlers.ServicesOf<H, "server"> | Exclude<R, Scope.Scope>
> => Layer.fresh(Layer.effect(key, make(options)))

/**
 * The session as a Layer. Swap the transport's Layer below it, and nothing else changes. As with {@link layerOf}, every build
 * makes a session of its own, while a constant composed of this Layer and its transport is one session wherever it is provided.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { StdioClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" } })
 *
 * export const program = Effect.gen(function*() {
 *   const calculator = yield* ClientSession.ClientSession
 *   return yield* calculator.callTool("add", { a: 15, b: 27 })
 * }).pipe(
 *   Effect.provide(Layer.provide(session, StdioClient.layerNode({ command: "node", args: ["calculator.ts"] })))
 * )
 * ```
 *
 * @category layers
 */
export const layer = <
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never
>(
  options: Options<H, R> & { readonly handlers?: Handlers.Only<H, "server"> }
): Layer.Layer<
  ClientSession,
  HandshakeError.HandshakeError,
  Transport | Handlers.ServicesOf<H, "server"> | Exclude<R, Scope.Scope>
> => layerOf(ClientSession, options)
