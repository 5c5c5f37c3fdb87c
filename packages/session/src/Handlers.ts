/**
 * What one side does with what the other sends: a typed record, derived from the method table.
 *
 * @since 0.1.0
 */
import { type Capabilities, type McpError, type MethodDefinition, MethodTable } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { CallbackContext } from "./CallbackContext.ts"
import { trust } from "./internal/trust.ts"
import type { RequestContext } from "./RequestContext.ts"

/**
 * The requests that a side may serve. `initialize` and `ping` are the session's own.
 *
 * @category models
 * @since 0.1.0
 */
export type RequestName<From extends MethodDefinition.Role> = Exclude<
  MethodTable.RequestName<From>,
  "initialize" | "ping"
>

/**
 * The notifications that a side may listen to. The session keeps those about the handshake, cancellation and progress to
 * itself.
 *
 * @category models
 * @since 0.1.0
 */
export type NotificationName<From extends MethodDefinition.Role> = Exclude<
  MethodTable.NotificationName<From>,
  "notifications/initialized" | "notifications/cancelled" | "notifications/progress"
>

/**
 * Serves one request. It runs in a fiber of its own, is interrupted when the peer cancels, and is answered for exactly
 * once: with its result, with its `McpError`, or, if it dies, with "Internal error".
 *
 * @category models
 * @since 0.1.0
 */
export type RequestHandler<Name extends keyof MethodTable.Requests, R = never> = (
  params: MethodTable.ParamsOf<Name>
) => Effect.Effect<MethodTable.ResultOf<Name>, McpError.McpError, R>

/**
 * Listens to one kind of notification. Notifications are handled one at a time, in the order they came.
 *
 * @category models
 * @since 0.1.0
 */
export type NotificationHandler<Name extends keyof MethodTable.Notifications, R = never> = (
  params: MethodTable.NotificationParamsOf<Name>
) => Effect.Effect<void, never, R>

/**
 * The handlers of the messages that `From` sends. What has a handler is declared as a capability; what has none is answered
 * "Method not found".
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
 * @since 0.1.0
 */
export type Handlers<From extends MethodDefinition.Role, R = never> =
  & { readonly [Name in RequestName<From>]?: RequestHandler<Name, R> }
  & {
    readonly [Name in NotificationName<From>]?: NotificationHandler<Name, Exclude<R, RequestContext | CallbackContext>>
  }

/**
 * The services that a record of handlers runs with.
 *
 * @category models
 * @since 0.1.0
 */
export type ContextOf<H> = { [Name in keyof H]-?: NeededBy<H[Name]> }[keyof H]

/** The services that one handler runs with. */
type NeededBy<Handler> = NonNullable<Handler> extends (...args: never) => Effect.Effect<infer _A, infer _E, infer R> ? R
  : never

/**
 * What the session provides to a handler of what `From` sends, by itself and each time: a scope that closes when the handler has
 * ended, and to a handler of requests who asks. Nobody waits for what is made of a notification, so there is nobody to report to.
 *
 * @category models
 * @since 0.1.0
 */
export type Provided<From extends MethodDefinition.Role, Name> =
  | Scope.Scope
  | (Name extends RequestName<From> ? From extends "client" ? RequestContext : CallbackContext : never)

/**
 * The services that a record of handlers of what `From` sends needs, those the session provides left out.
 *
 * @category models
 * @since 0.1.0
 */
export type ServicesOf<H, From extends MethodDefinition.Role> = {
  [Name in keyof H]-?: Exclude<NeededBy<H[Name]>, Provided<From, Name>>
}[keyof H]

/**
 * Makes a handler for something that is not in the method table a type error.
 *
 * @category models
 * @since 0.1.0
 */
export type Only<H, From extends MethodDefinition.Role> = {
  readonly [Name in Exclude<keyof H, RequestName<From> | NotificationName<From>>]:
    "is no request or notification that this side can handle"
}

interface Members {
  readonly [name: string]: unknown
}

const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null

/** The capabilities of requests that are declared by a flag; the others leave room for more. */
const flags: ReadonlySet<string> = new Set<Capabilities.Path>(["resources.subscribe"])

/** What is declared, and beside it what the rows of these handlers need. */
const withShown = <Declared extends object>(
  from: MethodDefinition.Role,
  handlers: Handlers<MethodDefinition.Role, unknown>,
  declared: Declared
): Declared => {
  const all = new Map<string, unknown>(Object.entries(declared))
  for (const [name, handler] of Object.entries(handlers)) {
    const path = handler === undefined ? undefined : MethodTable.findRequest(name, from)?.capability
    if (path === undefined) continue
    const [capability = path, part] = path.split(".")
    const said = all.has(capability) ? all.get(capability) : {}
    all.set(
      capability,
      part === undefined || !isMembers(said) ? said : { [part]: flags.has(path) ? true : {}, ...said }
    )
  }
  // What the rows of one role's requests need are capabilities of the other.
  return trust(Object.fromEntries(all))
}

/**
 * What a server declares beyond what its handlers show. `logging: false` switches off `logging`, which it has
 * otherwise.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServerDeclarations extends Omit<Capabilities.ServerCapabilities, "logging"> {
  readonly logging?: Capabilities.Declared | false
}

/**
 * The capabilities that a server's handlers amount to, and what it declares beyond them. Each capability is that of the
 * handler's row. Every server can log, so `logging` is declared unless it is switched off. What is declared counts; but
 * a handler of subscriptions shows `resources.subscribe` whatever else is declared of resources, unless it is declared
 * to be `false`.
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
 * @since 0.1.0
 */
export const serverCapabilities = (
  handlers: Handlers<"client", unknown>,
  declared: ServerDeclarations = {}
): Capabilities.ServerCapabilities => {
  const { logging: declaredLogging = {}, ...declaredRest } = declared
  const { logging: _, ...shown } = withShown<Capabilities.ServerCapabilities>("client", handlers, declaredRest)
  return declaredLogging === false ? shown : { ...shown, logging: declaredLogging }
}

/**
 * The capabilities that a client's handlers amount to, and what it declares beyond them. A handler of questions shows an
 * `elicitation` without modes, which stands for forms (ELI-02). Declare `{ form: {}, url: {} }` where pages to visit are
 * understood, too: `{ url: {} }` alone stands for pages only.
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
 * @since 0.1.0
 */
export const clientCapabilities = (
  handlers: Handlers<"server", unknown>,
  declared: Capabilities.ClientCapabilities = {}
): Capabilities.ClientCapabilities => withShown("server", handlers, declared)
