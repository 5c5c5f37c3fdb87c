/** A server for workers: a handler of requests, made of the roots of the packages. */
import { McpGroup, McpServer } from "@effect-mcp/server"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const greet = Tool.make("greet", { parameters: Schema.Struct({ name: Schema.NonEmptyString }), success: Schema.String })

/** The handlers of the server. */
export const greetings = McpGroup.make("greetings", greet).toLayer((handlers) =>
  handlers.tool("greet", ({ name }) => Effect.succeed(`Hello, ${name}!`))
)

/** The name of the server. */
export const info = { name: "worker", version: "1.0.0" }

/** The server, which any transport can serve. */
export const host = Layer.merge(McpServer.layerHost(greetings, { info }), Authentication.anonymous)

const { dispose, handler } = StreamableHttpServer.toWebHandler(host)

export default { fetch: handler, dispose }
