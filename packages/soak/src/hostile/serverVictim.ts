/**
 * The server under attack: `node serverVictim.ts websocket`. It sends its address to its parent, and then its vitals.
 * Its tools are `echo`, which returns a given number of bytes, `wait`, which never returns, `flood`, which sends
 * log messages of 64 KiB, and `ask`, which asks its client. The first 2,000 resources of each stream of
 * notifications change ten times a second.
 */
import { Content } from "@effect-mcp/protocol"
import { EventStore, Listener, RequestContext, ServerSession, SessionHost } from "@effect-mcp/session"
import {
  Authentication,
  HttpSseServer,
  SocketServer,
  StatelessHttpServer,
  StdioServer,
  StreamableHttpServer,
  WebSocketServer
} from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { ServerTransport } from "./ServerTransport.ts"
import { Bystander, report } from "./Vitals.ts"

const kibibytes64 = "x".repeat(64 * 1024)

const flood = Effect.repeat(
  Effect.andThen(RequestContext.log({ level: "info", data: kibibytes64 }), Effect.sleep(1)),
  { times: 319 }
).pipe(Effect.ignore, Effect.as({ content: [Content.text("flooded")] }))

const ask = RequestContext.elicit({ message: "Continue?", requestedSchema: { type: "object", properties: {} } }).pipe(
  Effect.orDie,
  Effect.map(({ action }) => ({ content: [Content.text(action)] }))
)

/** The open streams of notifications. */
const listeners = new Set<Listener.ListenerShape>()

const changes = Effect.forever(Effect.andThen(
  Effect.suspend(() =>
    Effect.forEach(listeners, ({ requested, resourceUpdated, toolListChanged }) =>
      Effect.andThen(
        toolListChanged,
        Effect.forEach(requested.resourceSubscriptions?.slice(0, 2000) ?? [], resourceUpdated, { discard: true })
      ), { discard: true })
  ),
  Effect.sleep(100)
))

const handlers = {
  "tools/list": () => Effect.succeed({ tools: [{ name: "echo", inputSchema: { type: "object" as const } }] }),
  "tools/call": ({ arguments: input, name }: { readonly name: string; readonly arguments?: object }) => {
    if (name === "wait") return Effect.never
    if (name === "flood") return flood
    if (name === "ask") return ask
    const bytes = input !== undefined && "bytes" in input ? Number(input.bytes) : 1
    return Effect.succeed({ content: [Content.text("x".repeat(bytes))] })
  },
  "subscriptions/listen": Effect.fnUntraced(function*() {
    const listener = yield* Listener.Listener
    yield* Effect.acquireRelease(
      Effect.sync(() => listeners.add(listener)),
      () => Effect.sync(() => listeners.delete(listener))
    )
    return { notifications: listener.requested }
  })
}

const options = { info: { name: "victim", version: "1.0.0" } }

const sendAddress = (address: string): void => void process.send?.({ address })

const sendingAddress = <E, R>(server: Layer.Layer<HttpServer, E, R>, url: (port: number) => string) =>
  Layer.effectDiscard(Effect.map(HttpServer, ({ address }) => sendAddress(url("port" in address ? address.port : 0))))
    .pipe(
      Layer.provide(server)
    )

const host = SessionHost.layer(handlers, options)

const unixSocket = () => {
  const address = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "hostile-")), "socket")
  return Layer.tap(SocketServer.layerUnix({ path: address }), () => Effect.sync(() => sendAddress(address)))
}

const servers: { readonly [T in ServerTransport]?: () => Layer.Layer<never, unknown> } = {
  "unix": () => Layer.provide(unixSocket(), host),
  "websocket": () =>
    sendingAddress(WebSocketServer.layerNode({ port: 0 }), (port) => `ws://127.0.0.1:${port}/mcp`).pipe(
      Layer.provide([host, Authentication.anonymous])
    ),
  "http": () =>
    sendingAddress(StreamableHttpServer.layerNode({ port: 0 }), (port) => `http://127.0.0.1:${port}/mcp`).pipe(
      Layer.provide([host, Authentication.anonymous])
    ),
  "http-stored": () =>
    sendingAddress(StreamableHttpServer.layerNode({ port: 0 }), (port) => `http://127.0.0.1:${port}/mcp`).pipe(
      Layer.provide([host, Authentication.anonymous]),
      Layer.provide(EventStore.layerMemory({ maxBytes: 64 * 1024 * 1024 }))
    ),
  "http-stateless": () =>
    sendingAddress(
      StatelessHttpServer.layerNode(handlers, { ...options, port: 0 }),
      (port) => `http://127.0.0.1:${port}/mcp`
    ).pipe(Layer.provide(Authentication.anonymous)),
  "http-sse": () =>
    sendingAddress(HttpSseServer.layerNode({ port: 0 }), (port) => `http://127.0.0.1:${port}/sse`).pipe(
      Layer.provide([host, Authentication.anonymous])
    )
}

const [name = ""] = process.argv.slice(2)
Effect.runFork(changes)
report(new Bystander())
// No other process stops this one after its parent has exited.
process.on("disconnect", () => process.exit(0))

if (name === "stdio") {
  sendAddress("stdio")
  StdioServer.runMain(ServerSession.serve(handlers, options).pipe(Effect.provide(StdioServer.layerNode())))
} else {
  const found = Object.entries(servers).find(([transport]) => transport === name)
  if (found === undefined) throw new Error(`unknown transport "${name}"`)
  Effect.runFork(Layer.launch(found[1]()))
}
