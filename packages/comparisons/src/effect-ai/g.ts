/** An HTTP server without sessions, written with `effect/ai`. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"

const Greetings = Toolkit.make(
  Tool.make("greet", { parameters: Schema.Struct({ name: Schema.String }), success: Schema.String })
)

const GreetingsLive = Greetings.toLayer({ greet: ({ name }) => Effect.succeed(`Hello, ${name}!`) })

const Mcp = McpServer.layerHttp({
  name: "greeter",
  version: "1.0.0",
  path: "/mcp",
  protocols: [McpProtocol.v2026_07_28],
  registrations: Layer.provide(McpServer.toolkit(Greetings), GreetingsLive)
})

const port = Number(process.env["PORT"] ?? 3460)
const App = Layer.provide(HttpRouter.serve(Mcp), NodeHttpServer.layer(createServer, { port, host: "127.0.0.1" }))

NodeRuntime.runMain(Layer.launch(App))
