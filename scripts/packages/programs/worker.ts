/** A server for workers: a handler of requests, made of the roots of the packages. */
import { McpGroup, McpServer } from "@effect-mcp/server"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const greet = Tool.make("greet", { parameters: Schema.Struct({ name: Schema.NonEmptyString }), success: Schema.String })

const Greetings = McpGroup.make("greetings", greet).toLayer((handlers) =>
  handlers.tool("greet", ({ name }) => Effect.succeed(`Hello, ${name}!`))
)

/** The server, which any transport can serve. */
export const host = Layer.merge(
  McpServer.layerHost(Greetings, { info: { name: "worker", version: "1.0.0" } }),
  Authentication.anonymous
)

const { handler } = StreamableHttpServer.toWebHandler(host)

export default { fetch: handler }
