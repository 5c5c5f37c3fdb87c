/**
 * The servers and clients of Node, Bun and Deno.
 *
 * `node scripts/runtimes/node.ts serve http` serves, and prints its address.
 * `node scripts/runtimes/node.ts call 'HTTP client …' http://… ws://…` ends with status 0 if a tool was called.
 */
import { McpClients, McpTarget } from "@effect-mcp/client/node"
import { McpServer } from "@effect-mcp/server/node"
import type { Transport } from "@effect-mcp/session"
import {
  HttpSseClient,
  HttpSseServer,
  SocketClient,
  SocketServer,
  StdioClient,
  StreamableHttpClient,
  StreamableHttpServer,
  WebSocketClient,
  WebSocketServer
} from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { ok } from "node:assert"
import { createServer } from "node:http"
import * as ForbiddenAddress from "../../packages/auth/src/internal/fetch/ForbiddenAddress.ts"
import * as NodeExchange from "../../packages/auth/src/internal/fetch/NodeExchange.ts"
import * as greeting from "../packages/programs/greeting.ts"
import { handlerOf } from "../packages/programs/protectedWorker.ts"
import server, { greetings, host, info } from "../packages/programs/worker.ts"
import { check, everywhere } from "./calls.ts"

const [action = "", part = "", http = "", ws = "", sse = "", unix = "", guarded = "", issuer = ""] = process.argv
  .slice(2)

/** The command that serves over stdio, by this runtime. */
const child = {
  command: process.execPath,
  args: [...("Deno" in globalThis ? ["run", "--no-prompt", "--allow-env"] : []), import.meta.filename, "serve", "stdio"]
}

/** Calls the tool of the server over a transport. */
const over = (transport: Layer.Layer<Transport.Transport>): Promise<void> => greeting.over(transport, "Ada").then(check)

/** Calls the tool of a child process that is supervised. */
const supervised = (): Promise<void> =>
  Effect.flatMap(McpClients.McpClients, ({ client }) => client("greeter").callTool("greet", { name: "Ada" })).pipe(
    Effect.provide(McpClients.layer({ greeter: McpTarget.command(child.command, child.args) }, { info })),
    Effect.map(({ content }) => check(content)),
    Effect.runPromise
  )

/** Opens a session by a request of the web, without a socket. */
const web = async (): Promise<void> => {
  const response = await server.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: info }
      })
    })
  )
  const text = await response.text()
  await server.dispose()
  if (response.status !== 200 || !text.includes(info.name)) throw new Error(`status ${response.status}: ${text}`)
}

/** Requests a URL whose name leads to this machine. The check depends on how a runtime resolves names. */
const refusesAddresses = (http: string): Promise<void> =>
  Effect.gen(function*() {
    const url = new URL(http)
    url.hostname = "localhost"
    const exchanges = yield* NodeExchange.make
    if (exchanges === undefined) return yield* Effect.die(new Error("the runtime does not have the modules"))
    const request = { method: "GET", url, headers: {} } as const
    const error = yield* Effect.flip(Effect.scoped(exchanges.guarded(request)))
    ok(ForbiddenAddress.find(error) !== undefined, String(error))
    // Without the check, the server answers.
    yield* Effect.scoped(exchanges.open(request))
  }).pipe(Effect.scoped, Effect.runPromise)

const clients: typeof everywhere = {
  ...everywhere,
  "HTTP client `layerNode`": () => over(StreamableHttpClient.layerNode({ url: http })),
  "HTTP+SSE client `layerNode`": () => over(HttpSseClient.layerNode({ url: sse })),
  "WebSocket client `layerNode`": () => over(WebSocketClient.layerNode({ url: ws })),
  "Unix socket client": () => over(SocketClient.layerUnix({ path: unix })),
  "stdio client": () => over(StdioClient.layerNode(child)),
  "`McpClients` with a command": supervised,
  "`OAuth` refuses names of private addresses": refusesAddresses,
  "`toWebHandler`": web
}

const listening = (address: string) => Console.log(`listening at ${address}`)

const withPort = <E, R>(listener: Layer.Layer<HttpServer.HttpServer, E, R>) =>
  Layer.effectDiscard(
    Effect.flatMap(HttpServer.HttpServer, ({ address }) => listening("port" in address ? String(address.port) : ""))
  ).pipe(Layer.provide(listener))

// A page of another origin calls these.
const open = { port: 0, allowedOrigins: ["*"] }

const servers: Readonly<Record<string, Layer.Layer<never, unknown>>> = {
  http: withPort(StreamableHttpServer.layerNode(open)).pipe(Layer.provide(host)),
  protected: Layer.suspend(() =>
    withPort(
      HttpServer.serve(HttpEffect.fromWebHandler(handlerOf(http))).pipe(
        Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
      )
    )
  ),
  sse: withPort(HttpSseServer.layerNode({ port: 0 })).pipe(Layer.provide(host)),
  ws: withPort(WebSocketServer.layerNode(open)).pipe(Layer.provide(host)),
  unix: Layer.tap(SocketServer.layerUnix({ path: http }).pipe(Layer.provide(host)), () => listening(http))
}

if (action === "call") {
  const client = clients[part]
  if (client === undefined) throw new Error(`no client ${part}`)
  await client(http, ws, guarded, issuer)
} else if (part === "stdio") {
  McpServer.runMainStdio(greetings, { info })
} else {
  NodeRuntime.runMain(Layer.launch(servers[part] ?? Layer.empty))
}
