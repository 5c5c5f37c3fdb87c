/** The handlers of one side by method, with the checks and the middleware in front of them. */

import {
  type Capabilities,
  type JsonRpc,
  type McpError,
  MethodDefinition,
  MethodTable,
  type Profile,
  type Revision,
  type RevisionProjection
} from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Extension } from "../../Extension.ts"
import type { ContextOf, Handlers } from "../../Handlers.ts"
import type { InboundMiddleware } from "../../Middleware.ts"
import { trust } from "../trust.ts"
import * as RequestRejections from "./RequestRejections.ts"
import * as ResultEncoding from "./ResultEncoding.ts"
import * as SemanticChecks from "./SemanticChecks.ts"
import { type Validate, validate } from "./validation.ts"

/** The program that serves a request, or the error that rejects it. */
export type Prepared<R> = Result.Result<Effect.Effect<unknown, McpError.McpError, R>, JsonRpc.ErrorObject>

/** Handlers that are ready to serve. */
export interface Dispatch<R> {
  /**
   * Returns the program that serves a request. First checks the method, the params, and rules that no schema can state
   * (SMP-03, ELI-05). Fails with -32601 for a method without a handler, and with -32602 for invalid params; then
   * neither middleware nor a handler runs. The program returns the result in the form of the peer's revision, and dies
   * if the peer could not use the result. The failure is a plain object without a stack, because peers decide how many
   * failures occur. A question of a revision without a handshake reaches the handler of the request that older
   * revisions have for it.
   */
  readonly prepare: (
    request: JsonRpc.Request,
    profile: Profile.Profile,
    isQuestion?: boolean
  ) => Prepared<R>
  /** Returns whether a request of this method has a handler. */
  readonly handles: (method: string) => boolean
  /**
   * Returns the program that handles a notification, or `undefined` if it has no handler. Fails with the reason if this
   * peer must not send the notification.
   */
  readonly notify: (
    notification: JsonRpc.Notification,
    profile: Profile.Profile
  ) => Result.Result<Effect.Effect<void, never, R> | undefined, string>
}

/** Options beside the handlers. */
export interface Options<Services = never> {
  /** The middleware of requests. */
  readonly middleware?: InboundMiddleware<Services> | undefined
  /**
   * The handlers of methods that are not in the method table, or not in the revisions of its row. They cannot replace a
   * method of the table.
   */
  readonly extensions?: ReadonlyArray<Extension<MethodDefinition.Sender, Services>> | undefined
  /**
   * Returns the capabilities that a client has declared. It rejects other modes of elicitation (ELI-05). Default: none.
   */
  readonly declared?: (() => Capabilities.ClientCapabilities) | undefined
  /** The form of results for peers of older revisions. Default: `"tolerant"`, see `RevisionProjection.Projection`. */
  readonly projection?: RevisionProjection.Projection | undefined
}

/** A handler, and the conditions for a message to reach it. */
interface Handled<Handler> {
  readonly name: string
  readonly since: Revision.Revision
  readonly until: Revision.Revision | undefined
  readonly check: Validate<object>
  readonly handler: Handler
}

type RequestHandler<R> = (params: object) => Effect.Effect<unknown, McpError.McpError, R>
type NotificationHandler<R> = (params: object) => Effect.Effect<void, never, R>

const handled = <Handler>(
  row: Pick<
    MethodDefinition.MethodDefinition<string, MethodDefinition.Sender, object>,
    "name" | "since" | "until" | "params"
  >,
  handler: Handler
): Handled<Handler> => ({
  name: row.name,
  since: row.since,
  until: row.until,
  // The params of every method are an object.
  check: validate<object>(trust(row.params)),
  handler
})

/** Returns the params of a message; `{}` for none. */
const paramsOf = (message: JsonRpc.Request | JsonRpc.Notification): unknown => message.params ?? {}

/** Prepares the handlers of the messages that `from` sends, with the middleware of requests. */
export const make = <From extends MethodDefinition.Role, const H extends Handlers<From, unknown>, Services = never>(
  from: From,
  handlers: H,
  options: Options<Services> = {}
): Dispatch<ContextOf<H> | Services> => {
  type R = ContextOf<H> | Services
  const { declared, extensions = [], middleware, projection } = options
  // Maps, because a lookup in a record would find `constructor` and `__proto__` for method names of the peer.
  const given = new Map<string, unknown>(Object.entries(handlers))
  const requests = new Map<string, ReadonlyArray<Handled<RequestHandler<R>>>>()
  const notifications = new Map<string, Handled<NotificationHandler<R> | undefined>>()

  // The type of a handler matches the row of its name, and that of an extension its own row. A lookup by a string loses
  // this type, so each handler below is trusted to match the row beside it.
  for (const { handler, row } of extensions) {
    if (row.kind === "request") requests.set(row.name, [handled(row, trust(handler))])
    else notifications.set(row.name, handled(row, trust(handler)))
  }
  for (const name of Object.keys(MethodTable.requests)) {
    const row = MethodTable.findRequest(name, from)
    const handler = given.get(name)
    const others = requests.get(name)?.filter(({ since }) => row?.until !== undefined && since > row.until) ?? []
    const own = row === undefined || handler === undefined ? [] : [handled<RequestHandler<R>>(row, trust(handler))]
    if (own.length + others.length === 0) requests.delete(name)
    else requests.set(name, [...own, ...others])
  }
  for (const name of Object.keys(MethodTable.notifications)) {
    const row = MethodTable.findNotification(name, from)
    if (row === undefined) notifications.delete(name)
    else notifications.set(name, handled(row, trust(given.get(name))))
  }

  const prepare: Dispatch<R>["prepare"] = (request, profile, isQuestion = false) => {
    const found = requests.get(request.method)?.find((row) =>
      isQuestion || MethodDefinition.isIn(row, profile.revision)
    )
    const isKnown = found !== undefined
    if (!isKnown) {
      return Result.fail(RequestRejections.methodNotFound(request.method))
    }
    const { handler, name: method } = found
    const checked = found.check(paramsOf(request))
    if (Result.isFailure(checked)) {
      return Result.fail(RequestRejections.invalidParams(`Invalid params for ${method}: ${checked.failure}`))
    }
    const params = checked.success
    const problem = SemanticChecks.validateIncoming(method, params, declared)
    if (problem !== undefined) return Result.fail(RequestRejections.invalidParams(problem))
    return Result.succeed(Effect.flatMap(
      Effect.suspend(() =>
        middleware === undefined
          ? handler(params)
          : middleware({ method, id: request.id, params, profile }, (forwarded) => handler(forwarded.params))
      ),
      (value) => ResultEncoding.encode(method, profile.revision, params, value, projection)
    ))
  }

  return {
    prepare,
    handles: (method) => requests.has(method),
    notify: (notification, profile) => {
      const found = notifications.get(notification.method)
      if (found === undefined || !MethodDefinition.isIn(found, profile.revision)) return Result.fail("unknown method")
      const { check, handler } = found
      const params = check(paramsOf(notification))
      if (Result.isFailure(params)) return Result.fail(params.failure)
      return Result.succeed(handler === undefined ? undefined : Effect.suspend(() => handler(params.success)))
    }
  }
}
