/** A client that signs a person in by the browser and keeps the tokens, written with Effect MCP. */
import { OAuth } from "@effect-mcp/auth"
import * as NodeTokenStore from "@effect-mcp/auth/NodeTokenStore"
import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const url = process.argv[2] ?? "http://127.0.0.1:3461/mcp"

const session = ClientSession.layer({ info: { name: "sign-in", version: "1.0.0" } }).pipe(
  Layer.provide(StreamableHttpClient.layerNode({ url })),
  Layer.provide(OAuth.layer({ clientName: "Notes", userAgent: NodeUserAgent.browser() })),
  Layer.provide(NodeTokenStore.layer({ directory: process.env["TOKENS"] ?? "tokens", encryption: "none" }))
)

const program = Effect.gen(function*() {
  const { callTool } = yield* ClientSession.ClientSession
  const { structuredContent } = yield* callTool("read")
  yield* Console.log(JSON.stringify(structuredContent))
})

NodeRuntime.runMain(Effect.provide(program, session))
