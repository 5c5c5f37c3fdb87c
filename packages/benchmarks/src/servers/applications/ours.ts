import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpServer from "@effect-mcp/server/node/McpServer"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const description = "Adds two numbers, and returns their sum"
const parameters = Schema.Struct({ a: Schema.Finite, b: Schema.Finite })
const success = Schema.Struct({ sum: Schema.Finite })
const [size = 1] = process.argv.slice(2).map(Number)

const groups = Array.from({ length: size }, (_, index) => index === 0 ? "add" : `add_${index}`).map((name) =>
  McpGroup.make(name, Tool.make(name, { description, parameters, success })).toLayer((handlers) =>
    handlers.tool(name, ({ a, b }) => Effect.succeed({ sum: a + b }))
  )
)

// One flat merge, because hundreds of nested ones exceed the stack.
McpServer.runMainStdio(Layer.mergeAll(Layer.empty, ...groups), { info: { name: "benchmark", version: "1.0.0" } })
