/** The session of a client with its server: its gate in front of the engine, and the members of `ClientSession`. */

import {
  type Capabilities,
  type CloseReason,
  type Handshake,
  type JsonRpc,
  type Logging,
  type Meta,
  MethodTable,
  type Profile,
  Revision,
  type RevisionProjection,
  TaskExtension
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { CallbackContext } from "../../CallbackContext.ts"
import type { Extension } from "../../Extension.ts"
import * as Handlers from "../../Handlers.ts"
import type { JsonSchemaValidatorShape } from "../../JsonSchemaValidator.ts"
import type { Middleware } from "../../Middleware.ts"
import * as RequestError from "../../RequestError.ts"
import type * as Session from "../../Session.ts"
import type { Inbound, StreamOrigin } from "../../Transport.ts"
import * as Dispatch from "../engine/Dispatch.ts"
import * as HandlerContext from "../engine/HandlerContext.ts"
import { InboundProcessor } from "../engine/InboundProcessor.ts"
import type { IncomingRequest } from "../engine/IncomingRequests.ts"
import type { RequestGate } from "../engine/RequestServer.ts"
import * as Sender from "../engine/Sender.ts"
import * as SessionRuntime from "../engine/SessionRuntime.ts"
import { trust } from "../trust.ts"
import * as ClientHandshake from "./ClientHandshake.ts"
import type { ClientSessionShape } from "./ClientSessionShape.ts"
import type { GatedClientTasks } from "./ClientTaskGate.ts"
import { ExtensionTasks } from "./ExtensionTasks.ts"
import * as HeaderMismatchRetry from "./HeaderMismatchRetry.ts"
import * as InputRounds from "./InputRounds.ts"
import { KeptResults } from "./KeptResults.ts"
import * as LegacyTasks from "./LegacyTasks.ts"
import * as ListenFilter from "./ListenFilter.ts"
import { Listening, type ListeningOwner } from "./Listening.ts"
import * as OutputSchemas from "./OutputSchemas.ts"
import * as Paging from "./Paging.ts"
import * as ResultEnvelope from "./ResultEnvelope.ts"
import { TaskSupport } from "./TaskSupport.ts"

/** The options of a client's session. */
export interface Options extends Omit<Session.Options, "revisions"> {
  readonly revisions?: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  readonly capabilities?: Capabilities.ClientCapabilities
  readonly handlers?: Handlers.Handlers<"server", unknown>
  readonly extensions?: ReadonlyArray<Extension<"server" | "either", unknown>>
  readonly middleware?: Middleware<unknown, unknown>
  readonly validator?: JsonSchemaValidatorShape
  readonly tasks?: GatedClientTasks
}

/** Joins the handlers of the program with others. Throws an error if both serve a method, which no type shows here. */
const merged = trust<
  (...records: ReadonlyArray<Handlers.Handlers<"server", unknown>>) => Handlers.Handlers<"server", unknown>
>(Handlers.merge)

const { notifications, requests } = MethodTable

/** A client's session. */
export class ClientSessionImplementation
  implements
    RequestGate<Profile.ServerProfile, unknown>,
    ClientHandshake.HandshakeOwner,
    InputRounds.InputRoundsOwner,
    ListeningOwner,
    Sender.SenderDependencies
{
  readonly runtime: SessionRuntime.SessionRuntime<Handshake.ClientState>
  readonly description: ClientHandshake.ClientDescription
  readonly dispatch: Dispatch.Dispatch<unknown>
  readonly sender: Sender.Sender
  readonly handshake: ClientHandshake.ClientHandshake
  readonly rounds: InputRounds.InputRounds
  readonly listening: Listening
  readonly inbound: InboundProcessor<Profile.ServerProfile, unknown>
  readonly middleware: Sender.SenderDependencies["middleware"]
  readonly #extensionTasks: ExtensionTasks
  readonly #outputSchemas: OutputSchemas.OutputSchemas | undefined
  /** The tools that run as tasks, in a session that can call them so. */
  #taskSupport: TaskSupport | undefined
  /** The kept results. A session with a handshake has none. */
  #keptResults: KeptResults | undefined
  /** The server's profile, after the handshake. */
  #server: Profile.ServerProfile | undefined
  /** The metadata of requests, in a session without a handshake. */
  #metadata: Meta.Meta | undefined
  /** The level that the program has set, in a session without a handshake. */
  #logLevel: Logging.Level | undefined
  /** The number of handlers and streams of log messages. */
  #logFollowers = 0

  constructor(
    options: Options,
    description: ClientHandshake.ClientDescription,
    runtime: SessionRuntime.SessionRuntime<Handshake.ClientState>
  ) {
    const { extensions, handlers: programs = {}, middleware, tasks, validator } = options
    const handlers = tasks === undefined ? programs : merged(programs, tasks.handlers)
    this.runtime = runtime
    this.description = description
    this.middleware = middleware?.outbound
    this.#outputSchemas = validator === undefined
      ? undefined
      : OutputSchemas.make({
        validator,
        capacity: runtime.limits.maxOutputSchemas,
        emit: (event) => {
          // A list that is sent again stores the schema again. A kept one would not.
          if (event._tag === "OutputSchemaDropped") this.#keptResults?.drop("tools/list")
          runtime.emit(event)
        },
        revision: () => this.#server?.revision,
        read: (result) => this.withoutEnvelope(requests["tools/list"].name, result),
        onList: () => this.listening.follow("notifications/tools/list_changed")
      })
    const dispatch = Dispatch.make("server", handlers, {
      middleware: middleware?.inbound,
      extensions,
      declared: () => this.declaredCapabilities(),
      projection: description.projection
    })
    this.sender = new Sender.Sender(runtime, this)
    this.dispatch = tasks?.gate(dispatch, { sender: this.sender, closed: runtime.closed }) ?? dispatch
    this.rounds = new InputRounds.InputRounds(runtime, this)
    this.#extensionTasks = new ExtensionTasks({
      runtime,
      sender: this.sender,
      rounds: this.rounds,
      outputSchemas: this.#outputSchemas,
      server: () => this.modernServer(),
      isDeclared: this.hasTasks
    })
    this.listening = new Listening(runtime, this)
    for (const change of ListenFilter.listChanges) if (change in handlers) this.listening.follow(change)
    if (notifications["notifications/message"].name in handlers) this.#logFollowers = 1
    this.handshake = new ClientHandshake.ClientHandshake(runtime, this)
    this.inbound = new InboundProcessor(runtime, this)
    runtime.read(this.inbound)
  }

  // ===================================================================================================================
  // The gate in front of the engine
  // ===================================================================================================================

  peer(): Profile.ServerProfile | undefined {
    return this.#server
  }

  /** Ends what depends on the session. */
  end(reason: CloseReason.CloseReason): void {
    this.handshake.dropLogs()
    this.rounds.end(reason)
    this.listening.end(reason)
    this.#keptResults?.end()
  }

  /** One session, so one server. */
  get source(): this {
    return this
  }

  get #kept(): KeptResults {
    return this.#keptResults ??= new KeptResults(this.runtime)
  }

  contextOf(
    request: IncomingRequest,
    message: JsonRpc.Request,
    profile: Profile.ServerProfile
  ): Context.Context<unknown> {
    const own = new HandlerContext.HandlerContext(this, request, message, profile)
    // The services of the handlers were captured with the session's context when it was made.
    return trust(Context.add(this.runtime.context, CallbackContext, own))
  }

  notificationContextOf(): Context.Context<unknown> {
    // The services of the handlers were captured with the session's context when it was made.
    return trust(this.runtime.context)
  }

  intercept(
    message: JsonRpc.Request | JsonRpc.Notification,
    _origin: StreamOrigin | undefined,
    bytes: number | undefined
  ): boolean {
    if (!("id" in message) && this.#metadata !== undefined) {
      if (this.listening.intercept(message)) return true
      this.#keptResults?.observe(message)
    }
    this.#outputSchemas?.observe(message)
    if (message.method === notifications["notifications/tools/list_changed"].name) this.#taskSupport?.clear()
    if (message.method !== notifications["notifications/message"].name || "id" in message) return false
    this.handshake.receiveLog(message, bytes)
    return true
  }

  stray(frame: Inbound["frame"]): void {
    if (this.#server === undefined) this.handshake.receiveStray(frame)
  }

  identify(error: JsonRpc.Response): JsonRpc.Response | undefined {
    return this.handshake.identify(error)
  }

  changed(message: JsonRpc.Notification): void {
    this.#keptResults?.observe(message)
    this.#outputSchemas?.observe(message)
  }

  storeServer(profile: Profile.ServerProfile): void {
    this.#server = profile
    if (Revision.isModern(profile.revision)) this.#log(profile.revision)
  }

  get checking(): Sender.SenderDependencies["checking"] {
    return this.#metadata === undefined ? this.#outputSchemas?.checking : this.#modernChecking
  }

  readonly #modernChecking = (sent: Sender.Request): Sender.Request => {
    const ordered = this.listening.ordering(sent)
    const checked = this.#outputSchemas?.checking(ordered) ?? ordered
    const kept = this.#kept
    return kept.keeping(
      HeaderMismatchRetry.retrying(checked, this.runtime, () => kept.drop(requests["tools/list"].name))
    )
  }

  /** Sets the level of the log messages that later requests ask for, in a session without a handshake. */
  #log(revision: Revision.ModernRevision): void {
    const isFollowed = this.#logFollowers > 0 && this.#server?.capabilities.logging !== undefined
    const level = this.#logLevel ?? (isFollowed ? "debug" : undefined)
    this.#metadata = ClientHandshake.metadata(this.description, revision, level)
  }

  /**
   * Returns a stream of log messages during which requests ask for them. If the program sets no level, servers of older
   * revisions send all that they log, so here the client asks for all.
   */
  #logging<A>(revision: Revision.ModernRevision, stream: Stream.Stream<A>): Stream.Stream<A> {
    const follow = (difference: number) =>
      Effect.sync(() => {
        this.#logFollowers += difference
        this.#log(revision)
      })
    return Stream.unwrap(Effect.as(Effect.acquireRelease(follow(1), () => follow(-1)), stream))
  }

  metadata(): Meta.Meta | undefined {
    return this.#metadata
  }

  modernServer(): Profile.ServerProfile | undefined {
    return this.#metadata === undefined ? undefined : this.#server
  }

  withoutEnvelope(method: string, result: unknown): unknown {
    // The answer to the probe describes the server, and its name is part of that.
    return this.#metadata === undefined || method === "server/discover"
      ? result
      : ResultEnvelope.remove(result)
  }

  get hasTasks(): boolean {
    return Object.hasOwn(this.declared.extensions ?? {}, TaskExtension.name)
  }

  finishTask(created: unknown): ReturnType<ExtensionTasks["finish"]> {
    return this.#extensionTasks.finish(created)
  }

  followUp(call: Sender.Call, answer: JsonRpc.Success): ReturnType<InputRounds.InputRounds["next"]> {
    return this.rounds.next(call, answer)
  }

  // ===================================================================================================================
  // The declarations that its messages are checked against
  // ===================================================================================================================

  /** Returns the capabilities in the form in which the server knows them. */
  declaredCapabilities(): Capabilities.ClientCapabilities {
    const { offer, probe } = this.description
    const revision = this.#server?.revision ?? offer ?? probe ?? Revision.latest
    return ClientHandshake.initializeParams(this.description, revision).capabilities
  }

  get declared(): Capabilities.ClientCapabilities {
    return this.description.capabilities
  }

  get projection(): RevisionProjection.Projection | undefined {
    return this.description.projection
  }

  /** Sets the level in the metadata of later requests. Nothing is sent. */
  #setLogLevel(
    profile: Profile.ServerProfile,
    revision: Revision.ModernRevision,
    level: Logging.Level
  ): Effect.Effect<void, RequestError.RequestError> {
    const { name } = requests["logging/setLevel"]
    return Effect.andThen(
      this.#nothing(name),
      Effect.suspend(() =>
        profile.capabilities.logging === undefined
          ? Effect.fail(RequestError.make(name, { _tag: "MissingCapability", capability: "logging" }))
          : Effect.sync(() => {
            this.#logLevel = level
            this.#log(revision)
          })
      )
    )
  }

  /** Sends nothing, because a server without a handshake needs no such message. Fails if the session has ended. */
  #nothing(name: string): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const state = this.runtime.state()
      return "reason" in state
        ? Effect.fail(RequestError.make(name, { _tag: "Closed", reason: state.reason, isSent: false }))
        : Effect.void
    })
  }

  // ===================================================================================================================
  // The members of `ClientSession`
  // ===================================================================================================================

  members(profile: Profile.ServerProfile): ClientSessionShape {
    const { runtime, sender } = this
    const isModern = Revision.isModern(profile.revision)
    const at = (cursor: string | undefined) => cursor === undefined ? {} : { cursor }
    const listTools: ClientSessionShape["listTools"] = (params, options) =>
      Effect.tap(
        sender.request(requests["tools/list"], params ?? {}, options),
        ({ tools }) => Effect.sync(() => this.#taskSupport?.observe(tools))
      )
    const tools = Paging.stream(
      "tools/list",
      runtime.limits,
      (cursor) => Effect.map(listTools(at(cursor)), ({ nextCursor, tools }) => ({ items: tools, nextCursor }))
    )
    const listResources: ClientSessionShape["listResources"] = (params, options) =>
      sender.request(requests["resources/list"], params ?? {}, options)
    const listResourceTemplates: ClientSessionShape["listResourceTemplates"] = (params, options) =>
      sender.request(requests["resources/templates/list"], params ?? {}, options)
    const listPrompts: ClientSessionShape["listPrompts"] = (params, options) =>
      sender.request(requests["prompts/list"], params ?? {}, options)
    const support = profile.capabilities.tasks?.requests?.tools?.call === undefined ? undefined : new TaskSupport(tools)
    this.#taskSupport = support

    return {
      profile,
      ...SessionRuntime.session(runtime),
      request: (name, params, options) => sender.request(requests[name], params, options),
      extension: (row, params, options) => sender.request(row, params, options),
      ping: (options) => Effect.asVoid(sender.request(requests.ping, {}, options)),
      listTools,
      tools,
      callTool: (name, input, options) =>
        Effect.suspend(() =>
          support?.known(name) === "required"
            ? Effect.fail(RequestError.make(requests["tools/call"].name, requiresTask(name)))
            : sender.request(
              requests["tools/call"],
              input === undefined ? { name } : { name, arguments: input },
              options
            )
        ),
      listResources,
      resources: Paging.stream(
        "resources/list",
        runtime.limits,
        (cursor) =>
          Effect.map(listResources(at(cursor)), ({ nextCursor, resources }) => ({ items: resources, nextCursor }))
      ),
      listResourceTemplates,
      resourceTemplates: Paging.stream(
        "resources/templates/list",
        runtime.limits,
        (cursor) =>
          Effect.map(listResourceTemplates(at(cursor)), ({ nextCursor, resourceTemplates }) => ({
            items: resourceTemplates,
            nextCursor
          }))
      ),
      readResource: (uri, options) => sender.request(requests["resources/read"], { uri }, options),
      subscribeResource: (uri, options) =>
        isModern
          ? Effect.asVoid(
            sender.around(requests["resources/subscribe"], { uri }, ({ uri }) =>
              Effect.as(this.listening.subscribe(uri, profile.capabilities, options), {}))
          )
          : Effect.asVoid(sender.request(requests["resources/subscribe"], { uri }, options)),
      unsubscribeResource: (uri, options) =>
        isModern
          ? Effect.asVoid(
            sender.around(requests["resources/unsubscribe"], { uri }, ({ uri }) =>
              Effect.as(this.listening.unsubscribe(uri, profile.capabilities), {}))
          )
          : Effect.asVoid(sender.request(requests["resources/unsubscribe"], { uri }, options)),
      listPrompts,
      prompts: Paging.stream(
        "prompts/list",
        runtime.limits,
        (cursor) => Effect.map(listPrompts(at(cursor)), ({ nextCursor, prompts }) => ({ items: prompts, nextCursor }))
      ),
      getPrompt: (name, input, options) =>
        sender.request(requests["prompts/get"], input === undefined ? { name } : { name, arguments: input }, options),
      complete: (params, options) => sender.request(requests["completion/complete"], params, options),
      setLogLevel: (level, options) =>
        Revision.isModern(profile.revision)
          ? this.#setLogLevel(profile, profile.revision, level)
          : Effect.asVoid(sender.request(requests["logging/setLevel"], { level }, options)),
      tasks: isModern
        ? this.#extensionTasks.members
        : LegacyTasks.make({ runtime, sender, support, outputSchemas: this.#outputSchemas }),
      progress: (token, step) => sender.progress(token, step),
      rootsListChanged: isModern
        ? this.#nothing(notifications["notifications/roots/list_changed"].name)
        : sender.notify(notifications["notifications/roots/list_changed"], {}),
      notifications: (name) => {
        const followed = runtime.subscriptions.follow<MethodTable.NotificationParamsOf<typeof name>>(name)
        if (!Revision.isModern(profile.revision)) return followed
        return name === notifications["notifications/message"].name
          ? this.#logging(profile.revision, followed)
          : this.listening.during(name, followed)
      },
      send: (message) => sender.send(message)
    }
  }
}

/** The reason why a tool cannot be called without a task, if its server has listed it (TSK-05). */
const requiresTask = (tool: string): RequestError.RequestErrorReason => ({
  _tag: "InvalidParams",
  problem: `the tool ${JSON.stringify(tool)} runs as a task only; use tasks.call`
})
