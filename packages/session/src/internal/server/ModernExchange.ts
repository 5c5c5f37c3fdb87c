/** The exchange of one request of a revision without a handshake: its gate in front of the engine. */

import {
  type Discover,
  type Handshake,
  InputRequired,
  JsonRpc,
  Logging,
  McpError,
  type MethodDefinition,
  MethodTable,
  type Profile,
  Revision,
  RevisionProjection,
  type Subscription,
  TaskExtension
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type { Limits } from "../../Limits.ts"
import { Listener } from "../../Listener.ts"
import { NotificationContext } from "../../NotificationContext.ts"
import type { Principal } from "../../Principal.ts"
import { RequestContext } from "../../RequestContext.ts"
import * as RequestError from "../../RequestError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin } from "../../Transport.ts"
import type { Dispatch } from "../engine/Dispatch.ts"
import type * as IncomingRequests from "../engine/IncomingRequests.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import {
  reject,
  type ReplySink,
  type RequestGate,
  type RequestRuntime,
  RequestServer
} from "../engine/RequestServer.ts"
import { trust } from "../trust.ts"
import * as ListenStream from "./ListenStream.ts"
import { ModernReplies } from "./ModernReplies.ts"
import * as ModernRequest from "./ModernRequest.ts"
import { ReplayedRun } from "./replay/ReplayedRun.ts"
import * as RequestState from "./replay/RequestState.ts"
import * as ServerDefinition from "./ServerDefinition.ts"
import * as ServerRequestContext from "./ServerRequestContext.ts"

/** The parts of a server that its exchanges share. */
export interface ModernServer extends
  Pick<
    ServerDefinition.ServerDefinition,
    "clients" | "description" | "dispatch" | "limits" | "modernCapabilities" | "tasks"
  >,
  ListenStream.Listeners
{
  /** The settings of the states of calls that ask their clients. */
  readonly requestState: RequestState.Settings
}

/** The session, or the frame, that carries the exchange. */
export interface ModernCarrier {
  /** The services of the handlers. */
  readonly context: Context.Context<never>
  readonly inflight: IncomingRequests.IncomingRequests
  readonly replies: ReplySink
  readonly timer: { readonly now: () => number }
  /** The `Mcp-Param-*` headers of the request, if it came by HTTP. */
  readonly parameterHeaders: { readonly [name: string]: string } | undefined
  /** Distinguishes clients without a principal: their session, or the identity that a frame without one has. */
  readonly source: object | string | undefined
  emit(event: SessionEvent): void
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** Called with the client of the request, when its metadata have been read. */
  readonly onClient?: (profile: Profile.ClientProfile) => void
  /** Sends a notification of the exchange, in the order of the calls. */
  send(message: JsonRpc.Notification): Effect.Effect<void, RequestError.RequestError>
}

/** Returns whether a message is a request of a revision without a handshake, because its metadata names a revision. */
export const isModern = (
  message: JsonRpc.Request | JsonRpc.Notification
): message is JsonRpc.Request => "id" in message && ModernRequest.isModern(message)

const nothingHeld = { release: () => {} }

/** One request. It is a gate of its own, because each request has a client of its own. */
export class ModernExchange implements RequestRuntime, RequestGate<Profile.ClientProfile, unknown> {
  readonly role = "server"
  /** A server without a handshake holds no requests. */
  readonly sender = nothingHeld
  readonly replies: ModernReplies
  readonly #server: ModernServer
  readonly #carrier: ModernCarrier
  readonly #message: JsonRpc.Request
  readonly #principal: Principal | undefined
  #profile: Profile.ClientProfile = unknownClient
  #logLevel: Logging.Level | undefined
  /** The run of its handler, if the handler may ask the client. */
  #run: ReplayedRun | undefined
  /** Whether the request becomes a task, and its reply has the id of that. */
  #isTask = false
  /** The stream of notifications that the request opens. */
  #listener: ListenStream.ListenStream<RequestError.RequestError> | undefined

  constructor(
    server: ModernServer,
    carrier: ModernCarrier,
    message: JsonRpc.Request,
    principal: Principal | undefined
  ) {
    this.#server = server
    this.#carrier = carrier
    this.#message = message
    this.#principal = principal
    this.replies = new ModernReplies(
      carrier.replies,
      server.description.info,
      message.method,
      () => this.#run?.isSuspended === true ? "input_required" : this.#isTask ? TaskExtension.resultType : "complete",
      (then) => this.#run === undefined ? then() : this.#run.whenEnded(then)
    )
  }

  /** Serves the request. */
  serve(origin: StreamOrigin | undefined, bytes: number | undefined): void {
    new RequestServer(this, this).admit(this.#message, origin, bytes, this.#principal)
  }

  // ===================================================================================================================
  // The runtime of the engine
  // ===================================================================================================================

  get inflight(): IncomingRequests.IncomingRequests {
    return this.#carrier.inflight
  }

  get limits(): Limits {
    return this.#server.limits
  }

  get timer(): ModernCarrier["timer"] {
    return this.#carrier.timer
  }

  state(): Handshake.SessionlessServerState {
    return ServerDefinition.sessionless
  }

  apply<Tag extends Handshake.EventTag>(
    event: Handshake.EventOf<Tag>
  ): Handshake.Outcome<Handshake.SessionlessServerState, Tag> {
    return ServerDefinition.sessionlessMachine.transition(ServerDefinition.sessionless, event)
  }

  emit(event: SessionEvent): void {
    this.#carrier.emit(event)
  }

  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return this.#carrier.fork(effect)
  }

  // ===================================================================================================================
  // The gate in front of the engine
  // ===================================================================================================================

  get dispatch(): Pick<Dispatch<unknown>, "prepare" | "notify"> {
    return {
      prepare: (message, profile) => this.#prepare(message, profile),
      notify: this.#server.dispatch.notify
    }
  }

  peer(): Profile.ClientProfile {
    return this.#profile
  }

  contextOf(
    request: IncomingRequests.IncomingRequest,
    message: JsonRpc.Request,
    profile: Profile.ClientProfile
  ): Context.Context<unknown> {
    if (this.#run !== undefined) this.#run.incoming = request
    const own = new ServerRequestContext.ServerRequestContext(this.#contextDependencies, request, message, profile)
    const context = Context.add(this.#carrier.context, RequestContext, own)
    // The services of the handlers were captured when the server was made.
    if (!this.#isListening) return trust<Context.Context<unknown>>(context)
    // The params were checked, and the context is made before the handler runs.
    const { notifications } = trust<Subscription.ListenParams>(message.params)
    const listener = this.#listener = new ListenStream.ListenStream(
      message.id,
      notifications,
      (notification) => this.#carrier.send(notification)
    )
    // As above.
    return trust<Context.Context<unknown>>(Context.add(context, Listener, listener))
  }

  notificationContextOf(profile: Profile.ClientProfile): Context.Context<unknown> {
    // The services of the handlers were captured when the server was made.
    return trust<Context.Context<unknown>>(
      Context.add(this.#carrier.context, NotificationContext, { session: undefined, profile })
    )
  }

  /** Reads the client of the request, and answers the requests that no handler serves. */
  intercept(message: JsonRpc.Request | JsonRpc.Notification, origin: StreamOrigin | undefined): boolean {
    if (!("id" in message)) return false
    const { method } = message
    const { clients, dispatch, description: { instructions, projection, supported }, modernCapabilities } = this.#server
    const client = clients.of(message)
    if (Result.isFailure(client)) {
      reject(this, message, client.failure, origin)
      return true
    }
    const { logLevel, profile } = client.success
    this.#profile = profile
    this.#logLevel = logLevel
    this.#carrier.onClient?.(profile)
    if (method === "ping") {
      reject(this, message, RequestRejections.methodNotFound(method), origin)
      return true
    }
    if (method !== "server/discover") return false
    if (this.inflight.isTaken(message.id)) {
      reject(this, message, RequestRejections.duplicate, origin)
      return true
    }
    const result: Discover.DiscoverResult = {
      supportedVersions: supported,
      capabilities: ModernRequest.discovered(modernCapabilities, dispatch.handles(ListenStream.method)),
      ...(instructions === undefined ? undefined : { instructions })
    }
    this.replies.reply(
      JsonRpc.success(message.id, RevisionProjection.project(method, "result", profile.revision, result, projection)),
      origin
    )
    return true
  }

  /** Prepares a request. The handlers of some methods may ask the client, and are run again with its answers. */
  #prepare(message: JsonRpc.Request, profile: Profile.Profile): ReturnType<Dispatch<unknown>["prepare"]> {
    const { description, dispatch, limits, requestState, tasks } = this.#server
    const { method, params } = message
    if (this.#isListening) return Result.map(dispatch.prepare(message, profile), (handling) => this.#listen(handling))
    if (!InputRequired.methods.has(method)) return dispatch.prepare(message, profile)
    const begins = tasks?.beginningOf(message, profile)
    const becameTask = () => {
      this.#isTask = true
    }
    if (begins === "atOnce") {
      // Its questions have keys of the task, and need no run that is replayed.
      return Result.map(
        dispatch.prepare(message, profile),
        (starting) => Effect.tap(starting, () => Effect.sync(becameTask))
      )
    }
    const run = this.#run = new ReplayedRun(
      { settings: requestState, maxRounds: limits.maxRounds, projection: description.projection },
      { principal: this.#principal, method, params },
      this.#profile
    )
    const received = params !== undefined && RequestState.isRetry(params)
      ? { ...message, params: RequestState.paramsOf(params) }
      : message
    return Result.map(dispatch.prepare(received, profile), (handling) =>
      run.serve(
        tasks === undefined || begins === undefined
          ? handling
          : tasks.becoming(received, run, begins, handling, becameTask)
      ))
  }

  /** Whether the request opens a stream of notifications. */
  get #isListening(): boolean {
    return this.#message.method === ListenStream.method
  }

  /** Serves a stream of notifications, which ends with the server. */
  #listen<R>(handling: Effect.Effect<unknown, McpError.McpError, R>): Effect.Effect<unknown, McpError.McpError, R> {
    return Effect.suspend(() => {
      const listener = this.#listener
      const { listeners } = this.#server
      if (listener === undefined) return Effect.die("a stream without a listener")
      if (listeners === undefined) listener.end()
      listeners?.add(listener)
      const served = Effect.catchTag(listener.serve(handling), "RequestError", () => Effect.fail(streamLost))
      return Effect.onExit(served, () => Effect.sync(() => this.#server.listeners?.delete(listener)))
    })
  }

  // ===================================================================================================================
  // The messages of handlers
  // ===================================================================================================================

  get #contextDependencies(): ServerRequestContext.ServerContextDependencies {
    const run = this.#run
    return {
      runtime: this,
      sender: {
        notify: (row, params) => this.#notify(row, params),
        request: (row, params, options) => this.#request(row, params, options)
      },
      once: run === undefined ? undefined : (key, schemas, step) => run.once(key, schemas, step),
      session: undefined,
      source: this.#carrier.source,
      parameterHeaders: () => this.#carrier.parameterHeaders,
      detachStream: undefined,
      sendLog: (message) =>
        this.#isLogged(message.level)
          ? this.#notify(MethodTable.notifications["notifications/message"], message)
          : Effect.void
    }
  }

  /** Returns whether the client wants messages of this level. Without a level in its request it wants none (LOG-07). */
  #isLogged(level: Logging.Level): boolean {
    const threshold = this.#logLevel
    return threshold !== undefined && Logging.isAtLeast(level, threshold)
  }

  /** Asks the client. The reply to some methods can be a question. */
  #request<Params extends object, Result>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options: { readonly key?: string | undefined } | undefined
  ): Effect.Effect<Result, RequestError.RequestError> {
    return Effect.suspend((): Effect.Effect<Result, RequestError.RequestError> =>
      this.#run === undefined
        ? Effect.fail(RequestError.make(row.name, { _tag: "NotAskable", served: this.#message.method }))
        // The run checks the answer against the schema of the row.
        : trust(this.#run.ask(row, params, options?.key))
    )
  }

  #notify(row: Outgoing.MethodRequirements, params: object): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      // A stream of notifications has those of its filter only (SUB-08).
      if (this.#isListening) return Effect.void
      const { capabilities, projection } = this.#server.description
      const message = Outgoing.notification(row, params, this.#profile, { declared: capabilities, projection })
      if (Result.isFailure(message)) return Effect.fail(RequestError.make(row.name, message.failure))
      return this.#run?.admits(message.success) === false ? Effect.void : this.#carrier.send(message.success)
    })
  }
}

const unknownClient = ServerDefinition.unknownClient(Revision.latest)

/** The error of a stream that its transport cannot carry, or no longer carries. */
const streamLost = McpError.invalidRequest("the transport cannot carry a stream of notifications")
