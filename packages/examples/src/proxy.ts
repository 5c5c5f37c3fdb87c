/**
 * A stdio server that forwards to a remote one: `node packages/examples/src/proxy.ts URL` passes all messages to the
 * server at this URL, and back. So a program that starts child processes can use a server by its URL: `http:` and
 * `https:` over Streamable HTTP, or HTTP+SSE if the server supports nothing newer, `ws:` and `wss:` over WebSocket, and
 * `unix:` at a path of this machine.
 */
import { Transport } from "@effect-mcp/session"
import * as HttpFallbackClient from "@effect-mcp/transport/HttpFallbackClient"
import * as StdioServer from "@effect-mcp/transport/StdioServer"
import * as UnixSocketClient from "@effect-mcp/transport/UnixSocketClient"
import * as WebSocketClient from "@effect-mcp/transport/WebSocketClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as JoinedTransports from "./joinedTransports.ts"

/** Returns the path of a `unix:` URL. */
const pathIn = ({ pathname }: URL): string | undefined => {
  try {
    return pathname === "" ? undefined : decodeURIComponent(pathname)
  } catch {
    return undefined
  }
}

/** Makes the transport to the server at this URL. */
const serverAt = (url: URL): Layer.Layer<Transport.Transport> | undefined => {
  switch (url.protocol) {
    case "http:":
    case "https:":
      return HttpFallbackClient.layerNode({ url })
    case "ws:":
    case "wss:":
      return WebSocketClient.layerNode({ url })
    case "unix:": {
      const path = pathIn(url)
      return path === undefined ? undefined : UnixSocketClient.layerNode({ path })
    }
    default:
      return undefined
  }
}

/** Connects over this transport, until the scope closes. */
const connection = <E>(transport: Layer.Layer<Transport.Transport, E>) =>
  Effect.flatMap(Layer.build(transport), (context) => Context.get(context, Transport.Transport).connect)

/** Joins the standard streams of this process with the server. */
const proxy = (server: Layer.Layer<Transport.Transport>) =>
  Effect.gen(function*() {
    const back = yield* connection(server)
    const front = yield* connection(StdioServer.layerNode())
    yield* JoinedTransports.join(front, back, (problem) => console.error(problem))
  }).pipe(Effect.scoped)

const [text = ""] = process.argv.slice(2)
const server = URL.canParse(text) ? serverAt(new URL(text)) : undefined
if (server === undefined) {
  console.error("usage: proxy.ts URL, with a URL of http, https, ws, wss or unix")
  process.exitCode = 2
} else {
  StdioServer.runMain(proxy(server))
}
