import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import { McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const description = "Adds two numbers, and returns their sum"
const parameters = Schema.Struct({ a: Schema.Finite, b: Schema.Finite })
const success = Schema.Struct({ sum: Schema.Finite })
const [size = 1] = process.argv.slice(2).map(Number)

const names = Array.from({ length: size }, (_, index) => index === 0 ? "add" : `add_${index}`)
const toolkit = Toolkit.make(...names.map((name) => Tool.make(name, { description, parameters, success })))

const server = McpServer.layerStdio({
  name: "benchmark",
  version: "1.0.0",
  protocols: [McpProtocol.v2025_11_25],
  registrations: McpServer.toolkit(toolkit).pipe(
    Layer.provide(
      toolkit.toLayer(Object.fromEntries(names.map((name) => [name, ({ a, b }) => Effect.succeed({ sum: a + b })])))
    )
  )
})

NodeRuntime.runMain(Layer.launch(Layer.provide(server, NodeStdio.layer)))
