/** The address by which a host tells anonymous clients apart, on each transport of a host. */
import { SessionHost } from "@effect-mcp/session"
import { anonymous } from "@effect-mcp/transport/Authentication"
import { HttpSseServer, SocketServer, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as path from "node:path"
import * as Http from "./support/httpClient.ts"
import * as Sse from "./support/httpSse.ts"
import { freePort } from "./support/loopback.ts"
import { info, tools } from "./support/server.ts"
import { temporaryDirectory } from "./support/temporaryDirectory.ts"
import * as Raw from "./support/unixServer.ts"
import * as WebSocket from "./support/webSocketPeer.ts"

type OpenOptions = Parameters<SessionHost.SessionHostShape["open"]>[1]

/** Provides a host that records how transports open its sessions. */
const recordingHost = (opened: Array<OpenOptions>) =>
  Layer.effect(
    SessionHost.SessionHost,
    Effect.map(SessionHost.make(tools({}), { info }), (host): SessionHost.SessionHostShape => ({
      ...host,
      open: (transport, options) => {
        opened.push(options)
        return host.open(transport, options)
      }
    }))
  )

/** Returns the address under which the host opens a session of the client that connects. */
const addressOf = Effect.fnUntraced(function*<A, R>(
  server: Layer.Layer<A, unknown, SessionHost.SessionHost>,
  connect: (context: Context.Context<A>) => Effect.Effect<unknown, unknown, R>
) {
  const opened: Array<OpenOptions> = []
  yield* connect(yield* Layer.build(Layer.provide(server, recordingHost(opened))))
  assert.lengthOf(opened, 1)
  return opened[0]?.client
})

const portOf = (context: Context.Context<HttpServer>): { readonly port: number } => {
  const { address } = Context.get(context, HttpServer)
  return { port: address._tag === "UnixPathAddress" ? 0 : address.port }
}

describe.concurrent("a host knows the address of a client", () => {
  it.live("over TCP", () =>
    Effect.gen(function*() {
      const port = yield* freePort
      const server = SocketServer.layerTcp({ port })
      assert.strictEqual(yield* addressOf(server, () => Raw.openSession({ port, host: "127.0.0.1" })), "127.0.0.1")
    }))

  it.live("over WebSocket", () =>
    Effect.gen(function*() {
      const server = Layer.provide(WebSocketServer.layerNode({ port: 0 }), anonymous)
      assert.strictEqual(yield* addressOf(server, (context) => WebSocket.connect(portOf(context))), "127.0.0.1")
    }))

  it.live("over HTTP+SSE", () =>
    Effect.gen(function*() {
      const server = Layer.provide(HttpSseServer.layerNode({ port: 0 }), anonymous)
      assert.strictEqual(yield* addressOf(server, (context) => Sse.connectSse(portOf(context))), "127.0.0.1")
    }))

  it.live("over Streamable HTTP", () =>
    Effect.gen(function*() {
      const server = Layer.provide(StreamableHttpServer.layerNode({ port: 0 }), anonymous)
      assert.strictEqual(yield* addressOf(server, (context) => Http.connect(portOf(context))), "127.0.0.1")
    }))
})

it.live("a host knows no address of a client of a Unix socket", () =>
  Effect.gen(function*() {
    const at = path.join(yield* temporaryDirectory, "s")
    assert.isUndefined(yield* addressOf(SocketServer.layerUnix({ path: at }), () => Raw.openSession({ path: at })))
  }))
