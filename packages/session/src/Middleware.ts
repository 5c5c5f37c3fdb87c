/**
 * Middleware of requests: functions around the handler of an inbound request, and around the sending of an outbound
 * one. Middleware can observe a request, change its params, reply to it, fail it, or retry it. It cannot change the
 * state of the session, the matching of responses, cancellation or limits. To see frames, use `Recording`.
 *
 * @stability unstable
 */
import type { McpError, MethodDefinition, MethodTable, Profile, RequestId } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type { RequestName } from "./Handlers.ts"
import { trust } from "./internal/trust.ts"
import type { RequestError } from "./RequestError.ts"

/**
 * A request of the peer that the session has checked, params included, before its handler runs.
 *
 * @category models
 */
export interface InboundRequest<out Params> {
  /** The method of the request. */
  readonly method: string
  /** The id of the request, as the peer sent it. */
  readonly id: RequestId.RequestId
  /** The params of the request, which match the schema of the method. */
  readonly params: Params
  /** The profile of the peer. */
  readonly profile: Profile.Profile
}

/**
 * A request of this side, before the session has checked it and given it an id. Each call of `next` sends a new
 * request.
 *
 * @category models
 */
export interface OutboundRequest<out Params> {
  /** The method of the request. */
  readonly method: string
  /** The params of the request. */
  readonly params: Params
  /** The profile of the peer; `undefined` before the handshake. */
  readonly profile: Profile.Profile | undefined
  /** Called with the id that the session gives to the request. */
  readonly onOpen: ((id: RequestId.RequestId) => void) | undefined
}

/**
 * A function around the handler of each request of the peer. It runs in the fiber of the handler, with the services of
 * handlers.
 *
 * @category models
 */
export type InboundMiddleware<Services = never> = <Params extends object, Result, R>(
  request: InboundRequest<Params>,
  next: (request: InboundRequest<Params>) => Effect.Effect<Result, McpError.McpError, R>
) => Effect.Effect<Result, McpError.McpError, R | Services>

/**
 * A function around the sending of each request. It runs in the fiber of the caller.
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
  /** Runs for each request of this side except `initialize`, even if the session rejects the request next. */
  readonly outbound?: OutboundMiddleware<OutboundServices> | undefined
}

/** The services that middleware needs for inbound requests. */
type InboundServicesOf<M> = M extends Middleware<infer R, infer _> ? R : never
/** The services that middleware needs for outbound requests. */
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
 * Combines middleware. A request passes the first one first, in both directions.
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
  // A fold hides the services of each element. The result needs the services of all elements.
  trust<Middleware<InboundServicesOf<M[number]>, OutboundServicesOf<M[number]>>>(
    middleware.reduce<Middleware<unknown, unknown>>(
      (first, second) => ({
        inbound: bothInbound(first.inbound, second.inbound),
        outbound: bothOutbound(first.outbound, second.outbound)
      }),
      {}
    )
  )

/**
 * Creates middleware around the handler of one method.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Middleware } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // A defect of a tool becomes a result that the model can read.
 * export const reported = Middleware.inbound("tools/call", (request, next) =>
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
  inbound: <Params extends object, Result, R>(
    request: InboundRequest<Params>,
    next: (request: InboundRequest<Params>) => Effect.Effect<Result, McpError.McpError, R>
  ) => {
    if (request.method !== name) return next(request)
    // The compared name selects the row of the method table that types these params and this result.
    const served = middleware(
      trust<InboundRequest<MethodTable.ParamsOf<Name>>>(request),
      trust<Parameters<typeof middleware>[1]>(next)
    )
    return trust<Effect.Effect<Result, McpError.McpError, R | Services>>(served)
  }
})

/**
 * Creates middleware around the sending of requests of one method.
 *
 * @example
 * ```ts
 * import { Middleware } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Lists are requested again if the server was slow. Calls of tools are not, because they may have had their effect.
 * export const retried = Middleware.outbound("tools/list", (request, next) =>
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
  outbound: <Params extends object, Result, R>(
    request: OutboundRequest<Params>,
    next: (request: OutboundRequest<Params>) => Effect.Effect<Result, RequestError, R>
  ) => {
    if (request.method !== name) return next(request)
    // The compared name selects the row of the method table that types these params and this result.
    const sent = middleware(
      trust<OutboundRequest<MethodTable.ParamsOf<Name>>>(request),
      trust<Parameters<typeof middleware>[1]>(next)
    )
    return trust<Effect.Effect<Result, RequestError, R | Services>>(sent)
  }
})
