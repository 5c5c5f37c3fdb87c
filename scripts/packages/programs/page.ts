/** A client for web pages: it calls a tool of a server over HTTP, or over a WebSocket if `url` begins with `ws`. */
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient, WebSocketClient } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Socket from "effect/socket/Socket"

const info = { name: "page", version: "1.0.0" }

const overWebSocket = (url: string) =>
  Layer.provide(WebSocketClient.layer({ url }), Socket.layerWebSocketConstructorGlobal)

/** Returns the content of the greeting. */
export const greet = (url: string, name: string): Promise<unknown> => {
  const transport = url.startsWith("ws") ? overWebSocket(url) : StreamableHttpClient.layerFetch({ url })
  return Effect.gen(function*() {
    const session = yield* ClientSession.ClientSession
    const { content } = yield* session.callTool("greet", { name })
    return content
  }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), transport)), Effect.runPromise)
}
