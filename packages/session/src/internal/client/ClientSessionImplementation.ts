/** The session of a client with its server: its gate in front of the engine, and its parts. */

import {
  type Capabilities,
  type CloseReason,
  type Handshake,
  type JsonRpc,
  MethodTable,
  type Profile,
  Revision
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import { ClientRequestContext } from "../../ClientRequestContext.ts"
import type { Extension } from "../../Extension.ts"
import * as Handlers from "../../Handlers.ts"
import type { JsonSchemaValidatorShape } from "../../JsonSchemaValidator.ts"
import type { Middleware } from "../../Middleware.ts"
import type { Principal } from "../../Principal.ts"
import type * as Session from "../../Session.ts"
import type { Inbound, StreamOrigin } from "../../Transport.ts"
import * as Dispatch from "../engine/Dispatch.ts"
import * as HandlerContext from "../engine/HandlerContext.ts"
import { HandshakeGate } from "../engine/HandshakeGate.ts"
import { type InboundGate, InboundProcessor } from "../engine/InboundProcessor.ts"
import type { IncomingRequest } from "../engine/IncomingRequests.ts"
import type { RequestServer } from "../engine/RequestServer.ts"
import { Sender } from "../engine/Sender.ts"
import type { SessionRuntime } from "../engine/SessionRuntime.ts"
import { trust } from "../trust.ts"
import { AuthorizationWait } from "./AuthorizationWait.ts"
import type { ClientDescription } from "./ClientDescription.ts"
import { type ClientEra, declaredIn, type EraDependencies } from "./ClientEra.ts"
import { ClientHandshake } from "./ClientHandshake.ts"
import * as ClientMembers from "./ClientMembers.ts"
import type { ClientSessionShape } from "./ClientSessionShape.ts"
import type { GatedClientTasks } from "./ClientTaskGate.ts"
import { EarlyLogs } from "./EarlyLogs.ts"
import { LegacyClient } from "./LegacyClient.ts"
import { ModernClient } from "./ModernClient.ts"
import { StrayTexts } from "./StrayTexts.ts"

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

const log = MethodTable.notifications["notifications/message"].name

/** A client's session. */
export class ClientSessionImplementation implements InboundGate<Profile.ServerProfile, unknown> {
  readonly sender: Sender
  readonly dispatch: Dispatch.Dispatch<unknown>
  readonly handshake: ClientHandshake
  readonly runtime: SessionRuntime<Handshake.ClientState>
  readonly #description: ClientDescription
  readonly #gate: HandshakeGate<Profile.ServerProfile, unknown>
  readonly #logs: EarlyLogs
  readonly #strayTexts: StrayTexts
  readonly #authorization: AuthorizationWait
  readonly #eraDependencies: EraDependencies
  /** The client of the era of its server, after the handshake. */
  #era: ClientEra | undefined

  constructor(
    options: Options,
    description: ClientDescription,
    runtime: SessionRuntime<Handshake.ClientState>
  ) {
    const { extensions, handlers: programs = {}, middleware, tasks, validator } = options
    const handlers = tasks === undefined ? programs : merged(programs, tasks.handlers)
    const { capabilities, projection } = description
    this.runtime = runtime
    this.#description = description
    const dispatch = Dispatch.make("server", handlers, {
      middleware: middleware?.inbound,
      extensions,
      declared: () => this.#declared,
      projection
    })
    this.sender = new Sender(runtime, {
      peer: () => this.peer(),
      declared: capabilities,
      projection,
      middleware: middleware?.outbound
    })
    this.dispatch = tasks?.gate(dispatch, { sender: this.sender, closed: runtime.closed }) ?? dispatch
    this.#gate = new HandshakeGate(runtime, this)
    const inbound = new InboundProcessor(runtime, this)
    this.#logs = new EarlyLogs(runtime, inbound)
    this.#strayTexts = new StrayTexts(runtime)
    this.#authorization = new AuthorizationWait(runtime)
    this.handshake = new ClientHandshake(runtime, {
      description,
      sender: this.sender,
      logs: this.#logs,
      strayTexts: this.#strayTexts,
      legacy: (profile) => this.#enter(new LegacyClient(profile, this.#eraDependencies)),
      modern: (profile) => this.#enter(new ModernClient(profile, this.#eraDependencies))
    })
    this.#eraDependencies = {
      runtime,
      sender: this.sender,
      description,
      notifications: inbound,
      validator,
      dispatch: this.dispatch,
      contextOf: (request, message, profile) => this.contextOf(request, message, profile),
      isHandled: (notification) => notification in handlers
    }
    runtime.read(inbound)
  }

  /** Becomes the client of the era of its server, before the session is established. */
  #enter(era: ClientEra): ClientEra {
    this.#era = era
    const { attempts, requests } = era.layers
    // Over other transports the layer would cost each call one in thirty of its time, for nothing.
    const waits = this.runtime.connection.hasAuthorization === true ? [this.#authorization.layer] : []
    this.sender.wrap({ requests, attempts: [...attempts, ...waits] })
    return era
  }

  /** Returns the capabilities in the form in which the server knows them. */
  get #declared(): Capabilities.ClientCapabilities {
    const { offer, probe } = this.#description
    return declaredIn(this.#description, this.peer()?.revision ?? offer ?? probe ?? Revision.latest)
  }

  /** Starts the established session, and returns its members. */
  start(era: ClientEra): ClientSessionShape {
    era.start()
    return ClientMembers.make(this.runtime, this.sender, era)
  }

  /** Ends what depends on the session. */
  end(reason: CloseReason.CloseReason): void {
    this.#logs.drop()
    this.#authorization.end(reason)
    this.#era?.end(reason)
  }

  // ===================================================================================================================
  // The gate in front of the engine
  // ===================================================================================================================

  peer(): Profile.ServerProfile | undefined {
    return this.#era?.server
  }

  /** One session, so one server. */
  get source(): this {
    return this
  }

  contextOf(
    request: IncomingRequest,
    message: JsonRpc.Request,
    profile: Profile.ServerProfile
  ): Context.Context<unknown> {
    const own = new HandlerContext.HandlerContext(this, request, message, profile)
    // The services of the handlers were captured with the session's context when it was made.
    return trust(Context.add(this.runtime.context, ClientRequestContext, own))
  }

  notificationContextOf(): Context.Context<unknown> {
    // The services of the handlers were captured with the session's context when it was made.
    return trust(this.runtime.context)
  }

  serve(
    requests: RequestServer,
    message: JsonRpc.Request,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    requests.serve(this.#gate, message, origin, bytes, principal)
  }

  intercept(message: JsonRpc.Notification, bytes: number | undefined): boolean {
    if (this.#era?.intercept(message) === true) return true
    if (message.method !== log) return false
    this.#logs.receive(message, bytes)
    return true
  }

  stray(frame: Inbound["frame"]): void {
    if (this.#era === undefined) this.#strayTexts.receive(frame)
  }

  identify(error: JsonRpc.Response): JsonRpc.Response | undefined {
    return this.handshake.identify(error)
  }
}
