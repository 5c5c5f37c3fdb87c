/** The backend with an MCP server beside its own routes. */
import { ClientSession, SessionHost } from "@effect-mcp/session"
import { type HttpClientOptions, HttpSseClient, StreamableHttpClient, WebSocketClient } from "@effect-mcp/transport"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Backend from "../src/backend.ts"

const base = Effect.map(HttpServer, ({ address }) => `http://127.0.0.1:${"port" in address ? address.port : 0}`)

const get = (path: string, headers: Record<string, string> = {}) =>
  Effect.flatMap(base, (url) => Effect.promise(() => fetch(`${url}${path}`, { headers })))

/** What the backend says of its sessions. */
const sessions = Effect.flatMap(get("/sessions"), (response) => Effect.promise(() => response.json()))

/** The ways in, by the name that the host has for each. */
const ways = {
  "streamable-http": (base: string, headers: HttpClientOptions.HeaderValues) =>
    StreamableHttpClient.layerNode({ url: `${base}/mcp`, headers }),
  "http-sse": (base: string, headers: HttpClientOptions.HeaderValues) =>
    HttpSseClient.layerNode({ url: `${base}/sse`, headers }),
  websocket: (base: string, headers: HttpClientOptions.HeaderValues) =>
    WebSocketClient.layerNode({ url: `${base.replace("http:", "ws:")}/mcp/socket`, headers })
}

/** A session of somebody's, for as long as the scope lasts. */
const client = Effect.fnUntraced(function*(name: string, way: keyof typeof ways = "streamable-http") {
  const transport = ways[way](yield* base, { authorization: Redacted.make(`Bearer ${name}`) })
  const session = ClientSession.layer({ info: { name: `${name}'s client`, version: "1.0.0" } })
  return Context.get(yield* Layer.build(Layer.provide(session, transport)), ClientSession.ClientSession)
})

layer(Layer.fresh(Backend.layer(0)), { excludeTestServices: true })("a backend with an MCP server in it", (it) => {
  it.effect("has its own routes, and its middleware is around all of them", () =>
    Effect.gen(function*() {
      const health = yield* get("/health")
      assert.strictEqual(health.headers.get("server"), "backend")
      assert.deepStrictEqual(yield* Effect.promise(() => health.json()), {
        accepting: true,
        draining: false,
        sessions: 0,
        handshaking: 0,
        limit: 500
      })
      const endpoint = yield* get("/mcp")
      assert.strictEqual(endpoint.headers.get("server"), "backend")
    }))

  it.effect("[HTTP-14] lets in who has a token, and asks everybody else for one", () =>
    Effect.gen(function*() {
      const refused = yield* get("/mcp", { accept: "text/event-stream" })
      assert.deepStrictEqual([refused.status, refused.headers.get("www-authenticate")], [
        401,
        "Bearer realm=\"calculator\""
      ])
      const stranger = yield* Effect.flip(Effect.scoped(client("mallory")))
      assert.include(stranger.message, "error=\"invalid_token\"")
      const session = yield* client("ada")
      const sum = yield* session.callTool("add", { a: 15, b: 27 })
      assert.deepStrictEqual(sum.content, [{ type: "text", text: "42" }])
    }))

  it.effect("[SSE-09] has the same sessions behind the endpoints of all three, and asks who comes at each of them", () =>
    Effect.gen(function*() {
      const host = yield* SessionHost.SessionHost
      for (const way of ["streamable-http", "http-sse", "websocket"] as const) {
        yield* Effect.gen(function*() {
          const session = yield* client("ada", way)
          const sum = yield* session.callTool("add", { a: 15, b: 27 })
          assert.deepStrictEqual(sum.content, [{ type: "text", text: "42" }])
          const [hosted, ...others] = yield* host.sessions
          assert.deepStrictEqual([hosted?.kind, hosted?.principal, others], [way, "ada", []])
        }).pipe(Effect.scoped)
        const stranger = yield* Effect.flip(Effect.scoped(client("mallory", way)))
        assert.include(stranger.message, "the peer does not know who asks", way)
        // Whether its end is known at once is not the same for all of them.
        yield* Effect.repeat(Effect.sleep("5 millis"), {
          while: () => Effect.map(host.sessions, (sessions) => sessions.length > 0)
        })
      }
    }))

  it.effect("knows whose sessions there are, and they end with their clients", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        yield* client("ada")
        yield* client("bob")
        const listed = yield* sessions
        assert.deepStrictEqual(listed, [
          { principal: "ada", client: { name: "ada's client", version: "1.0.0" }, revision: "2025-11-25" },
          { principal: "bob", client: { name: "bob's client", version: "1.0.0" }, revision: "2025-11-25" }
        ])
      }))
      assert.deepStrictEqual(yield* sessions, [])
    }))
})
