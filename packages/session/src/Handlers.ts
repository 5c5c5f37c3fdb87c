/**
 * What one side does with what the other sends: a typed record, derived from the method table.
 *
 * @since 0.1.0
 */
import type { Capabilities, McpError, Method, Methods } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { CallbackContext } from "./CallbackContext.ts"
import type { RequestContext } from "./RequestContext.ts"

/**
 * The requests that a side may serve. `initialize` and `ping` are the session's own.
 *
 * @category models
 * @since 0.1.0
 */
export type RequestName<From extends Method.Role> = Exclude<Methods.RequestName<From>, "initialize" | "ping">

/**
 * The notifications that a side may listen to. The session keeps those about the handshake, cancellation and progress to
 * itself.
 *
 * @category models
 * @since 0.1.0
 */
export type NotificationName<From extends Method.Role> = Exclude<
  Methods.NotificationName<From>,
  "notifications/initialized" | "notifications/cancelled" | "notifications/progress"
>

/**
 * Serves one request. It runs in a fiber of its own, is interrupted when the peer cancels, and is answered for exactly
 * once: with its result, with its `McpError`, or, if it dies, with "Internal error".
 *
 * @category models
 * @since 0.1.0
 */
export type RequestHandler<Name extends keyof Methods.Requests, R = never> = (
  params: Methods.ParamsOf<Name>
) => Effect.Effect<Methods.ResultOf<Name>, McpError.McpError, R>

/**
 * Listens to one kind of notification. Notifications are handled one at a time, in the order they came.
 *
 * @category models
 * @since 0.1.0
 */
export type NotificationHandler<Name extends keyof Methods.Notifications, R = never> = (
  params: Methods.NotificationParamsOf<Name>
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
export type Handlers<From extends Method.Role, R = never> =
  & { readonly [Name in RequestName<From>]?: RequestHandler<Name, R> }
  & { readonly [Name in NotificationName<From>]?: NotificationHandler<Name, R> }

/**
 * The services that a record of handlers runs with.
 *
 * @category models
 * @since 0.1.0
 */
export type ContextOf<H> = {
  [Name in keyof H]-?: NonNullable<H[Name]> extends (...args: never) => Effect.Effect<infer _A, infer _E, infer R> ? R
    : never
}[keyof H]

/**
 * What the session provides to handlers, by itself and for each request: who asks, and a scope that closes when the handler has
 * ended.
 *
 * @category models
 * @since 0.1.0
 */
export type Provided = RequestContext | CallbackContext | Scope.Scope

/**
 * The services that a record of handlers needs, those the session provides left out.
 *
 * @category models
 * @since 0.1.0
 */
export type ServicesOf<H> = Exclude<ContextOf<H>, Provided>

/**
 * Makes a handler for something that is not in the method table a type error.
 *
 * @category models
 * @since 0.1.0
 */
export type Only<H, From extends Method.Role> = {
  readonly [Name in Exclude<keyof H, RequestName<From> | NotificationName<From>>]:
    "is no request or notification that this side can handle"
}

/**
 * The capabilities that a server's handlers amount to (TOOL-01, RES-01, PRM-01, CMP-01). That a list may change is not seen
 * from them: what is to say `listChanged` is declared beside them.
 *
 * @example
 * ```ts
 * import { Handlers } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const declared = Handlers.serverCapabilities({
 *   "tools/list": () => Effect.succeed({ tools: [] }),
 *   "resources/subscribe": () => Effect.succeed({})
 * }) // => { tools: {}, resources: { subscribe: true } }
 * ```
 *
 * @category derivations
 * @since 0.1.0
 */
export const serverCapabilities = (handlers: Handlers<"client", unknown>): Capabilities.ServerCapabilities => {
  const handles = (...names: ReadonlyArray<keyof Handlers<"client">>) =>
    names.some((name) => handlers[name] !== undefined)
  return {
    ...(handles("tools/list", "tools/call") ? { tools: {} } : undefined),
    ...(handles("prompts/list", "prompts/get") ? { prompts: {} } : undefined),
    ...(handles("resources/list", "resources/read", "resources/templates/list", "resources/subscribe")
      ? { resources: handles("resources/subscribe") ? { subscribe: true } : {} }
      : undefined),
    ...(handles("completion/complete") ? { completions: {} } : undefined),
    ...(handles("logging/setLevel") ? { logging: {} } : undefined)
  }
}

/**
 * The capabilities that a client's handlers amount to (ROOT-01, SMP-01, ELI-01). Elicitation stands for forms (ELI-02);
 * declare `url` beside it where pages to visit are understood, too.
 *
 * @example
 * ```ts
 * import { Handlers } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const declared = Handlers.clientCapabilities({
 *   "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///home/ada/notes" }] })
 * }) // => { roots: {} }
 * ```
 *
 * @category derivations
 * @since 0.1.0
 */
export const clientCapabilities = (handlers: Handlers<"server", unknown>): Capabilities.ClientCapabilities => ({
  ...(handlers["sampling/createMessage"] !== undefined ? { sampling: {} } : undefined),
  ...(handlers["elicitation/create"] !== undefined ? { elicitation: {} } : undefined),
  ...(handlers["roots/list"] !== undefined ? { roots: {} } : undefined)
})
