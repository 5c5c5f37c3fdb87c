/**
 * Handlers of methods that are not in the method table.
 *
 * @stability unstable
 */
import type { McpError, MethodDefinition } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import { trust } from "./internal/trust.ts"

/**
 * The row of a method that `From` sends, and its handler. Messages of the method pass the same checks as those of the
 * method table: the state of the handshake, the revision of the row, and the schema of the params.
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
 * Creates a handler of requests for a method that is not in the method table. The handler runs like any other: in a
 * fiber of its own, with the context of its request. If it fails, its `McpError` is the reply.
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
 * const server = ServerSession.layerMemory({}, {
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
): Extension<From, R> => ({
  // The types of params and result are hidden. The handler gets only params that have passed the schema of this row.
  row: trust<Extension<From>["row"]>(row),
  handler
})

/**
 * Creates a handler of notifications for a method that is not in the method table. All notifications are handled one
 * at a time, in the order of arrival.
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
): Extension<From, R> => ({
  // The type of the params is hidden. The handler gets only params that have passed the schema of this row.
  row: trust<Extension<From>["row"]>(row),
  handler
})
