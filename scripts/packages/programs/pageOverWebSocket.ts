/** A client for web pages: it calls a tool of a server over the WebSocket of the page. */
import { ClientSession } from "@effect-mcp/session"
import { WebSocketClient } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const info = { name: "page", version: "1.0.0" }

/** Returns the content of the greeting. */
export const greet = (url: string, name: string): Promise<unknown> =>
  Effect.gen(function*() {
    const session = yield* ClientSession.ClientSession
    const { content } = yield* session.callTool("greet", { name })
    return content
  }).pipe(
    Effect.provide(Layer.provide(ClientSession.layer({ info }), WebSocketClient.layerGlobal({ url }))),
    Effect.runPromise
  )
