/**
 * Middleware of a group: effects around its handlers, which can provide a service for each request.
 *
 * A group names its middleware in its definition, as an `RpcGroup` does. Its handlers may then use the services that
 * the middleware provides, and its Layer needs the middleware.
 *
 * @stability unstable
 */
import type { McpError } from "@effect-mcp/protocol"
import type { RequestContext } from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as LayerServices from "./internal/LayerServices.ts"
import { trust } from "./internal/trust.ts"

/** Identifies the keys and the types of middleware. */
const TypeId = "~effect-mcp/server/McpMiddleware"

/**
 * The result of a handler. Middleware returns it unchanged, because its type is known only to the handler.
 *
 * @category models
 */
export interface HandlerResult {
  readonly [TypeId]: "HandlerResult"
}

/**
 * The member of a group that a request uses.
 *
 * @category models
 */
export interface Target {
  /** The id of the group. */
  readonly group: string
  /**
   * The beginning that `McpMount` gives the names of the group, such as `work_`; empty without a mount. It
   * distinguishes a group from the same group under another prefix.
   */
  readonly mount: string
  /**
   * The method of the request. For a list it is `tools/list` and the like: the middleware then runs around the effects
   * that decide which members are visible.
   */
  readonly method: string
  /**
   * The name of the tool or the prompt, or the URI of the resource, as the group defines it. `undefined` for a list.
   */
  readonly name: string | undefined
  /** The arguments of the request, before they are decoded. `undefined` for a list and for a resource. */
  readonly arguments: unknown
  /** Whether `visible` of the member decides if this client sees it. The handler that a middleware gets includes it. */
  readonly isConditional: boolean
}

/**
 * The services that every handler and every middleware has: the context of the request, and a scope that closes when
 * the request has ended.
 *
 * @category models
 */
export type RequestServices = RequestContext.RequestContext | Scope.Scope

/**
 * An effect around a handler. It runs the handler with the services that it provides, and may run code before and
 * after it, or fail without running it.
 *
 * @category models
 */
export type McpMiddleware<Provides, Requires> = (
  handler: Effect.Effect<HandlerResult, McpError.McpError, Provides>,
  target: Target
) => Effect.Effect<HandlerResult, McpError.McpError, Requires | RequestServices>

/**
 * The type of a middleware with the services that it provides and requires.
 *
 * @category models
 */
export interface AnyId {
  readonly [TypeId]: { readonly provides: unknown; readonly requires: unknown }
}

/**
 * The key of a middleware.
 *
 * @category models
 */
export interface AnyService {
  readonly [TypeId]: typeof TypeId
  readonly key: string
  readonly Identifier: unknown
}

/**
 * The services that a middleware provides to the handlers.
 *
 * @category models
 */
export type Provides<Id> = Id extends { readonly [TypeId]: { readonly provides: infer P } } ? P : never

/**
 * The services that a middleware requires for each request, from the middleware around it.
 *
 * @category models
 */
export type Requires<Id> = Id extends { readonly [TypeId]: { readonly requires: infer R } } ? R : never

/**
 * The class of a middleware's key.
 *
 * @category models
 */
export interface ServiceClass<Self, Id extends string, P, R> extends Context.Service<Self, McpMiddleware<P, R>> {
  new(_: never): Context.ServiceClass.Shape<Id, McpMiddleware<P, R>> & {
    readonly [TypeId]: { readonly provides: P; readonly requires: R }
  }
  readonly [TypeId]: typeof TypeId
}

type Member<Config, Name extends "provides" | "requires"> = Name extends keyof Config ? Config[Name] : never

/**
 * Defines a middleware: a class that is its key. `provides` is the service that each request gets, and `requires` a
 * service that an outer middleware provides.
 *
 * @example
 * ```ts
 * import { McpMiddleware } from "@effect-mcp/server"
 * import * as Context from "effect/Context"
 *
 * export class CurrentUser extends Context.Service<CurrentUser, { readonly id: string }>()("CurrentUser") {}
 *
 * export class Authorization extends McpMiddleware.Service<Authorization, { provides: CurrentUser }>()(
 *   "Authorization"
 * ) {}
 * ```
 *
 * @category constructors
 */
export const Service =
  <Self, Config extends { readonly provides?: unknown; readonly requires?: unknown } = {}>() =>
  <const Id extends string>(id: Id): ServiceClass<Self, Id, Member<Config, "provides">, Member<Config, "requires">> =>
    // The type of `provides` and `requires` exists only for the compiler: no value carries it.
    trust(
      Object.assign(
        Context.Service<Self, McpMiddleware<Member<Config, "provides">, Member<Config, "requires">>>()(id),
        { [TypeId]: TypeId }
      )
    )

/**
 * Implements a middleware that provides one service: `make` runs for each request, and its result is the service. The
 * Layer needs what `make` needs, except for the services of the request. If `make` fails, the request fails with its
 * error, and the handler does not run.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import { McpMiddleware, McpRequest } from "@effect-mcp/server"
 * import * as Context from "effect/Context"
 * import * as Effect from "effect/Effect"
 *
 * class CurrentUser extends Context.Service<CurrentUser, { readonly id: string }>()("CurrentUser") {}
 * class Authorization extends McpMiddleware.Service<Authorization, { provides: CurrentUser }>()("Authorization") {}
 *
 * export const AuthorizationLive = McpMiddleware.layer(
 *   Authorization,
 *   CurrentUser,
 *   Effect.flatMap(McpRequest.McpRequest, ({ principal }) =>
 *     principal === undefined
 *       ? Effect.fail(McpError.invalidRequest("Sign in first"))
 *       : Effect.succeed({ id: principal.id }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = <Self extends AnyId, S, R>(
  middleware: Context.Key<Self, McpMiddleware<Provides<Self>, Requires<Self>>>,
  service: Context.Key<Provides<Self>, S>,
  make: Effect.Effect<S, McpError.McpError, R>
): Layer.Layer<Self, never, Exclude<R, RequestServices | Requires<Self>>> =>
  Layer.effect(
    middleware,
    Effect.map(
      Effect.context<Exclude<R, RequestServices | Requires<Self>>>(),
      (context): McpMiddleware<Provides<Self>, Requires<Self>> => {
        const services = LayerServices.insideGroup(context)
        return (handler) =>
          Effect.flatMap(
            // Both contexts together have all of `R`; `Exclude` hides this from the compiler.
            Effect.updateContext(
              make,
              (request: Context.Context<RequestServices | Requires<Self>>) =>
                trust<Context.Context<R>>(services(request))
            ),
            (value) => Effect.provideService(handler, service, value)
          )
      }
    )
  )
