/** Our client with a token that it was given. */
import { ClientSession } from "@effect-mcp/session"
import { HttpSseClient, StreamableHttpClient, WebSocketClient } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

const session = ClientSession.layer({ info: { name: "test", version: "1.0.0" } })

/** Connects with this token, by the transport of the URL: `ws:` for WebSockets, `/sse` for HTTP+SSE. */
export const connect = Effect.fnUntraced(function*(url: string, token: string) {
  const headers = { authorization: Redacted.make(`Bearer ${token}`) }
  const transport = url.startsWith("ws:")
    ? WebSocketClient.layerNode({ url, headers })
    : url.endsWith("/sse")
    ? HttpSseClient.layerNode({ url, headers })
    : StreamableHttpClient.layerNode({ url, headers })
  const context = yield* Layer.build(Layer.provide(session, transport))
  return Context.get(context, ClientSession.ClientSession)
})
