/**
 * A client whose telemetry goes to the same collector. Its argument is the URL of a server, or the file of one over
 * stdio. With `--sample 0.1`, it exports a tenth of its traces.
 *
 * ```sh
 * node packages/examples/src/telemetry/client.ts http://127.0.0.1:3000/mcp
 * ```
 */
import { McpClient, McpTarget } from "@effect-mcp/client/node"
import { Metrics, Middleware, Tracing } from "@effect-mcp/session"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { parseArgs } from "node:util"
import * as Telemetry from "./export.ts"

const { positionals: [server = "http://127.0.0.1:3000/mcp"], values: { sample } } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: "string", default: "1" } }
})

const target = URL.canParse(server)
  ? McpTarget.url(server, { headers: { authorization: Redacted.make(`Bearer ${process.env["TOKEN"]}`) } })
  : McpTarget.command(process.execPath, [server], { env: process.env })

const client = McpClient.layer(target, {
  info: { name: "traveller", version: "1.0.0" },
  middleware: Middleware.all(Tracing.make(), Metrics.middleware)
})

const program = Effect.gen(function*() {
  const { callTool } = yield* McpClient.McpClient
  const { structuredContent } = yield* callTool("forecast", { city: "Bergen" })
  yield* Effect.logInfo("the trip is planned")
  yield* Console.log(JSON.stringify(structuredContent))
}).pipe(Effect.withSpan("plan a trip"))

NodeRuntime.runMain(
  Effect.provide(program, Layer.provideMerge(client, Telemetry.layer("traveller", Number(sample))))
)
