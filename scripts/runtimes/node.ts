/**
 * The servers and clients of Node, Bun and Deno: `node scripts/runtimes/node.ts serve http` prints its address and
 * serves, and `node scripts/runtimes/node.ts call "HTTP client `layerNode`" http://… ws://…` ends with status 0.
 */
import { McpTarget } from "@effect-mcp/client/node"
import { McpServer } from "@effect-mcp/server/node"
import * as Transports from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as calls from "./calls.ts"
import * as Greeter from "./greeter.ts"
import * as Web from "./web.ts"

const { HttpSseClient, HttpSseServer, SocketClient, SocketServer, StdioClient, StreamableHttpClient } = Transports
const { StreamableHttpServer, WebSocketClient, WebSocketServer } = Transports

const [action = "", part = "", http = "", ws = "", sse = "", unix = ""] = process.argv.slice(2)

/** The command that runs this program again, with this runtime. */
const again = (...args: ReadonlyArray<string>) => {
  const program = import.meta.filename
  return {
    command: process.execPath,
    args: "Deno" in globalThis ? ["run", "-A", program, ...args] : [program, ...args]
  }
}

const clients: typeof calls.everywhere = {
  ...calls.everywhere,
  "HTTP client `layerNode`": () => calls.over(StreamableHttpClient.layerNode({ url: http })),
  "HTTP+SSE client `layerNode`": () => calls.over(HttpSseClient.layerNode({ url: sse })),
  "WebSocket client `layerNode`": () => calls.over(WebSocketClient.layerNode({ url: ws })),
  "Unix socket client": () => calls.over(SocketClient.layerUnix({ path: unix })),
  "stdio client": () => calls.over(StdioClient.layerNode(again("serve", "stdio"))),
  "`McpClients` with a command": () => {
    const { args, command } = again("serve", "stdio")
    return calls.at(McpTarget.command(command, args))
  },
  "`toWebHandler`": () =>
    Effect.promise(async () => {
      const response = await Web.handle(
        new Request("http://localhost/mcp", {
          method: "POST",
          headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
          body: JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            method: "initialize",
            params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: Greeter.info }
          })
        })
      )
      const text = await response.text()
      await Web.dispose()
      if (response.status !== 200 || !text.includes("greeter")) throw new Error(`status ${response.status}: ${text}`)
    })
}

const listening = (address: string) => Console.log(`listening at ${address}`)

const withPort = <E, R>(server: Layer.Layer<HttpServer, E, R>) =>
  Layer.effectDiscard(
    Effect.flatMap(HttpServer, ({ address }) => listening("port" in address ? String(address.port) : ""))
  ).pipe(Layer.provide(server))

const servers: Readonly<Record<string, Layer.Layer<never, unknown>>> = {
  http: withPort(StreamableHttpServer.layerNode({ port: 0, allowedOrigins: ["*"] })).pipe(Layer.provide(Greeter.host)),
  sse: withPort(HttpSseServer.layerNode({ port: 0 })).pipe(Layer.provide(Greeter.host)),
  ws: withPort(WebSocketServer.layerNode({ port: 0, allowedOrigins: ["*"] })).pipe(Layer.provide(Greeter.host)),
  unix: Layer.tap(SocketServer.layerUnix({ path: http }).pipe(Layer.provide(Greeter.host)), () => listening(http))
}

if (action === "call") {
  NodeRuntime.runMain(
    (clients[part]?.(http, ws) ?? Effect.die(new Error(`no client ${part}`))).pipe(
      Effect.scoped,
      Effect.timeout("20 seconds")
    )
  )
} else if (part === "stdio") {
  McpServer.runMainStdio(Greeter.layer, { info: Greeter.info })
} else {
  NodeRuntime.runMain(Layer.launch(servers[part] ?? Layer.empty))
}
