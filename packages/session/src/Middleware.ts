/**
 * Middleware of requests: on their way to their handler, and out to the peer. It may observe them, change their params,
 * answer them, fail, or retry. It cannot change the state of the session, matching, cancellation or limits. To see
 * frames, record the transport.
 */
import type { McpError, MethodDefinition, MethodTable, Profile, RequestId } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type { RequestName } from "./Handlers.ts"
import { trust } from "./internal/trust.ts"
import type { RequestError } from "./RequestError.ts"

/**
 * A request of the peer, past the gates of the session and with params that fit, on its way to its handler.
 *
 * @category models
 */
export interface InboundRequest<out Params> {
  readonly method: string
  readonly id: RequestId.RequestId
  readonly params: Params
  /** The profile of the peer. */
  readonly profile: Profile.Profile
}

/**
 * A request of this side, before it has an id and before any gate. Each time it is passed on, a new exchange is opened.
 *
 * @category models
 */
export interface OutboundRequest<out Params> {
  readonly method: string
  readonly params: Params
  /** The profile of the peer; `undefined` before the handshake. */
  readonly profile: Profile.Profile | undefined
  /** Called with the id of the exchange that the request opens. */
  readonly onOpen: ((id: RequestId.RequestId) => void) | undefined
}

/**
 * Runs between a request of the peer and its handler: in the fiber of the handler, with the services of handlers.
 *
 * @category models
 */
export type InboundMiddleware<Services = never> = <Params extends object, Result, R>(
  request: InboundRequest<Params>,
  next: (request: InboundRequest<Params>) => Effect.Effect<Result, McpError.McpError, R>
) => Effect.Effect<Result, McpError.McpError, R | Services>

/**
 * Runs between a caller and the session, in the fiber of the caller.
 *
 * @category models
 */
export type OutboundMiddleware<Services = never> = <Params extends object, Result, R>(
  request: OutboundRequest<Params>,
  next: (request: OutboundRequest<Params>) => Effect.Effect<Result, RequestError, R>
) => Effect.Effect<Result, RequestError, R | Services>

/**
 * Middleware of both directions. Its services become requirements of the session's Layer, except for the context of the
 * request that a handler runs with. The type has to name them, because a function for any params cannot be inspected:
 * middleware that uses a service `Quota` has the type `Middleware<Quota>`. {@link inbound} and {@link outbound} infer
 * it.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import { type Middleware, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const audited: Middleware.Middleware = {
 *   inbound: (request, next) => Effect.tap(next(request), () => Effect.logInfo(`served ${request.method}`)),
 *   outbound: (request, next) => Effect.tapError(next(request), (error) => Effect.logWarning(error.message))
 * }
 *
 * export const main = ServerSession.serve(
 *   { "tools/call": () => Effect.fail(McpError.invalidParams("no tools today")) },
 *   { info: { name: "example", version: "1.0.0" }, middleware: audited }
 * )
 * ```
 *
 * @category models
 */
export interface Middleware<InboundServices = never, OutboundServices = never> {
  /**
   * Runs for each request of the peer that reaches a handler. It does not run for `initialize` and `ping`, which the
   * session answers itself, and for rejected requests, which the event `Rejected` reports.
   */
  readonly inbound?: InboundMiddleware<InboundServices> | undefined
  /** Runs for each request of this side except `initialize`, also for one that a gate rejects next. */
  readonly outbound?: OutboundMiddleware<OutboundServices> | undefined
}

/** The services that middleware needs in either direction. */
type InboundServicesOf<M> = M extends Middleware<infer R, infer _> ? R : never
type OutboundServicesOf<M> = M extends Middleware<infer _, infer R> ? R : never

const bothInbound = <S, T>(
  first: InboundMiddleware<S> | undefined,
  second: InboundMiddleware<T> | undefined
): InboundMiddleware<S | T> | undefined => {
  if (first === undefined || second === undefined) return first ?? second
  return (request, next) => first(request, (changed) => second(changed, next))
}

const bothOutbound = <S, T>(
  first: OutboundMiddleware<S> | undefined,
  second: OutboundMiddleware<T> | undefined
): OutboundMiddleware<S | T> | undefined => {
  if (first === undefined || second === undefined) return first ?? second
  return (request, next) => first(request, (changed) => second(changed, next))
}

/**
 * Combines middleware. A request passes the first one first, in either direction.
 *
 * @example
 * ```ts
 * import { Metrics, Middleware, Tracing } from "@effect-mcp/session"
 *
 * // Each request has a span, and is measured inside of it.
 * export const observed = Middleware.all(Tracing.make(), Metrics.middleware)
 * ```
 *
 * @category combinators
 */
export const all = <const M extends ReadonlyArray<Middleware<unknown, unknown>>>(
  ...middleware: M
): Middleware<InboundServicesOf<M[number]>, OutboundServicesOf<M[number]>> =>
  // What all of them need together is what each of them needs.
  trust(middleware.reduce<Middleware<unknown, unknown>>((first, second) => ({
    inbound: bothInbound(first.inbound, second.inbound),
    outbound: bothOutbound(first.outbound, second.outbound)
  }), {}))

/**
 * Makes middleware for the requests of one method that `From` sends, on their way to their handler.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Middleware } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // What a tool dies of becomes a result that the model can read.
 * export const forgiving = Middleware.inbound("tools/call", (request, next) =>
 *   Effect.catchDefect(next(request), () =>
 *     Effect.succeed({ content: [Content.text(`${request.params.name} is broken`)], isError: true })
 *   ))
 * ```
 *
 * @category constructors
 */
export const inbound = <Name extends RequestName<MethodDefinition.Role>, Services = never>(
  name: Name,
  middleware: (
    request: InboundRequest<MethodTable.ParamsOf<Name>>,
    next: (
      request: InboundRequest<MethodTable.ParamsOf<Name>>
    ) => Effect.Effect<MethodTable.ResultOf<Name>, McpError.McpError>
  ) => Effect.Effect<MethodTable.ResultOf<Name>, McpError.McpError, Services>
): Middleware<Services> => ({
  // The method's name is that of the row whose params and result these are.
  inbound: (request, next) => request.method === name ? trust(middleware(trust(request), trust(next))) : next(request)
})

/**
 * Makes middleware for the requests of one method that this side sends.
 *
 * @example
 * ```ts
 * import { Middleware } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Lists are read again if the server was slow; calls of tools are not, since they may have had their effect.
 * export const patient = Middleware.outbound("tools/list", (request, next) =>
 *   Effect.retry(next(request), {
 *     while: (error) => error.reason._tag === "Timeout",
 *     times: 2
 *   }))
 * ```
 *
 * @category constructors
 */
export const outbound = <Name extends RequestName<MethodDefinition.Role>, Services = never>(
  name: Name,
  middleware: (
    request: OutboundRequest<MethodTable.ParamsOf<Name>>,
    next: (
      request: OutboundRequest<MethodTable.ParamsOf<Name>>
    ) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError>
  ) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError, Services>
): Middleware<never, Services> => ({
  outbound: (request, next) => request.method === name ? trust(middleware(trust(request), trust(next))) : next(request)
})
