/**
 * From a request to its result, without a session: no scope, no queue, no reader. A session runs each of its requests
 * through it in a fiber; a server without sessions can call it directly.
 *
 * What a session does besides is then the caller's to do: it answers `initialize` and `ping`, gives handlers their context
 * (`RequestContext` or `CallbackContext`, if they ask for it, and a scope), and makes results fit the peer's revision by
 * `Differences.project`.
 *
 * @since 0.1.0
 */
import { type JsonRpc, McpError, type Method, Methods, type Profile, Revision } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type {
  ContextOf,
  Handlers,
  NotificationHandler,
  NotificationName,
  RequestHandler,
  RequestName
} from "./Handlers.ts"
import { trust } from "./internal/trust.ts"
import { validate } from "./internal/validation.ts"
import type { Inbound } from "./Middleware.ts"

/**
 * Handlers, ready to be asked by the names that come off the wire.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dispatch<R> {
  /**
   * What there is to do about a request: looks up its method in the table and the peer's revision, and checks the params. Fails
   * with −32601 for a method that is not served and −32602 for params that do not fit, before any handler has run.
   */
  readonly prepare: (
    request: JsonRpc.Request,
    profile: Profile.Profile
  ) => Result.Result<Effect.Effect<unknown, McpError.McpError, R>, McpError.McpError>
  /**
   * Serves one request: prepares it, runs its handler behind the middleware, and puts the result into the words of the peer's
   * revision. Fails as `prepare` does, and with whatever `McpError` the handler fails with.
   */
  readonly handle: (
    request: JsonRpc.Request,
    profile: Profile.Profile
  ) => Effect.Effect<unknown, McpError.McpError, R>
  /**
   * What there is to do about a notification: fails with the reason if it is none that this peer may send, and succeeds with
   * what its handler does, or `undefined` where it has none.
   */
  readonly notify: (
    notification: JsonRpc.Notification,
    profile: Profile.Profile
  ) => Result.Result<Effect.Effect<void, never, R> | undefined, string>
}

/** The params as they count: absent and `null` are no params. */
const paramsOf = (message: JsonRpc.Request | JsonRpc.Notification): unknown => message.params ?? {}

/**
 * Prepares the handlers of what `from` sends, and the middleware that stands before those of requests.
 *
 * @example
 * ```ts
 * import { Content, JsonRpc } from "@effect-mcp/protocol"
 * import { Dispatch } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const dispatch = Dispatch.make("client", {
 *   "tools/call": ({ name }) => Effect.succeed({ content: [Content.text(`you called ${name}`)] })
 * })
 * const profile = { revision: "2025-11-25", capabilities: {}, info: undefined } as const
 *
 * export const result = dispatch.handle(JsonRpc.request(1, "tools/call", { name: "add" }), profile)
 * // => { content: [{ type: "text", text: "you called add" }] }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <From extends Method.Role, const H extends Handlers<From, unknown>, Services = never>(
  from: From,
  handlers: H,
  middleware?: Inbound<Services>
): Dispatch<ContextOf<H> | Services> => {
  type R = ContextOf<H> | Services
  // Maps, since a record would find `constructor` and `__proto__` under names off the wire.
  const byName = new Map<string, unknown>(Object.entries({ ...handlers }))
  // A record's cell for a name holds the handler for that name's row; the lookup by a string cannot show it.
  const requestHandler = (name: string) =>
    trust<RequestHandler<RequestName<From> & keyof Methods.Requests, R> | undefined>(byName.get(name))
  const notificationHandler = (name: string) =>
    trust<NotificationHandler<NotificationName<From> & keyof Methods.Notifications, R> | undefined>(byName.get(name))

  const isIn = (row: { readonly since: Revision.Revision }, profile: Profile.Profile) =>
    Revision.isAtLeast(profile.revision, row.since)

  const prepare: Dispatch<R>["prepare"] = (request, profile) => {
    const row = Methods.findRequest(request.method, from)
    const handler = row === undefined ? undefined : requestHandler(row.name)
    if (row === undefined || handler === undefined || !isIn(row, profile)) {
      return Result.fail(McpError.methodNotFound(request.method))
    }
    const checked = validate<unknown>(trust(row.params))(paramsOf(request))
    if (Result.isFailure(checked)) {
      return Result.fail(McpError.invalidParams(`Invalid params for ${request.method}: ${checked.failure}`))
    }
    // The row's schema has just said that these are the handler's params.
    const params = trust<Parameters<typeof handler>[0]>(checked.success)
    return Result.succeed(Effect.suspend(() =>
      middleware === undefined
        ? handler(params)
        : middleware({ method: row.name, id: request.id, params, profile }, (passed) => handler(passed.params))
    ))
  }

  return {
    prepare,
    handle: (request, profile) => {
      const prepared = prepare(request, profile)
      return Result.isSuccess(prepared) ? prepared.success : Effect.fail(prepared.failure)
    },
    notify: (notification, profile) => {
      const row = Methods.findNotification(notification.method, from)
      if (row === undefined || !isIn(row, profile)) return Result.fail("unknown method")
      const handler = notificationHandler(row.name)
      const params = validate<unknown>(trust(row.params))(paramsOf(notification))
      if (Result.isFailure(params)) return Result.fail(params.failure)
      return Result.succeed(
        handler === undefined ? undefined : Effect.suspend(() => handler(trust(params.success)))
      )
    }
  }
}
