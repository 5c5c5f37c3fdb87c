/**
 * The client's side of one conversation.
 *
 * @since 0.1.0
 */
import {
  type Capabilities,
  CloseReason,
  Handshake,
  type Initialize,
  JsonRpc,
  McpError,
  Methods,
  type Profile,
  Revision,
  type Tool
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Dispatch from "./Dispatch.ts"
import type * as Handlers from "./Handlers.ts"
import * as HandshakeError from "./HandshakeError.ts"
import * as Core from "./internal/Core.ts"
import * as Reader from "./internal/Reader.ts"
import * as Sender from "./internal/Sender.ts"
import * as ServedContext from "./internal/ServedContext.ts"
import { validate } from "./internal/validation.ts"
import * as Limits from "./Limits.ts"
import type { RequestError } from "./RequestError.ts"
import type { RequestOptions } from "./RequestOptions.ts"
import * as Session from "./Session.ts"
import type { Transport } from "./Transport.ts"

/**
 * What may be said about a client's session.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<H = Handlers.Handlers<"server">> extends Session.Options {
  /** What the client declares that it can do. Default: nothing. */
  readonly capabilities?: Capabilities.ClientCapabilities
  /** What the client does with what the server sends on its own account, for example its log messages. */
  readonly handlers?: H
}

/**
 * A session that is operating: the handshake is behind it. There is no value of this type before.
 *
 * @category models
 * @since 0.1.0
 */
export interface Shape extends Session.Session<Handshake.ClientState> {
  /** What is known of the server. */
  readonly profile: Profile.ServerProfile
  /**
   * Sends any request a client may send, and waits for its result. Interrupting it cancels it at the server (CAN-04).
   */
  readonly request: <Name extends Exclude<Methods.RequestName<"client">, "initialize">, R = never>(
    name: Name,
    params: Methods.ParamsOf<Name>,
    options?: RequestOptions<R>
  ) => Effect.Effect<Methods.ResultOf<Name>, RequestError, R>
  /** Asks whether the server is there (PING-01). */
  readonly ping: <R = never>(options?: RequestOptions<R>) => Effect.Effect<void, RequestError, R>
  /** Lists one page of the server's tools. */
  readonly listTools: <R = never>(
    params?: Tool.ListToolsParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Tool.ListToolsResult, RequestError, R>
  /**
   * Calls a tool. A failure of the tool itself is a result with `isError`; a failure of the call is a `RequestError`.
   */
  readonly callTool: <R = never>(
    name: string,
    input?: { readonly [name: string]: unknown },
    options?: RequestOptions<R>
  ) => Effect.Effect<Tool.CallToolResult, RequestError, R>
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
 * @since 0.1.0
 */
export const Service = <Self>() => <const Id extends string>(id: Id): Context.ServiceClass<Self, Id, Shape> =>
  Context.Service<Self, Shape>()(id)

/**
 * The session with the server, for programs that talk to one.
 *
 * @category services
 * @since 0.1.0
 */
export class ClientSession extends Context.Service<ClientSession, Shape>()("@effect-mcp/session/ClientSession") {}

/** Reads the server's answer; what it says decides whether there will be a session. */
const judge = (
  response: JsonRpc.Response,
  revisions: ReadonlyArray<Revision.Revision>
): Result.Result<Profile.ServerProfile, HandshakeError.HandshakeErrorReason> => {
  if (JsonRpc.isFailure(response)) {
    return Result.fail({ _tag: "Refused", error: McpError.received(response.error) })
  }
  const answer = validate(Methods.requests.initialize.result)(response.result)
  if (Result.isFailure(answer)) return Result.fail({ _tag: "InvalidResult", problem: answer.failure })
  const { capabilities, instructions, protocolVersion, serverInfo } = answer.success
  const revision = revisions.find((revision) => revision === protocolVersion)
  return revision === undefined
    ? Result.fail({ _tag: "UnsupportedRevision", answered: protocolVersion, supported: revisions })
    : Result.succeed({ revision, capabilities, info: serverInfo, instructions })
}

const closedWhile = (error: RequestError): HandshakeError.HandshakeErrorReason => {
  switch (error.reason._tag) {
    case "Timeout":
      return { _tag: "Timeout", afterMillis: error.reason.afterMillis }
    case "Closed":
      return { _tag: "Closed", reason: error.reason.reason }
    case "SendFailed":
      return { _tag: "Closed", reason: Core.reasonOf(error.reason.error) }
    default:
      return { _tag: "Closed", reason: { _tag: "TransportFailed", cause: error } }
  }
}

/**
 * Connects and shakes hands: sends `initialize`, checks the answer, and says `notifications/initialized` (INIT-01 to
 * INIT-08). Fails with a `HandshakeError`, after having closed the connection, if the two sides do not come to terms.
 * Leaving the scope closes the session.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(
  function*<const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">>(
    options: Options<H> & { readonly handlers?: Handlers.Only<H, "server"> }
  ): Effect.fn.Return<Shape, HandshakeError.HandshakeError, Transport | Scope.Scope | Handlers.ServicesOf<H>> {
    const limits = Limits.make(options.limits)
    const revisions = options.revisions ?? Revision.supported
    const offer = Session.newest(revisions) ?? Revision.latest
    const capabilities = options.capabilities ?? {}
    let profile: Profile.ServerProfile | undefined

    const core = yield* Core.make<Handshake.ClientState>({
      role: "client",
      transition: Handshake.client.transition,
      initial: { _tag: "Idle" },
      firstId: 0,
      onEnd: () => {}
    }, { limits, observe: options.observe }).pipe(
      Effect.mapError((error) => HandshakeError.make({ _tag: "ConnectFailed", error }))
    )
    const sender = Sender.make(core, { profile: () => profile, declared: capabilities })
    const dispatch = Dispatch.make("server", options.handlers ?? {})
    core.read(Reader.make(core, {
      sender,
      dispatch,
      profile: () => profile,
      contextOf: ServedContext.make(sender, core.emit),
      intercept: () => false
    }))

    // The answer is judged as it is read, so that what the server sends right behind it finds a session.
    let verdict: Result.Result<Profile.ServerProfile, HandshakeError.HandshakeErrorReason> | undefined
    const onAnswer = (response: JsonRpc.Response) => {
      verdict = judge(response, revisions)
      if (Result.isFailure(verdict)) return
      profile = verdict.success
      const outcome = core.happen({ _tag: "ReceiveInitializeResult", profile })
      if (outcome._tag !== "Moved" || outcome.does !== "Establish") return
      core.connection.established?.(profile)
      core.fork(Effect.ignore(sender.notify(Methods.notifications["notifications/initialized"], {})))
    }

    const params: Initialize.InitializeParams = { protocolVersion: offer, capabilities, clientInfo: options.info }
    const answered = yield* Effect.result(
      sender.request(Methods.requests.initialize, params, {
        deadline: limits.handshake,
        onAnswer,
        event: { _tag: "SendInitialize", offer }
      })
    ).pipe(Effect.onInterrupt(() => {
      core.end({ _tag: "Close", reason: CloseReason.requested }, "None")
      return core.closed
    }))
    if (verdict !== undefined && Result.isSuccess(verdict)) return shape(core, sender, verdict.success)

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
      "None"
    )
    yield* core.closed
    return yield* HandshakeError.make(reason)
  }
)

const shape = (
  core: Core.Core<Handshake.ClientState>,
  sender: Sender.Sender,
  profile: Profile.ServerProfile
): Shape => {
  const { requests } = Methods
  return {
    profile,
    ...Core.session(core),
    request: (name, params, options) => sender.request(requests[name], params, options),
    ping: (options) => Effect.asVoid(sender.request(requests.ping, {}, options)),
    listTools: (params, options) => sender.request(requests["tools/list"], params ?? {}, options),
    callTool: (name, input, options) =>
      sender.request(requests["tools/call"], input === undefined ? { name } : { name, arguments: input }, options)
  }
}

/**
 * The session as a Layer, under the key of one particular server. Every build makes a session of its own, also where one
 * layer value is provided twice.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerOf = <Self, const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">>(
  key: Context.Key<Self, Shape>,
  options: Options<H> & { readonly handlers?: Handlers.Only<H, "server"> }
): Layer.Layer<Self, HandshakeError.HandshakeError, Transport | Exclude<Handlers.ServicesOf<H>, Scope.Scope>> =>
  Layer.fresh(Layer.effect(key, make(options)))

/**
 * The session as a Layer. Swap the transport's Layer below it, and nothing else changes.
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
 * @since 0.1.0
 */
export const layer = <const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">>(
  options: Options<H> & { readonly handlers?: Handlers.Only<H, "server"> }
): Layer.Layer<
  ClientSession,
  HandshakeError.HandshakeError,
  Transport | Exclude<Handlers.ServicesOf<H>, Scope.Scope>
> => layerOf(ClientSession, options)
