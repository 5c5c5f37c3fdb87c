import { SessionHost } from "@effect-mcp/session"
import { type Authentication, HttpSseServer, StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import { connect, exchange } from "../../../support/httpClient.ts"
import { connectSse, openSse, serveSse } from "../../../support/httpSse.ts"
import { until } from "../../../support/process.ts"
import { serveWith, text, tools } from "../../../support/server.ts"

const handlers = tools({ now: Effect.succeed(text("now")) })

/** Creates a backend with these routes. */
const backend = (
  routes: Layer.Layer<never, never, Authentication.Authentication | HttpRouter.HttpRouter | SessionHost.SessionHost>
) =>
  SessionHost.layerDrain.pipe(
    Layer.provideMerge(HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true })),
    Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), { port: 0, host: "127.0.0.1" }))
  )

const prefixed = (prefix: string, paths?: HttpSseServer.Paths) =>
  HttpRouter.use((router) =>
    Layer.build(HttpSseServer.layer({ paths })).pipe(
      Effect.provideService(HttpRouter.HttpRouter, router.prefixed(prefix))
    )
  )

describe.concurrent("a server of HTTP+SSE in a backend", () => {
  it.live("[SSE-09] serves sessions of the same host as Streamable HTTP", () =>
    Effect.gen(function*() {
      const routes = Layer.mergeAll(
        StreamableHttpServer.layer(),
        HttpSseServer.layer(),
        HttpRouter.add("GET", "/health", HttpServerResponse.text("healthy"))
      )
      const server = yield* serveWith(backend(routes), handlers)
      const streamable = yield* connect(server)
      const httpSse = yield* connectSse(server)
      assert.strictEqual((yield* streamable.ping()).status, 200)
      assert.property(yield* httpSse.request("ping"), "result")
      assert.strictEqual((yield* Effect.scoped(exchange(server, { method: "GET", path: "/health" }))).text, "healthy")
      assert.sameMembers((yield* server.host.sessions).map(({ kind }) => kind), ["streamable-http", "http-sse"])
      // Each transport finds only its own sessions.
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" }
      const one = yield* Effect.scoped(exchange(server, { path: `/messages?sessionId=${streamable.id}`, body: ping }))
      const other = yield* Effect.scoped(exchange(server, { body: ping, headers: { "mcp-session-id": httpSse.id } }))
      assert.deepStrictEqual([one.status, other.status], [404, 404])
      yield* server.stop
      yield* until(() => httpSse.stream.isClosed)
      assert.isTrue(httpSse.stream.ended)
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("names the endpoint with the prefix of its router", () =>
    Effect.gen(function*() {
      const server = yield* serveWith(backend(prefixed("/api/v1")), handlers)
      const client = yield* connectSse(server, { path: "/api/v1/sse?token=x" })
      assert.match(client.endpoint, /^\/api\/v1\/messages\?sessionId=/)
      assert.property(yield* client.request("ping"), "result")
    }))

  it.live("names the endpoint with the values of path parameters", () =>
    Effect.gen(function*() {
      const paths = { stream: "/:tenant/old/sse", messages: "/:tenant/old/messages" } as const
      const server = yield* serveWith(backend(HttpSseServer.layer({ paths })), handlers)
      const client = yield* connectSse(server, { path: "/acme/old/sse" })
      assert.match(client.endpoint, /^\/acme\/old\/messages\?sessionId=/)
      assert.property(yield* client.request("ping"), "result")
    }))

  it.live("names the endpoint of its options, for a proxy that changes the path", () =>
    Effect.gen(function*() {
      for (
        const [endpoint, prefix] of [
          ["/notes/messages", "/notes/messages?sessionId="],
          ["messages", "messages?sessionId="],
          ["https://notes.example/messages?key=1", "https://notes.example/messages?key=1&sessionId="]
        ] as const
      ) {
        const server = yield* serveSse(handlers, { sse: { endpoint } })
        const client = yield* openSse(server)
        assert.isTrue(client.endpoint.startsWith(prefix), client.endpoint)
      }
    }))

  it.live("serves both endpoints at one path", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { sse: { paths: { stream: "/both", messages: "/both" } } })
      const client = yield* connectSse(server, { path: "/both" })
      assert.match(client.endpoint, /^\/both\?sessionId=/)
      assert.property(yield* client.request("ping"), "result")
      const other = yield* Effect.scoped(exchange(server, { method: "PUT", path: "/both" }))
      assert.deepStrictEqual([other.status, other.headers["allow"]], [405, "GET, POST"])
    }))
})
