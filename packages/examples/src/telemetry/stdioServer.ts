/** The same server over stdio. Its logs go to standard error, and to the collector. */
import { McpServer } from "@effect-mcp/server"
import { Metrics, Middleware, Tracing } from "@effect-mcp/session"
import { StdioServer } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Telemetry from "./export.ts"
import { ForecastsLive } from "./forecasts.ts"

const server = McpServer.serve(ForecastsLive, {
  info: { name: "forecasts", version: "1.0.0" },
  middleware: Middleware.all(Tracing.make({ attributes: { "network.transport": "pipe" } }), Metrics.middleware)
})

StdioServer.runMain(
  Effect.provide(server, Layer.provideMerge(StdioServer.layerNode(), Telemetry.layer("forecasts")))
)
