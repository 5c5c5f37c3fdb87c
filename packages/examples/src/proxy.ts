/**
 * A stdio server that forwards all messages to the server at a URL, and back. With it, a program that can only start
 * servers as child processes uses a remote server:
 *
 * ```sh
 * node packages/examples/src/proxy.ts http://127.0.0.1:3000/mcp
 * ```
 *
 * `http:` and `https:` stand for Streamable HTTP, or for HTTP+SSE if the server supports nothing newer. `ws:` and
 * `wss:` stand for WebSocket, and `unix:` for a socket at a path of this machine.
 */
import { Transport } from "@effect-mcp/session"
import * as HttpFallbackClient from "@effect-mcp/transport/node/HttpFallbackClient"
import * as SocketClient from "@effect-mcp/transport/node/SocketClient"
import * as StdioServer from "@effect-mcp/transport/node/StdioServer"
import * as WebSocketClient from "@effect-mcp/transport/node/WebSocketClient"
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

/** Returns the transport to the server at this URL; `undefined` if the scheme is not supported. */
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
      return path === undefined ? undefined : SocketClient.layerUnix({ path })
    }
    default:
      return undefined
  }
}

/** Connects over this transport until the scope closes. */
const connect = <E>(transport: Layer.Layer<Transport.Transport, E>) =>
  Effect.flatMap(Layer.build(transport), (context) => Context.get(context, Transport.Transport).connect)

/** Joins the standard streams of this process with the server. */
const proxy = (server: Layer.Layer<Transport.Transport>) =>
  Effect.gen(function*() {
    const toServer = yield* connect(server)
    const toClient = yield* connect(StdioServer.layerNode())
    yield* JoinedTransports.join(toClient, toServer, (problem) => console.error(problem))
  }).pipe(Effect.scoped)

const [argument = ""] = process.argv.slice(2)
const server = URL.canParse(argument) ? serverAt(new URL(argument)) : undefined
if (server === undefined) {
  console.error(`usage: proxy.ts URL, where URL has the scheme http, https, ws, wss or unix; got "${argument}"`)
  process.exitCode = 2
} else {
  StdioServer.runMain(proxy(server))
}
