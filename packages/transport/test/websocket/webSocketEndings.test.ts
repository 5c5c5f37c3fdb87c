import { ClientSession, RequestContext, SessionHost, type Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import {
  Authentication,
  StreamableHttpClient,
  StreamableHttpServer,
  WebSocketClient,
  WebSocketServer
} from "@effect-mcp/transport"
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
import { until } from "../fixtures/process.ts"
import { openings } from "../support/openings.ts"
import { hostOf, info, listening, text, tools } from "../support/server.ts"
import { call, connect, dial, type Peer } from "../support/webSocketPeer.ts"

const handlers = tools({
  wait: Effect.never,
  stubborn: Effect.onInterrupt(Effect.never, () => Effect.sleep("300 millis")),
  add: ({ a, b }) => Effect.succeed(text(String(Number(a) + Number(b)))),
  tell: Effect.as(RequestContext.progress({ progress: 1 }), text("told"))
})

const routes = Layer.mergeAll(
  StreamableHttpServer.layer("/mcp"),
  WebSocketServer.layer("/socket", { closeTimeout: "100 millis" }),
  HttpRouter.add("GET", "/health", HttpServerResponse.text("well"))
)

const router = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true })

const backend = NodeHttpServer.layerServer(() => http.createServer({ keepAliveTimeout: 0 }), {
  port: 0,
  host: "127.0.0.1",
  gracefulShutdownTimeout: "200 millis"
})

type Serving = (logs: Array<string>) => Layer.Layer<HttpServer | SessionHost.SessionHost, unknown>

const alone: Serving = (logs) =>
  WebSocketServer.layerNode({ port: 0, path: "/socket", closeTimeout: "100 millis" }).pipe(
    Layer.provideMerge(hostOf(handlers, {})),
    Layer.provide(Authentication.anonymous),
    Layer.provideMerge(listening(logs))
  )

const draining: Serving = (logs) =>
  SessionHost.layerDrain.pipe(
    Layer.provideMerge(router),
    Layer.provideMerge(backend),
    Layer.provideMerge(hostOf(handlers, {})),
    Layer.provide(Authentication.anonymous),
    Layer.provideMerge(listening(logs))
  )

const careless: Serving = (logs) =>
  router.pipe(
    Layer.provideMerge(backend),
    Layer.provideMerge(hostOf(handlers, {})),
    Layer.provide(Authentication.anonymous),
    Layer.provideMerge(listening(logs))
  )

const servers = {
  "by itself": alone,
  "in a backend that drains its host": draining,
  "in a backend that does not": careless
}

/** Starts a server, and is told how to end it. */
const start = Effect.fnUntraced(function*(serving: Serving) {
  const census = FiberCount.make()
  const logs: Array<string> = []
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const context = yield* census.count(Layer.buildWithScope(Layer.fresh(serving(logs)), scope))
  const { address } = Context.get(context, HttpServer)
  return {
    census,
    logs,
    port: address._tag === "UnixPathAddress" ? 0 : address.port,
    host: Context.get(context, SessionHost.SessionHost),
    stop: Scope.close(scope, Exit.void)
  }
})

describe("when a server goes", () => {
  for (const [name, serving] of Object.entries(servers)) {
    it.live(`[law 2] its clients are told, and nothing is left, whatever they do (${name})`, () =>
      Effect.gen(function*() {
        const opened = yield* openings
        const server = yield* start(serving)
        const offer = { path: "/socket" }
        const polite = yield* connect(server, offer)
        const busy = yield* connect(server, offer)
        const stubborn = yield* connect(server, offer)
        const mute = yield* dial(server, offer)
        const deaf = yield* connect(server, offer)
        busy.say(call(1, "wait"))
        stubborn.say(call(1, "stubborn"))
        deaf.socket.pause()
        // This one answers the close frame; the others leave that to the server's patience.
        polite.socket.on("data", () => {
          if (polite.farewell !== undefined && !polite.socket.writableEnded) {
            polite.leave(1001)
            polite.socket.end()
          }
        })
        yield* Effect.repeat(server.host.sessions, {
          until: (all) => all.filter((one) => one.inFlight > 0).length === 2
        })
        yield* server.stop
        deaf.socket.resume()
        const peers: ReadonlyArray<Peer> = [polite, busy, stubborn, mute, deaf]
        yield* until(() => peers.every(({ gone }) => gone))
        for (const peer of peers) assert.deepStrictEqual(peer.farewell?.code, 1001)
        yield* until(() => server.census.living() === 0)
        yield* until(() => opened.all() === 0)
        assert.deepStrictEqual(server.logs, [])
      }))

    it.live(`[law 2] nothing is left of clients that have come and gone (${name})`, () =>
      Effect.gen(function*() {
        const server = yield* start(serving)
        yield* until(() => server.census.living() <= 2)
        const before = server.census.living()
        const opened = yield* openings
        for (let round = 0; round < 3; round++) {
          const peers = yield* Effect.forEach(Array.from({ length: 20 }), () => connect(server, { path: "/socket" }))
          for (const [index, peer] of peers.entries()) {
            if (index % 4 === 0) peer.leave(1000)
            if (index % 4 === 1) peer.socket.end()
            if (index % 4 === 2) peer.socket.destroy()
            if (index % 4 === 3) peer.write("no frame at all")
          }
          yield* until(() => peers.every(({ gone }) => gone))
          yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
        }
        yield* until(() => opened.all() === 0)
        // What looks after silent clients has nobody to look after at its next look.
        yield* until(() => server.census.living() <= before + 1)
        yield* server.stop
        assert.strictEqual(server.census.living(), 0)
        assert.deepStrictEqual(server.logs, [])
      }))
  }
})

describe("in a backend", () => {
  it.live("one host keeps the sessions of Streamable HTTP and of WebSocket, and tells them apart", () =>
    Effect.gen(function*() {
      const server = yield* start(draining)
      const at = `http://127.0.0.1:${server.port}`
      const session = (transport: Layer.Layer<Transport.Transport>) =>
        Effect.map(
          Layer.build(Layer.provide(ClientSession.layer({ info }), transport)),
          Context.get(ClientSession.ClientSession)
        )
      const overHttp = yield* session(StreamableHttpClient.layerNode({ url: `${at}/mcp` }))
      const overSocket = yield* session(WebSocketClient.layerNode({ url: `${at}/socket` }))
      for (const client of [overHttp, overSocket]) {
        assert.deepStrictEqual((yield* client.callTool("add", { a: 1, b: 2 })).content, text("3").content)
      }
      assert.sameMembers((yield* server.host.sessions).map(({ kind }) => kind), ["streamable-http", "websocket"])
      // To Streamable HTTP the other's session does not exist.
      const id = (yield* server.host.sessions).find(({ kind }) => kind === "websocket")?.id ?? ""
      const response = yield* Effect.promise(() =>
        fetch(`${at}/mcp`, {
          method: "DELETE",
          headers: { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" }
        })
      )
      assert.strictEqual(response.status, 404)
      assert.deepStrictEqual((yield* overSocket.callTool("add", { a: 2, b: 2 })).content, text("4").content)
      const health = yield* Effect.promise(() => fetch(`${at}/health`).then((answer) => answer.text()))
      assert.strictEqual(health, "well")
      yield* overSocket.close
      yield* Effect.repeat(server.host.sessions, { until: (all) => all.every(({ kind }) => kind !== "websocket") })
    }))

  it.live("mcp is selected though the backend would take what is offered first", () =>
    Effect.gen(function*() {
      const server = yield* start(draining)
      const peer = yield* connect(server, { path: "/socket", headers: { "Sec-WebSocket-Protocol": "chat, mcp" } })
      assert.strictEqual(peer.header("sec-websocket-protocol"), "mcp")
    }))

  it.live("nothing is compressed though the backend would", () =>
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
          Layer.provideMerge(listening(logs))
        )
      )
      const headers = { "Sec-WebSocket-Extensions": "permessage-deflate" }
      const peer = yield* connect(server, { path: "/socket", headers })
      assert.isUndefined(peer.header("sec-websocket-extensions"))
    }))

  it.live("[law 2] a backend's own refusal of the upgrade leaves no session", () =>
    Effect.gen(function*() {
      const refusing = NodeHttpServer.layerServer(() => http.createServer(), {
        port: 0,
        host: "127.0.0.1",
        websocket: { verifyClient: () => false }
      })
      const server = yield* start((logs) =>
        SessionHost.layerDrain.pipe(
          Layer.provideMerge(router),
          Layer.provideMerge(refusing),
          Layer.provideMerge(hostOf(handlers, {})),
          Layer.provide(Authentication.anonymous),
          Layer.provideMerge(listening(logs))
        )
      )
      const peer = yield* dial(server, { path: "/socket" })
      assert.strictEqual(peer.status, 401)
      yield* until(() => peer.gone)
      // One response, and no other behind it.
      assert.strictEqual(peer.body, "Unauthorized")
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      yield* server.stop
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("[law 2] what goes ends whoever is just being let in", () =>
    Effect.gen(function*() {
      let letIn: (() => void) | undefined
      const hesitating = NodeHttpServer.layerServer(() => http.createServer(), {
        port: 0,
        host: "127.0.0.1",
        websocket: {
          verifyClient: (_: unknown, done: (isLetIn: boolean) => void) => {
            letIn = () => done(true)
          }
        }
      })
      const going = yield* Effect.acquireRelease(Scope.make(), Scope.close)
      const logs: Array<string> = []
      const server = yield* start(() =>
        Layer.effectDiscard(Effect.gen(function*() {
          const handle = yield* Scope.provide(WebSocketServer.make(), going)
          const served = HttpRouter.use((all) => all.add("GET", "/socket", handle))
          return yield* Layer.build(HttpRouter.serve(served, { disableLogger: true, disableListenLog: true }))
        })).pipe(
          Layer.provideMerge(hesitating),
          Layer.provideMerge(hostOf(handlers, {})),
          Layer.provide(Authentication.anonymous),
          Layer.provideMerge(listening(logs))
        )
      )
      const dialling = yield* Effect.forkChild(dial(server, { path: "/socket" }))
      yield* until(() => letIn !== undefined)
      yield* Scope.close(going, Exit.void)
      letIn?.()
      const peer = yield* Fiber.join(dialling)
      yield* until(() => peer.farewell !== undefined)
      assert.strictEqual(peer.farewell?.code, 1001)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      yield* server.stop
      assert.deepStrictEqual(logs, [])
    }))
})

describe("a whole session", () => {
  it.live("[law 2] leaves nothing on the client's side", () =>
    Effect.gen(function*() {
      const server = yield* start(alone)
      const opened = yield* openings
      const census = FiberCount.make()
      const url = `ws://127.0.0.1:${server.port}/socket`
      yield* census.count(Effect.scoped(Effect.gen(function*() {
        const context = yield* Layer.build(
          Layer.provide(ClientSession.layer({ info }), WebSocketClient.layerNode({ url }))
        )
        const client = Context.get(context, ClientSession.ClientSession)
        assert.deepStrictEqual((yield* client.callTool("add", { a: 1, b: 2 })).content, text("3").content)
      })))
      assert.strictEqual(census.living(), 0)
      yield* until(() => opened.all() === 0)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
    }))
})
