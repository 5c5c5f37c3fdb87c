import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import { McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const tools = Toolkit.make(
  Tool.make("add", { parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }), success: Schema.Finite })
)

const server = McpServer.layerStdio({
  name: "benchmark",
  version: "1.0.0",
  protocols: [McpProtocol.v2025_11_25],
  registrations: McpServer.toolkit(tools).pipe(
    Layer.provide(tools.toLayer({ add: ({ a, b }) => Effect.succeed(a + b) }))
  )
})

NodeRuntime.runMain(Layer.launch(Layer.provide(server, NodeStdio.layer)))
