import { Revision } from "@effect-mcp/protocol"
import { ClientSession, RequestContext, SessionHost, type Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import {
  Authentication,
  StreamableHttpClient,
  StreamableHttpServer,
  WebSocketClient,
  WebSocketServer
} from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServer } from "effect/http/HttpServer"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as http from "node:http"
import { openSockets } from "../../support/openSockets.ts"
import { until } from "../../support/process.ts"
import { collectLogs, hostOf, info, text, tools } from "../../support/server.ts"
import { call, connect, dial, type Peer } from "../../support/webSocketPeer.ts"

const handlers = tools({
  wait: Effect.never,
  slowToInterrupt: Effect.onInterrupt(Effect.never, () => Effect.sleep("300 millis")),
  add: ({ a, b }) => Effect.succeed(text(String(Number(a) + Number(b)))),
  report: Effect.as(RequestContext.progress({ progress: 1 }), text("done"))
})

const routes = Layer.mergeAll(
  StreamableHttpServer.layer(),
  WebSocketServer.layer({ path: "/socket", closeTimeout: "100 millis" }),
  HttpRouter.add("GET", "/health", HttpServerResponse.text("healthy"))
)

const router = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true })

const backend = NodeHttpServer.layerServer(() => http.createServer({ keepAliveTimeout: 0 }), {
  port: 0,
  host: "127.0.0.1",
  gracefulShutdownTimeout: "200 millis"
})

type MakeServer = (logs: Array<string>) => Layer.Layer<HttpServer | SessionHost.SessionHost, unknown>

const onItsOwn: MakeServer = (logs) =>
  WebSocketServer.layerNode({ port: 0, path: "/socket", closeTimeout: "100 millis" }).pipe(
    Layer.provideMerge(hostOf(handlers, {})),
    Layer.provide(Authentication.anonymous),
    Layer.provideMerge(collectLogs(logs))
  )

const inDrainingBackend: MakeServer = (logs) =>
  SessionHost.layerDrain.pipe(
    Layer.provideMerge(router),
    Layer.provideMerge(backend),
    Layer.provideMerge(hostOf(handlers, {})),
    Layer.provide(Authentication.anonymous),
    Layer.provideMerge(collectLogs(logs))
  )

const inBackendWithoutDrain: MakeServer = (logs) =>
  router.pipe(
    Layer.provideMerge(backend),
    Layer.provideMerge(hostOf(handlers, {})),
    Layer.provide(Authentication.anonymous),
    Layer.provideMerge(collectLogs(logs))
  )

const servers = {
  "on its own": onItsOwn,
  "in a backend that drains its host": inDrainingBackend,
  "in a backend that does not": inBackendWithoutDrain
}

/** Starts a server, and counts its fibers. */
const start = Effect.fnUntraced(function*(makeServer: MakeServer) {
  const fibers = FiberCount.make()
  const logs: Array<string> = []
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const context = yield* fibers.count(Layer.buildWithScope(Layer.fresh(makeServer(logs)), scope))
  const { address } = Context.get(context, HttpServer)
  return {
    fibers,
    logs,
    port: address._tag === "UnixPathAddress" ? 0 : address.port,
    host: Context.get(context, SessionHost.SessionHost),
    stop: Scope.close(scope, Exit.void)
  }
})

describe("the shutdown of a server", () => {
  for (const [name, makeServer] of Object.entries(servers)) {
    it.live(`[law 2] sends a close frame to every client, and leaves no fiber and no socket (${name})`, () =>
      Effect.gen(function*() {
        const opened = yield* openSockets
        const server = yield* start(makeServer)
        const options = { path: "/socket" }
        const answering = yield* connect(server, options)
        const busy = yield* connect(server, options)
        const slow = yield* connect(server, options)
        const silent = yield* dial(server, options)
        const stalled = yield* connect(server, options)
        busy.send(call(1, "wait"))
        slow.send(call(1, "slowToInterrupt"))
        stalled.socket.pause()
        // Only this client answers the close frame.
        answering.socket.on("data", () => {
          if (answering.closeFrame !== undefined && !answering.socket.writableEnded) {
            answering.sendClose(1001)
            answering.socket.end()
          }
        })
        yield* Effect.repeat(server.host.sessions, {
          until: (all) => all.filter((one) => one.inFlight > 0).length === 2
        })
        yield* server.stop
        stalled.socket.resume()
        const peers: ReadonlyArray<Peer> = [answering, busy, slow, silent, stalled]
        yield* until(() => peers.every(({ isClosed }) => isClosed))
        for (const peer of peers) assert.deepStrictEqual(peer.closeFrame?.code, 1001)
        yield* until(() => server.fibers.living() === 0)
        yield* until(() => opened.all() === 0)
        assert.deepStrictEqual(server.logs, [])
      }))

    it.live(`[law 2] a client that disconnects leaves no fiber and no socket (${name})`, () =>
      Effect.gen(function*() {
        const server = yield* start(makeServer)
        yield* until(() => server.fibers.living() <= 2)
        const before = server.fibers.living()
        const opened = yield* openSockets
        for (let round = 0; round < 3; round++) {
          const peers = yield* Effect.forEach(Array.from({ length: 20 }), () => connect(server, { path: "/socket" }))
          for (const [index, peer] of peers.entries()) {
            if (index % 4 === 0) peer.sendClose(1000)
            if (index % 4 === 1) peer.socket.end()
            if (index % 4 === 2) peer.socket.destroy()
            if (index % 4 === 3) peer.write("not a frame")
          }
          yield* until(() => peers.every(({ isClosed }) => isClosed))
          yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
        }
        yield* until(() => opened.all() === 0)
        // The fiber of the liveness checks ends at its next check.
        yield* until(() => server.fibers.living() <= before + 1)
        yield* server.stop
        assert.strictEqual(server.fibers.living(), 0)
        assert.deepStrictEqual(server.logs, [])
      }))
  }
})

describe("in a backend", () => {
  it.live("one host keeps the sessions of Streamable HTTP and WebSocket, and each path finds only its own", () =>
    Effect.gen(function*() {
      const server = yield* start(inDrainingBackend)
      const url = `http://127.0.0.1:${server.port}`
      const session = (transport: Layer.Layer<Transport.Transport>) =>
        Effect.map(
          Layer.build(Layer.provide(ClientSession.layer({ info, revisions: Revision.legacy }), transport)),
          Context.get(ClientSession.ClientSession)
        )
      const overHttp = yield* session(StreamableHttpClient.layerNode({ url: `${url}/mcp` }))
      const overSocket = yield* session(WebSocketClient.layerNode({ url: `${url}/socket` }))
      for (const client of [overHttp, overSocket]) {
        assert.deepStrictEqual((yield* client.callTool("add", { a: 1, b: 2 })).content, text("3").content)
      }
      assert.sameMembers((yield* server.host.sessions).map(({ kind }) => kind), ["streamable-http", "websocket"])
      // Over Streamable HTTP, the WebSocket session does not exist.
      const id = (yield* server.host.sessions).find(({ kind }) => kind === "websocket")?.id ?? ""
      const response = yield* Effect.promise(() =>
        fetch(`${url}/mcp`, {
          method: "DELETE",
          headers: { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" }
        })
      )
      assert.strictEqual(response.status, 404)
      assert.deepStrictEqual((yield* overSocket.callTool("add", { a: 2, b: 2 })).content, text("4").content)
      const health = yield* Effect.promise(() => fetch(`${url}/health`).then((answer) => answer.text()))
      assert.strictEqual(health, "healthy")
      yield* overSocket.close
      yield* Effect.repeat(server.host.sessions, { until: (all) => all.every(({ kind }) => kind !== "websocket") })
    }))

  it.live("the subprotocol mcp is selected although the backend selects the first one offered", () =>
    Effect.gen(function*() {
      const server = yield* start(inDrainingBackend)
      const peer = yield* connect(server, { path: "/socket", headers: { "Sec-WebSocket-Protocol": "chat, mcp" } })
      assert.strictEqual(peer.header("sec-websocket-protocol"), "mcp")
    }))

  it.live("messages are not compressed although the backend offers compression", () =>
    Effect.gen(function*() {
      const compressing = NodeHttpServer.layerServer(() => http.createServer(), {
        port: 0,
        host: "127.0.0.1",
        websocket: { perMessageDeflate: true }
      })
      const server = yield* start((logs) =>
        SessionHost.layerDrain.pipe(
          Layer.provideMerge(router),
          Layer.provideMerge(compressing),
          Layer.provideMerge(hostOf(handlers, {})),
          Layer.provide(Authentication.anonymous),
          Layer.provideMerge(collectLogs(logs))
        )
      )
      const headers = { "Sec-WebSocket-Extensions": "permessage-deflate" }
      const peer = yield* connect(server, { path: "/socket", headers })
      assert.isUndefined(peer.header("sec-websocket-extensions"))
    }))

  it.live("[law 2] an upgrade that the backend rejects leaves no session", () =>
    Effect.gen(function*() {
      const rejecting = NodeHttpServer.layerServer(() => http.createServer(), {
        port: 0,
        host: "127.0.0.1",
        websocket: { verifyClient: () => false }
      })
      const server = yield* start((logs) =>
        SessionHost.layerDrain.pipe(
          Layer.provideMerge(router),
          Layer.provideMerge(rejecting),
          Layer.provideMerge(hostOf(handlers, {})),
          Layer.provide(Authentication.anonymous),
          Layer.provideMerge(collectLogs(logs))
        )
      )
      const peer = yield* dial(server, { path: "/socket" })
      assert.strictEqual(peer.status, 401)
      yield* until(() => peer.isClosed)
      // The client receives one response only.
      assert.strictEqual(peer.body, "Unauthorized")
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      yield* server.stop
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("[law 2] a server that closes during an upgrade closes the new connection", () =>
    Effect.gen(function*() {
      let accept: (() => void) | undefined
      const delaying = NodeHttpServer.layerServer(() => http.createServer(), {
        port: 0,
        host: "127.0.0.1",
        websocket: {
          verifyClient: (_: unknown, done: (isAccepted: boolean) => void) => {
            accept = () => done(true)
          }
        }
      })
      const serverScope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
      const logs: Array<string> = []
      const server = yield* start(() =>
        Layer.effectDiscard(Effect.gen(function*() {
          const handle = yield* Scope.provide(WebSocketServer.makeHandler(), serverScope)
          const served = HttpRouter.use((all) => all.add("GET", "/socket", handle))
          return yield* Layer.build(HttpRouter.serve(served, { disableLogger: true, disableListenLog: true }))
        })).pipe(
          Layer.provideMerge(delaying),
          Layer.provideMerge(hostOf(handlers, {})),
          Layer.provide(Authentication.anonymous),
          Layer.provideMerge(collectLogs(logs))
        )
      )
      const dialling = yield* Effect.forkChild(dial(server, { path: "/socket" }))
      yield* until(() => accept !== undefined)
      yield* Scope.close(serverScope, Exit.void)
      accept?.()
      const peer = yield* Fiber.join(dialling)
      yield* until(() => peer.closeFrame !== undefined)
      assert.strictEqual(peer.closeFrame?.code, 1001)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      yield* server.stop
      assert.deepStrictEqual(logs, [])
    }))
})

describe("a session of the client", () => {
  it.live("[law 2] leaves no fiber and no socket", () =>
    Effect.gen(function*() {
      const server = yield* start(onItsOwn)
      const opened = yield* openSockets
      const fibers = FiberCount.make()
      const url = `ws://127.0.0.1:${server.port}/socket`
      yield* fibers.count(Effect.scoped(Effect.gen(function*() {
        const context = yield* Layer.build(
          Layer.provide(ClientSession.layer({ info, revisions: Revision.legacy }), WebSocketClient.layerNode({ url }))
        )
        const client = Context.get(context, ClientSession.ClientSession)
        assert.deepStrictEqual((yield* client.callTool("add", { a: 1, b: 2 })).content, text("3").content)
      })))
      assert.strictEqual(fibers.living(), 0)
      yield* until(() => opened.all() === 0)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
    }))
})
