/**
 * The handlers of one side for the messages of the other: a typed record, derived from the method table.
 *
 * @stability unstable
 */
import {
  Capabilities,
  type McpError,
  type MethodDefinition,
  MethodTable,
  type Subscription
} from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ClientRequestContext } from "./ClientRequestContext.ts"
import type * as HandledMethods from "./internal/HandledMethods.ts"
import { trust } from "./internal/trust.ts"
import type { Listener } from "./Listener.ts"
import type { NotificationContext } from "./NotificationContext.ts"
import type { RequestContext } from "./RequestContext.ts"

/**
 * The names of the requests from `From` that a program can handle. The session handles `initialize` and `ping` itself.
 *
 * @category models
 */
export type RequestName<From extends MethodDefinition.Role> = HandledMethods.RequestName<From>

/**
 * The names of the notifications from `From` that a program can handle. The session handles those of the handshake, of
 * cancellation and of progress itself.
 *
 * @category models
 */
export type NotificationName<From extends MethodDefinition.Role> = HandledMethods.NotificationName<From>

/**
 * The result that a handler returns. It is the result of the method table, except that the handler of
 * `subscriptions/listen` returns the part of the filter that it serves; see `Listener`.
 *
 * @category models
 */
export type ReturnedResult<Name extends keyof MethodTable.Requests> = Name extends "subscriptions/listen"
  ? Pick<Subscription.AcknowledgedParams, "notifications">
  : MethodTable.ResultOf<Name>

/**
 * The handler of one method. It runs in a fiber of its own for each request, and is interrupted when the peer cancels
 * the request. Each request that is not cancelled gets exactly one reply: the result, the `McpError`, or −32603
 * "Internal error" if the handler dies.
 *
 * @category models
 */
export type RequestHandler<Name extends keyof MethodTable.Requests, R = never> = (
  params: MethodTable.ParamsOf<Name>
) => Effect.Effect<ReturnedResult<Name>, McpError.McpError, R>

/**
 * The handler of one kind of notification. Notifications are handled one at a time, in the order of arrival.
 *
 * @category models
 */
export type NotificationHandler<Name extends keyof MethodTable.Notifications, R = never> = (
  params: MethodTable.NotificationParamsOf<Name>
) => Effect.Effect<void, never, R>

/**
 * The handlers of the messages that `From` sends. A handler declares the capability of its method. A request without a
 * handler is rejected with −32601 "Method not found".
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import type { Handlers } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const handlers: Handlers.Handlers<"client"> = {
 *   "tools/call": (params) => Effect.succeed({ content: [Content.text(`you called ${params.name}`)] })
 * }
 * ```
 *
 * @category models
 */
export type Handlers<From extends MethodDefinition.Role, R = never> = HandlersWith<
  From,
  Exclude<R, NotificationContext>,
  Exclude<R, RequestContext | ClientRequestContext>
>

/**
 * The handlers of the messages that `From` sends, with the services of the handlers of requests, and those of the
 * handlers of notifications.
 *
 * @category models
 */
export type HandlersWith<From extends MethodDefinition.Role, OfRequests, OfNotifications> =
  & {
    readonly [Name in RequestName<From>]?: RequestHandler<
      Name,
      OfRequests | (Name extends "subscriptions/listen" ? Listener : never)
    >
  }
  & { readonly [Name in NotificationName<From>]?: NotificationHandler<Name, OfNotifications> }

/**
 * The services that a record of handlers needs, those included that the session provides.
 *
 * @category models
 */
export type ContextOf<H> = { [Name in keyof H]-?: NeededBy<H[Name]> }[keyof H]

/** The services that one handler needs. */
type NeededBy<Handler> = NonNullable<Handler> extends (...args: never) => Effect.Effect<infer _A, infer _E, infer R> ? R
  : never

/**
 * The services that the session provides to each run of a handler: a scope that closes when the handler has ended, and
 * the context of its request, or that of a client's notification.
 *
 * @category models
 */
export type Provided<From extends MethodDefinition.Role, Name> =
  | Scope.Scope
  | (Name extends "subscriptions/listen" ? Listener : never)
  | (Name extends RequestName<From> ? From extends "client" ? RequestContext : ClientRequestContext
    : From extends "client" ? NotificationContext
    : never)

/**
 * The services that a record of handlers for the messages of `From` needs, without those that the session provides.
 *
 * @category models
 */
export type ServicesOf<H, From extends MethodDefinition.Role> = {
  [Name in keyof H]-?: Exclude<NeededBy<H[Name]>, Provided<From, Name>>
}[keyof H]

/**
 * A type that no record with a handler of another method satisfies, so that a misspelled method does not compile.
 *
 * @category models
 */
export type Only<H, From extends MethodDefinition.Role> = {
  readonly [Name in Exclude<keyof H, RequestName<From> | NotificationName<From>>]:
    "is no request or notification that this side can handle"
}

/** The methods that have a handler in more than one of these records. */
type Duplicates<Records extends ReadonlyArray<unknown>> = Records extends readonly [infer First, ...infer Rest]
  ? Extract<keyof First, KeysOf<Rest[number]>> | Duplicates<Rest>
  : never

/** The keys of each member of a union. */
type KeysOf<Record> = Record extends unknown ? keyof Record : never

/** The record with the members of all of these records. */
type Merged<Records extends ReadonlyArray<unknown>> = Records extends readonly [infer First, ...infer Rest]
  ? First & Merged<Rest>
  : unknown

/**
 * Joins records of handlers. Two handlers of one method do not compile, and throw an error that names the method: a
 * spread (`{ ...tasks, ...reports }`) would silently lose the first one.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Handlers, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const tools = ServerSession.handlers({ "tools/call": () => Effect.succeed({ content: [Content.text("42")] }) })
 * const prompts = ServerSession.handlers({ "prompts/list": () => Effect.succeed({ prompts: [] }) })
 *
 * export const methods = Object.keys(Handlers.merge(tools, prompts)) // => ["tools/call", "prompts/list"]
 * ```
 *
 * @category combinators
 */
export const merge = <const Records extends ReadonlyArray<Handlers<MethodDefinition.Role, unknown>>>(
  ...records:
    & Records
    & ([Duplicates<Records>] extends [never] ? unknown
      : { readonly duplicate: `${Duplicates<Records> & string} has a handler in two records` })
): Merged<Records> => {
  const merged = new Map<string, unknown>()
  for (const record of records) {
    for (const [name, handler] of Object.entries(record)) {
      if (merged.has(name)) throw new Error(`two records have a handler of ${name}; a method has one handler`)
      merged.set(name, handler)
    }
  }
  // Each handler has the name, and so the type, that it has in the one record that it comes from.
  return trust<Merged<Records>>(Object.fromEntries(merged))
}

interface Members {
  readonly [name: string]: unknown
}

const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null

/** The capabilities that are declared by a flag; the others are objects. */
const flags: ReadonlySet<string> = new Set<Capabilities.Path>(["resources.subscribe"])

/** Throws an error if an extension is declared under a name that no extension can have (VER-17). */
const checkExtensions = ({ extensions = {} }: Pick<Capabilities.ClientCapabilities, "extensions">): void => {
  for (const name of Object.keys(extensions)) {
    if (Capabilities.isExtensionName(name)) continue
    throw new Error(
      `capabilities.extensions ${JSON.stringify(name)}: the name of an extension needs a prefix; ` +
        "use one such as \"com.example/search\""
    )
  }
}

/** Adds the capabilities that the rows of these handlers need to the declared ones. */
const withImplied = <Declared extends Pick<Capabilities.ClientCapabilities, "extensions">>(
  from: MethodDefinition.Role,
  handlers: Handlers<MethodDefinition.Role, unknown>,
  declared: Declared
): Declared => {
  checkExtensions(declared)
  const all = new Map<string, unknown>(Object.entries(declared))
  for (const [name, handler] of Object.entries(handlers)) {
    const path = handler === undefined ? undefined : MethodTable.findRequest(name, from)?.capability
    if (path === undefined) continue
    const [capability = path, part] = path.split(".")
    const known = all.has(capability) ? all.get(capability) : {}
    all.set(
      capability,
      part === undefined || !isMembers(known) ? known : { [part]: flags.has(path) ? true : {}, ...known }
    )
  }
  // Handlers of messages from one side add only capabilities of the other side, in the form of their flags or objects.
  return trust<Declared>(Object.fromEntries(all))
}

/**
 * The capabilities that a server declares beyond those of its handlers. `logging: false` switches off `logging`.
 *
 * @category models
 */
export interface ServerDeclarations extends Omit<Capabilities.ServerCapabilities, "logging"> {
  readonly logging?: Capabilities.Declared | false
}

/**
 * Returns the capabilities of a server: those of its handlers, and the declared ones. Each handler implies the
 * capability of its row. Every server declares `logging` unless it is switched off. Declared capabilities win, except
 * that a handler of subscriptions implies `resources.subscribe`, unless that is declared to be `false`.
 *
 * @example
 * ```ts
 * import { Handlers } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const capabilities = Handlers.serverCapabilities(
 *   { "resources/subscribe": () => Effect.succeed({}) },
 *   { resources: { listChanged: true } }
 * ) // => { resources: { subscribe: true, listChanged: true }, logging: {} }
 * ```
 *
 * @category derivations
 */
export const serverCapabilities = (
  handlers: Handlers<"client", unknown>,
  declared: ServerDeclarations = {}
): Capabilities.ServerCapabilities => {
  const { logging: declaredLogging = {}, ...declaredRest } = declared
  const { logging: _, ...implied } = withImplied<Capabilities.ServerCapabilities>("client", handlers, declaredRest)
  return declaredLogging === false ? implied : { ...implied, logging: declaredLogging }
}

/**
 * Returns the capabilities of a client: those of its handlers, and the declared ones. A handler of elicitation implies
 * an `elicitation` without modes, which stands for forms (ELI-02). Declare `{ form: {}, url: {} }` if the client can
 * also visit pages; `{ url: {} }` alone stands for pages only.
 *
 * @example
 * ```ts
 * import { Handlers } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const capabilities = Handlers.clientCapabilities({
 *   "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///home/ada/notes" }] })
 * }) // => { roots: {} }
 * ```
 *
 * @category derivations
 */
export const clientCapabilities = (
  handlers: Handlers<"server", unknown>,
  declared: Capabilities.ClientCapabilities = {}
): Capabilities.ClientCapabilities => withImplied("server", handlers, declared)
