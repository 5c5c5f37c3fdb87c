/** The backend with an MCP server beside its own routes. */
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport"
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

/** A session of somebody's, for as long as the scope lasts. */
const client = Effect.fnUntraced(function*(name: string) {
  const transport = StreamableHttpClient.layerNode({
    url: `${yield* base}/mcp`,
    headers: { authorization: Redacted.make(`Bearer ${name}`) }
  })
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
