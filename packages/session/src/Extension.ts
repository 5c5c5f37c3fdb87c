/**
 * Handlers of methods that are not in the method table, each with its row.
 */
import type { McpError, MethodDefinition } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import { trust } from "./internal/trust.ts"

/**
 * A method that `From` sends, and its handler. Its messages pass the same gates as those of the table: the handshake,
 * the revision of the row, and the schema of the params.
 *
 * @category models
 */
export interface Extension<out From extends MethodDefinition.Sender, out R = never> {
  readonly row:
    | MethodDefinition.RequestMethod<string, From, object, unknown>
    | MethodDefinition.NotificationMethod<string, From, object>
  readonly handler: (params: never) => Effect.Effect<unknown, McpError.McpError, R>
}

/**
 * Handles a request of a method of your own. The handler runs like any other: in a fiber of its own, with the context
 * of its request. Its `McpError` is the reply.
 *
 * @example
 * ```ts
 * import { MethodDefinition } from "@effect-mcp/protocol"
 * import { ClientSession, Extension, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const echo = MethodDefinition.request("acme/echo", {
 *   from: "client",
 *   params: Schema.Struct({ text: Schema.String }),
 *   result: Schema.Struct({ text: Schema.String })
 * })
 *
 * const info = { name: "example", version: "1.0.0" }
 * const server = ServerSession.layerInProcess({}, {
 *   info,
 *   extensions: [Extension.request(echo, ({ text }) => Effect.succeed({ text }))]
 * })
 *
 * export const answer = Effect.gen(function*() {
 *   const session = yield* ClientSession.make({ info })
 *   return yield* session.extension(echo, { text: "hello" })
 * }).pipe(Effect.scoped, Effect.provide(server)) // => { text: "hello" }
 * ```
 *
 * @category constructors
 */
export const request = <From extends MethodDefinition.Sender, Params extends object, Result extends object, R = never>(
  row: MethodDefinition.RequestMethod<string, From, Params, Result>,
  handler: (params: Params) => Effect.Effect<Result, McpError.McpError, R>
): Extension<From, R> => // The handler is asked with what the row's own schema has let through.
({ row: trust(row), handler })

/**
 * Handles a notification of a method of your own. It is handled in turn with all other notifications, one at a time, in
 * the order of arrival.
 *
 * @example
 * ```ts
 * import { Meta, MethodDefinition } from "@effect-mcp/protocol"
 * import { ClientSession, Extension } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const reindexed = MethodDefinition.notification("acme/reindexed", {
 *   from: "server",
 *   params: Meta.NotificationParams
 * })
 *
 * export const session = ClientSession.layer({
 *   info: { name: "example", version: "1.0.0" },
 *   extensions: [Extension.notification(reindexed, () => Effect.logInfo("the index is new"))]
 * })
 * ```
 *
 * @category constructors
 */
export const notification = <From extends MethodDefinition.Sender, Params extends object, R = never>(
  row: MethodDefinition.NotificationMethod<string, From, Params>,
  handler: (params: Params) => Effect.Effect<void, never, R>
): Extension<From, R> => // The handler is asked with what the row's own schema has let through.
({ row: trust(row), handler })
