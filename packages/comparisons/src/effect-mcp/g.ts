/** An HTTP server without sessions, written with Effect MCP. */
import { McpGroup, McpServer } from "@effect-mcp/server"
import { Authentication, StatelessHttpServer } from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const options = { info: { name: "greeter", version: "1.0.0" }, port: Number(process.env["PORT"] ?? 3460) }

const Greetings = McpGroup.make(
  "greetings",
  Tool.make("greet", { parameters: Schema.Struct({ name: Schema.String }), success: Schema.String })
)

const GreetingsLive = Greetings.toLayer((handlers) =>
  handlers.tool("greet", ({ name }) => Effect.succeed(`Hello, ${name}!`))
)

const server = Layer.unwrap(Effect.map(
  McpServer.makeStatelessHandlers(GreetingsLive),
  (handlers) => StatelessHttpServer.layerNode(handlers, options)
))

NodeRuntime.runMain(Layer.launch(Layer.provide(server, Authentication.anonymous)))
