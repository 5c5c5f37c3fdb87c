/**
 * A server over HTTP whose telemetry goes to a collector.
 *
 * ```sh
 * node packages/examples/src/telemetry/httpServer.ts 3000
 * ```
 */
import { McpServer } from "@effect-mcp/server"
import { Metrics, Middleware, Tracing } from "@effect-mcp/session"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Telemetry from "./export.ts"
import { ForecastsLive } from "./forecasts.ts"

const tokens = Authentication.layerBearer({
  verify: (token) => Effect.succeed(Redacted.value(token) === process.env["TOKEN"] ? { id: "ada" } : undefined)
})

const host = McpServer.layerHost(ForecastsLive, {
  info: { name: "forecasts", version: "1.0.0" },
  middleware: Middleware.all(Tracing.make({ attributes: { "network.transport": "tcp" } }), Metrics.middleware)
})

const server = Layer.effectDiscard(HttpServer.addressFormattedWith((address) => Console.log(`serving ${address}/mcp`)))
  .pipe(
    Layer.provide(StreamableHttpServer.layerNode({ port: Number(process.argv[2] ?? 3000) })),
    Layer.provide([host, tokens]),
    // The last one: it closes after the server, and then exports what the last requests have left.
    Layer.provide(Telemetry.layer("forecasts"))
  )

NodeRuntime.runMain(Layer.launch(server))
