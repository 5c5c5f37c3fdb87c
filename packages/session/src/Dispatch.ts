/**
 * From a request to its result, without a session: no scope, no queue, no reader. A session runs each of its requests
 * through it in a fiber; a server without sessions can call it directly.
 *
 * What a session does besides is then the caller's to do: it answers `initialize` and `ping`, and gives handlers their context
 * (`RequestContext` or `CallbackContext`, if they ask for it, and a scope).
 *
 * @since 0.1.0
 */
import {
  type Capabilities,
  type JsonRpc,
  McpError,
  type MethodDefinition,
  MethodTable,
  type Profile,
  Revision,
  type RevisionProjection
} from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Extension } from "./Extension.ts"
import type { ContextOf, Handlers } from "./Handlers.ts"
import * as RequestRejections from "./internal/engine/RequestRejections.ts"
import * as ResultEncoding from "./internal/engine/ResultEncoding.ts"
import * as SemanticChecks from "./internal/engine/SemanticChecks.ts"
import { type Validate, validate } from "./internal/engine/validation.ts"
import { trust } from "./internal/trust.ts"
import type { Inbound } from "./Middleware.ts"

/**
 * Handlers, ready to be asked by the names that come off the wire.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dispatch<R> {
  /**
   * What there is to do about a request: looks up its method and the peer's revision, and checks the params and what
   * else must be true of them (SMP-03, ELI-05). Fails with −32601 for a method that is not served and −32602 for params
   * that do not fit, before any middleware or handler has run. What is to be done ends with the result in the words of
   * the peer's revision, and dies of one that no receiver would understand. The failure is a plain object, without a
   * stack: peers decide how many there are.
   */
  readonly prepare: (
    request: JsonRpc.Request,
    profile: Profile.Profile
  ) => Result.Result<Effect.Effect<unknown, McpError.McpError, R>, JsonRpc.ErrorObject>
  /** Serves one request: prepares it and does what there is to do. Fails as `prepare` does, or as the handler does. */
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

/**
 * What may be said beside the handlers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Services = never> {
  /** What stands before the handlers of requests. */
  readonly middleware?: Inbound<Services> | undefined
  /** What is handled beyond the method table. A method of the table is not replaced. */
  readonly extensions?: ReadonlyArray<Extension<MethodDefinition.Sender, Services>> | undefined
  /** What a client has declared to its server; it refuses questions of another kind (ELI-05). Default: none are. */
  readonly declared?: (() => Capabilities.ClientCapabilities) | undefined
  /** The form of results for peers of older revisions. Default: `"tolerant"`, see `RevisionProjection.Projection`. */
  readonly projection?: RevisionProjection.Projection | undefined
}

/** A handler, and what a message must be to reach it. */
interface Handled<Handler> {
  readonly name: string
  readonly since: Revision.Revision
  readonly check: Validate<object>
  readonly handler: Handler
}

type ServesRequest<R> = (params: object) => Effect.Effect<unknown, McpError.McpError, R>
type ServesNotification<R> = (params: object) => Effect.Effect<void, never, R>

const handled = <Handler>(
  row: { readonly name: string; readonly since: Revision.Revision; readonly params: object },
  handler: Handler
): Handled<Handler> => ({
  name: row.name,
  since: row.since,
  // The params of a method are an object, whatever else they are.
  check: validate<object>(trust(row.params)),
  handler
})

/** The params as they count: absent and `null` are no params. */
const paramsOf = (message: JsonRpc.Request | JsonRpc.Notification): unknown => message.params ?? {}

const isIn = (row: { readonly since: Revision.Revision }, profile: Profile.Profile): boolean =>
  Revision.isAtLeast(profile.revision, row.since)

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
export const make = <From extends MethodDefinition.Role, const H extends Handlers<From, unknown>, Services = never>(
  from: From,
  handlers: H,
  options: Options<Services> = {}
): Dispatch<ContextOf<H> | Services> => {
  type R = ContextOf<H> | Services
  const { declared, extensions = [], middleware, projection } = options
  // Maps, since a record would find `constructor` and `__proto__` under names off the wire.
  const own = new Map<string, unknown>(Object.entries(handlers))
  const requests = new Map<string, Handled<ServesRequest<R>>>()
  const notifications = new Map<string, Handled<ServesNotification<R> | undefined>>()

  // A record's cell for a name holds the handler for that name's row, and an extension what its row is about; a lookup by a
  // string cannot show it.
  for (const { handler, row } of extensions) {
    if (row.kind === "request") requests.set(row.name, handled(row, trust(handler)))
    else notifications.set(row.name, handled(row, trust(handler)))
  }
  for (const name of Object.keys(MethodTable.requests)) {
    const row = MethodTable.findRequest(name, from)
    const handler = own.get(name)
    if (row === undefined || handler === undefined) requests.delete(name)
    else requests.set(name, handled(row, trust(handler)))
  }
  for (const name of Object.keys(MethodTable.notifications)) {
    const row = MethodTable.findNotification(name, from)
    if (row === undefined) notifications.delete(name)
    else notifications.set(name, handled(row, trust(own.get(name))))
  }

  const prepare: Dispatch<R>["prepare"] = (request, profile) => {
    const served = requests.get(request.method)
    if (served === undefined || !isIn(served, profile)) {
      return Result.fail(RequestRejections.methodNotFound(request.method))
    }
    const { handler, name: method } = served
    const checked = served.check(paramsOf(request))
    if (Result.isFailure(checked)) {
      return Result.fail(RequestRejections.invalidParams(`Invalid params for ${method}: ${checked.failure}`))
    }
    const params = checked.success
    const refusal = SemanticChecks.refusalOf(method, params, declared)
    if (refusal !== undefined) return Result.fail(RequestRejections.invalidParams(refusal))
    return Result.succeed(Effect.flatMap(
      Effect.suspend(() =>
        middleware === undefined
          ? handler(params)
          : middleware({ method, id: request.id, params, profile }, (passed) => handler(passed.params))
      ),
      (value) => ResultEncoding.fit(method, profile.revision, params, value, projection)
    ))
  }

  return {
    prepare,
    handle: (request, profile) => {
      const prepared = prepare(request, profile)
      return Result.isSuccess(prepared) ? prepared.success : Effect.fail(McpError.received(prepared.failure))
    },
    notify: (notification, profile) => {
      const heard = notifications.get(notification.method)
      if (heard === undefined || !isIn(heard, profile)) return Result.fail("unknown method")
      const { check, handler } = heard
      const params = check(paramsOf(notification))
      if (Result.isFailure(params)) return Result.fail(params.failure)
      return Result.succeed(handler === undefined ? undefined : Effect.suspend(() => handler(params.success)))
    }
  }
}
