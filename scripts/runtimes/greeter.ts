/** The server that every runtime serves and calls. */
import { McpGroup, McpServer } from "@effect-mcp/server"
import { Authentication } from "@effect-mcp/transport"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const Greetings = McpGroup.make(
  "greetings",
  Tool.make("greet", { parameters: Schema.Struct({ name: Schema.String }), success: Schema.String })
)

/** The handlers of the server. */
export const layer = Greetings.toLayer((handlers) =>
  handlers.tool("greet", ({ name }) => Effect.succeed(`Hello, ${name}!`))
)

/** The name of the server. */
export const info = { name: "greeter", version: "1.0.0" }

/** The host of its sessions, for anonymous clients. */
export const host = Layer.merge(McpServer.layerHost(layer, { info }), Authentication.anonymous)
