/**
 * `McpServer` on Node, with servers over stdio.
 *
 * @stability unstable
 */
import * as RequestStateSeal from "@effect-mcp/session/RequestStateSeal"
import * as StdioServer from "@effect-mcp/transport/node/StdioServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { trust } from "../internal/trust.ts"
import { type McpServer, type Named, type Options, type Provided, serve } from "../McpServer.ts"

export * from "../McpServer.ts"

/**
 * Runs the groups as the whole program of this process, over standard input and output, as `StdioServer.runMain` does.
 * The states of its questions are sealed with a secret of this process, unless a Layer that the groups are provided
 * with, or merged with, has a `RequestStateSeal`.
 *
 * @example
 * ```ts
 * import { McpGroup, McpResource, McpServer } from "@effect-mcp/server/node"
 * import * as Effect from "effect/Effect"
 *
 * const Time = McpGroup.make("time", McpResource.make("now", { uri: "time://now" }))
 * const TimeLive = Time.toLayer((handlers) =>
 *   handlers.resource("now", Effect.sync(() => new Date().toISOString()))
 * )
 *
 * // `main()` is the last line of the program.
 * export const main = () => McpServer.runMainStdio(TimeLive, { info: { name: "time", version: "1.0.0" } })
 * ```
 *
 * @category running
 */
export const runMainStdio = <A, E, R>(groups: Layer.Layer<A, E, R> & Provided<R>, options: Named<Options>): void =>
  StdioServer.runMain(
    // `Provided` states that the groups need nothing else.
    Effect.provide(
      serve(trust<Layer.Layer<A, E, McpServer>>(groups), options),
      // One client has one process, so that a secret of this process is enough.
      Layer.merge(StdioServer.layerNode(), RequestStateSeal.layerEphemeral)
    )
  )
