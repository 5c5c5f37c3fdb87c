/** The gate of one request of a revision without a handshake. */

import {
  type Discover,
  InputRequired,
  JsonRpc,
  Logging,
  McpError,
  type MethodDefinition,
  MethodTable,
  type Profile,
  RevisionProjection,
  type Subscription,
  TaskExtension
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Limits } from "../../Limits.ts"
import { Listener } from "../../Listener.ts"
import type { Principal } from "../../Principal.ts"
import { RequestContext } from "../../RequestContext.ts"
import * as RequestError from "../../RequestError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin } from "../../Transport.ts"
import type { Prepared } from "../engine/Dispatch.ts"
import type * as IncomingRequests from "../engine/IncomingRequests.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import { reject, type RequestGate, type RequestRuntime } from "../engine/RequestServer.ts"
import { trust } from "../trust.ts"
import * as ListenStream from "./ListenStream.ts"
import { ModernReplies } from "./ModernReplies.ts"
import * as ModernRequest from "./ModernRequest.ts"
import { ReplayedRun } from "./replay/ReplayedRun.ts"
import * as RequestState from "./replay/RequestState.ts"
import type * as ServerDefinition from "./ServerDefinition.ts"
import * as ServerRequestContext from "./ServerRequestContext.ts"

/** The parts of a server that all requests share. */
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

/** The session, or the frame without one, that carries a request. */
export interface ModernCarrier {
  readonly runtime: RequestRuntime & {
    /** The services of the handlers. */
    readonly context: Context.Context<never>
    readonly timer: { readonly now: () => number }
  }
  /** Whether the transport authenticates its senders. */
  readonly authenticates: boolean
  /** Returns the error of a request that its sender may not send. */
  permit(message: JsonRpc.Request): JsonRpc.ErrorObject | undefined
  /** The `Mcp-Param-*` headers of the request, if it came by HTTP. */
  readonly parameterHeaders: { readonly [name: string]: string } | undefined
  /** Distinguishes clients without a principal: their session, or the identity that a frame without one has. */
  readonly source: object | string | undefined
  /** Sends a notification of the request, in the order of the calls. */
  send(message: JsonRpc.Notification): Effect.Effect<void, RequestError.RequestError>
}

/** The gate of one request, because each request has a client of its own. */
export class ModernRequestGate implements RequestGate<Profile.ClientProfile, unknown> {
  readonly replies: ModernReplies
  readonly #server: ModernServer
  readonly #carrier: ModernCarrier
  readonly #message: JsonRpc.Request
  readonly #client: ModernRequest.ModernClient
  readonly #principal: Principal | undefined
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
    client: ModernRequest.ModernClient,
    principal: Principal | undefined
  ) {
    this.#server = server
    this.#carrier = carrier
    this.#message = message
    this.#client = client
    this.#principal = principal
    this.replies = new ModernReplies(
      carrier.runtime.replies,
      server.description.info,
      message.method,
      () => this.#run?.isSuspended === true ? "input_required" : this.#isTask ? TaskExtension.resultType : "complete",
      (then) => this.#run === undefined ? then() : this.#run.whenEnded(then)
    )
  }

  // ===================================================================================================================
  // The gate in front of the engine
  // ===================================================================================================================

  /** Admits every request, and answers the one that no handler serves. */
  admit(message: JsonRpc.Request, origin: StreamOrigin | undefined): Profile.ClientProfile | undefined {
    const { profile } = this.#client
    switch (message.method) {
      case "server/discover":
        return this.#discover(message, profile, origin)
      default:
        return profile
    }
  }

  permit(message: JsonRpc.Request): JsonRpc.ErrorObject | undefined {
    return this.#carrier.permit(message)
  }

  /** Prepares a request. The handlers of some methods may ask the client, and are run again with its answers. */
  prepare(message: JsonRpc.Request, profile: Profile.ClientProfile): Prepared<unknown> {
    const { description, dispatch, limits, requestState, tasks } = this.#server
    const { method, params } = message
    if (this.#isListening) {
      return Result.map(dispatch.prepare(message, profile), (handling) => this.#listen(message, handling))
    }
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
      profile
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

  contextOf(
    request: IncomingRequests.IncomingRequest,
    message: JsonRpc.Request,
    profile: Profile.ClientProfile
  ): Context.Context<unknown> {
    if (this.#run !== undefined) this.#run.incoming = request
    const own = new ServerRequestContext.ServerRequestContext(this.#contextDependencies, request, message, profile)
    const context = Context.add(this.#carrier.runtime.context, RequestContext, own)
    // The services of the handlers were captured when the server was made.
    return trust<Context.Context<unknown>>(
      this.#listener === undefined ? context : Context.add(context, Listener, this.#listener)
    )
  }

  #discover(
    message: JsonRpc.Request,
    { revision }: Profile.ClientProfile,
    origin: StreamOrigin | undefined
  ): undefined {
    const { description: { instructions, projection, supported }, dispatch, modernCapabilities } = this.#server
    const { runtime } = this.#carrier
    if (runtime.inflight.isTaken(message.id)) {
      return void reject(runtime, message, RequestRejections.duplicate, origin, this.replies)
    }
    const result: Discover.DiscoverResult = {
      supportedVersions: supported,
      capabilities: ModernRequest.discovered(modernCapabilities, dispatch.handles(ListenStream.method)),
      ...(instructions === undefined ? undefined : { instructions })
    }
    this.replies.reply(
      JsonRpc.success(message.id, RevisionProjection.project(message.method, "result", revision, result, projection)),
      origin
    )
  }

  /** Whether the request opens a stream of notifications. */
  get #isListening(): boolean {
    return this.#message.method === ListenStream.method
  }

  /** Serves a stream of notifications, which ends with the server. */
  #listen<R>(
    message: JsonRpc.Request,
    handling: Effect.Effect<unknown, McpError.McpError, R>
  ): Effect.Effect<unknown, McpError.McpError, R> {
    // The params are checked when a program serves the request.
    const { notifications } = trust<Subscription.ListenParams>(message.params)
    const listener = new ListenStream.ListenStream(
      message.id,
      notifications,
      this.#principal,
      (notification: JsonRpc.Notification) => this.#carrier.send(notification)
    )
    this.#listener = listener
    return Effect.suspend(() => {
      const { listeners } = this.#server
      if (listeners === undefined) listener.end()
      listeners?.add(listener)
      this.#server.listenerAdded?.(this.#principal)
      const served = Effect.catchTag(listener.serve(handling), "RequestError", () => Effect.fail(streamLost))
      return Effect.onExit(served, () =>
        Effect.sync(() => {
          this.#server.listeners?.delete(listener)
          this.#server.listenerEnded?.()
        }))
    })
  }

  // ===================================================================================================================
  // The messages of handlers
  // ===================================================================================================================

  get limits(): Limits {
    return this.#server.limits
  }

  get timer(): ModernCarrier["runtime"]["timer"] {
    return this.#carrier.runtime.timer
  }

  emit(event: SessionEvent): void {
    this.#carrier.runtime.emit(event)
  }

  get #contextDependencies(): ServerRequestContext.ServerContextDependencies {
    const run = this.#run
    return {
      runtime: this,
      sender: {
        notify: (row, params) => this.#notify(row, params),
        request: (row, params, options) => this.#request(row, params, options)
      },
      once: run === undefined ? undefined : (key, schemas, step) => run.once(key, schemas, step),
      isHandedOn: run === undefined ? undefined : () => run.isAsking,
      session: undefined,
      source: this.#carrier.source,
      authenticates: this.#carrier.authenticates,
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
    const threshold = this.#client.logLevel
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
        ? Effect.fail(RequestError.make(row.name, { _tag: "CannotAskHere", served: this.#message.method }))
        // The run checks the answer against the schema of the row.
        : trust(this.#run.ask(row, params, options?.key))
    )
  }

  #notify(row: Outgoing.MethodRequirements, params: object): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      // A stream of notifications has those of its filter only (SUB-08).
      if (this.#isListening) return Effect.void
      const { capabilities, projection } = this.#server.description
      const message = Outgoing.notification(row, params, this.#client.profile, { declared: capabilities, projection })
      if (Result.isFailure(message)) return Effect.fail(RequestError.make(row.name, message.failure))
      return this.#run?.admits(message.success) === false ? Effect.void : this.#carrier.send(message.success)
    })
  }
}

/** The error of a stream that its transport cannot carry, or no longer carries. */
const streamLost = McpError.invalidRequest("the transport cannot carry a stream of notifications")
