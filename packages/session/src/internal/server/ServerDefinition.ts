/** The parts of a server that all of its sessions, or all of its frames without one, share. */

import {
  type Capabilities,
  Handshake,
  type Implementation,
  type Profile,
  Revision,
  type RevisionProjection,
  TaskExtension
} from "@effect-mcp/protocol"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import type { Extension } from "../../Extension.ts"
import * as Handlers from "../../Handlers.ts"
import * as Limits from "../../Limits.ts"
import type { Middleware } from "../../Middleware.ts"
import { RequestStateSeal } from "../../RequestStateSeal.ts"
import { UsedStates } from "../../UsedStates.ts"
import * as Dispatch from "../engine/Dispatch.ts"
import * as LogLevel from "../engine/LogLevel.ts"
import { RateLimit } from "../engine/RateLimit.ts"
import { monotonicMillis } from "../monotonicMillis.ts"
import * as NumericOption from "../NumericOption.ts"
import { trust } from "../trust.ts"
import * as HandlerScopes from "./HandlerScopes.ts"
import { KnownClients } from "./KnownClients.ts"
import type * as Permission from "./Permission.ts"
import type * as RequestState from "./replay/RequestState.ts"
import * as ServerHandshake from "./ServerHandshake.ts"
import type { GatedServerTasks, ServerTaskGate } from "./ServerTaskGate.ts"

/** The options that define a server. */
export interface Options {
  readonly info: Implementation.Implementation
  readonly revisions?: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  readonly projection?: RevisionProjection.Projection
  readonly limits?: Limits.Options
  readonly instructions?: string
  readonly capabilities?: Handlers.ServerDeclarations
  readonly extensions?: ReadonlyArray<Extension<"client" | "either", unknown>>
  readonly middleware?: Middleware<unknown, unknown>
  readonly requestState?: RequestStateOptions
  readonly tasks?: GatedServerTasks
  readonly scopesOf?: Permission.ScopesOf
}

/** Options of the state of a call that asks its client, in a revision without requests of the server. */
export interface RequestStateOptions {
  /** The time that a client has to answer the questions of one round. Default 10 minutes (MRTR-09). */
  readonly expiry?: Duration.Input
  /**
   * Accepts each state once, so that a client cannot repeat a call from the middle. It needs `UsedStates`, which all
   * processes that serve the same clients must share. Default: no.
   */
  readonly singleUse?: boolean
}

/** The parts of a server that its transports decide. */
export interface Surroundings {
  /** Whether the handlers have sessions. */
  readonly hasSessions: boolean
  /** Whether several clients use the server, so that those without a principal are not one client. */
  readonly isShared: boolean
}

/** A server with its limits and its checked handlers. */
export interface ServerDefinition {
  readonly description: ServerHandshake.ServerDescription
  /** The capabilities in revisions without a handshake, in which tasks are an extension. */
  readonly modernCapabilities: Capabilities.ServerCapabilities
  /** The calls of tools that become tasks. */
  readonly tasks: ServerTaskGate | undefined
  /** The description for clients without a principal. */
  readonly anonymousDescription: ServerHandshake.ServerDescription
  readonly limits: Limits.Limits
  readonly dispatch: Dispatch.Dispatch<unknown>
  /** The clients of requests without a handshake. */
  readonly clients: KnownClients
  readonly middleware: Middleware<unknown, unknown> | undefined
  readonly requestStateOptions: { readonly expiryMillis: number; readonly isSingleUse: boolean }
  /** Returns the scopes that requests need. */
  readonly scopesOf: Permission.ScopesOf | undefined
  /** Bounds the warnings about states that do not open. */
  readonly stateWarnings: RateLimit
}

/** Returns the settings of the states of a server, with the seal and the store of the program. */
export const requestStateSettings = (
  { description, limits, requestStateOptions: { expiryMillis, isSingleUse }, stateWarnings }: ServerDefinition,
  context: Context.Context<never>,
  clock: Clock.Clock
): RequestState.Settings => ({
  seal: Context.get(context, RequestStateSeal),
  used: isSingleUse ? Context.get(context, UsedStates) : undefined,
  expiryMillis,
  maxCharacters: limits.maxRequestStateCharacters,
  audience: description.info.name,
  now: () => clock.currentTimeMillisUnsafe(),
  mayWarn: () => stateWarnings.take(monotonicMillis(clock))
})

/**
 * Returns the revisions of a server with sessions. A program that names none, notifies its sessions of changes, and
 * does not handle `subscriptions/listen`, serves those with a handshake: it could not notify the clients of others.
 */
export const revisionsWithSessions = (
  handlers: Handlers.Handlers<"client", unknown>,
  { capabilities, revisions }: Pick<Options, "capabilities" | "revisions">
): NonNullable<Options["revisions"]> => {
  if (revisions !== undefined || "subscriptions/listen" in handlers) return revisions ?? Revision.supported
  const { prompts, resources, tools } = Handlers.serverCapabilities(handlers, capabilities)
  const notifies = resources?.subscribe === true ||
    [prompts, resources, tools].some((list) => list?.listChanged === true)
  return notifies ? Revision.legacy : Revision.supported
}

/** Joins the handlers of the program with others. Throws an error if both serve a method, which no type shows here. */
const merged = trust<
  (...records: ReadonlyArray<Handlers.Handlers<"client", unknown>>) => Handlers.Handlers<"client", unknown>
>(Handlers.merge)

const define = (
  programs: Handlers.Handlers<"client", unknown>,
  options: Options,
  limits: Limits.Limits,
  { hasSessions, isShared }: Surroundings
): ServerDefinition => {
  const { extensions = [], middleware, projection, requestState: { expiry = "10 minutes", ...requestState } = {} } =
    options
  const { tasks } = options
  const handlers = tasks === undefined ? programs : merged(programs, tasks.handlers({ listsAnonymous: !isShared }))
  const capabilities = Handlers.serverCapabilities(
    handlers,
    tasks === undefined ? options.capabilities : { tasks: tasks.capabilities, ...options.capabilities }
  )
  NumericOption.check({ expiry }, { expiry: NumericOption.duration }, "requestState.")
  const described = (capabilities: Capabilities.ServerCapabilities) =>
    ServerHandshake.describe({ ...options, capabilities, revisions: options.revisions ?? Revision.supported })
  const description = described(capabilities)
  const { list: _, ...unlisted } = capabilities.tasks ?? {}
  const dispatch = Dispatch.make(
    "client",
    capabilities.logging === undefined ? handlers : LogLevel.settable(handlers, { storesLevel: hasSessions }),
    {
      middleware: middleware?.inbound,
      extensions: tasks === undefined ? extensions : [...extensions, ...tasks.extensions],
      projection
    }
  )
  const gate = tasks?.gate(dispatch, {
    declared: capabilities,
    projection,
    maxStepCharacters: limits.maxRequestStateCharacters
  })
  return {
    description,
    anonymousDescription: tasks === undefined || !isShared
      ? description
      : described({ ...capabilities, tasks: unlisted }),
    clients: new KnownClients(description.supported),
    limits,
    dispatch: gate?.dispatch ?? dispatch,
    tasks: gate,
    modernCapabilities: tasks === undefined
      ? capabilities
      : { ...capabilities, extensions: { ...capabilities.extensions, [TaskExtension.name]: {} } },
    middleware,
    scopesOf: options.scopesOf ?? HandlerScopes.of(programs),
    requestStateOptions: { expiryMillis: Duration.toMillis(expiry), isSingleUse: requestState.singleUse === true },
    stateWarnings: new RateLimit(1)
  }
}

/** Defines a server with sessions. */
export const make = (
  handlers: Handlers.Handlers<"client", unknown>,
  options: Options,
  { isShared }: Pick<Surroundings, "isShared">
): ServerDefinition =>
  define(
    handlers,
    { ...options, revisions: revisionsWithSessions(handlers, options) },
    Limits.make(options.limits),
    { hasSessions: true, isShared }
  )

/** Defines a server without sessions. It stores no log level and no profile, so that a profile needs no limit. */
export const makeStateless = (
  handlers: Handlers.Handlers<"client", unknown>,
  options: Options,
  { isShared }: Pick<Surroundings, "isShared">
): ServerDefinition =>
  define(
    handlers,
    options,
    { ...Limits.make(options.limits), maxProfileBytes: Number.POSITIVE_INFINITY },
    { hasSessions: false, isShared }
  )

/** The state of a server without sessions. Its machine never leaves it. */
export const stateless: { readonly _tag: "Stateless" } = { _tag: "Stateless" }

/** The machine of a server without sessions. */
export const statelessMachine = Handshake.statelessServer

/** Returns the profile of a client without a session: only its revision is known. */
export const unknownClient = (revision: Revision.Revision): Profile.ClientProfile => ({
  revision,
  capabilities: {},
  info: undefined
})
