import { RequestContext } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { exchange, initialize, type RequestOptions } from "../../../support/httpClient.ts"
import { connectSse, openSse, serveSse } from "../../../support/httpSse.ts"
import { text, tools } from "../../../support/server.ts"

const handlers = tools({
  whoami: Effect.map(RequestContext.RequestContext, ({ principal }) => text(JSON.stringify(principal?.id)))
})

const owners: Readonly<Record<string, string>> = { "adas-secret": "ada", "bobs-secret": "bob" }

const bearer = Effect.map(
  Layer.build(Authentication.layerBearer({
    verify: (token) =>
      Effect.sync(() => {
        const id = owners[Redacted.value(token)]
        return id === undefined ? undefined : { id }
      })
  })),
  Context.get(Authentication.Authentication)
)

const withToken = (token: string) => ({ authorization: `Bearer ${token}` })

describe.concurrent("a server of HTTP+SSE", () => {
  const foreign: ReadonlyArray<readonly [string, RequestOptions["headers"]]> = [
    ["of a page of another origin", { origin: "https://evil.example" }],
    ["of a page with the origin null", { origin: "null" }],
    ["for an image in a page of another site", { "sec-fetch-site": "cross-site", accept: "image/*,*/*" }],
    ["for an image in a page of another port", { "sec-fetch-site": "same-site", accept: "image/*,*/*" }],
    ["with a foreign host, as after DNS rebinding,", { host: "evil.example" }]
  ]
  for (const [name, headers] of foreign) {
    it.live(`[SSE-05] rejects a request ${name} with 403 at both endpoints`, () =>
      Effect.gen(function*() {
        const server = yield* serveSse(handlers)
        const opened = yield* openSse(server, { headers: headers ?? {} })
        assert.strictEqual(opened.stream.status, 403)
        assert.strictEqual((yield* server.host.health).sessions, 0)
        const client = yield* openSse(server)
        assert.strictEqual((yield* client.post(initialize("2024-11-05"), { headers: headers ?? {} })).status, 403)
        assert.lengthOf(client.messages, 0)
      }))
  }

  it.live("[SSE-05] accepts a request of the user's own navigation, and of a page of the same origin", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      for (const site of ["none", "same-origin"]) {
        assert.strictEqual((yield* openSse(server, { headers: { "sec-fetch-site": site } })).stream.status, 200)
      }
    }))

  it.live("[SSE-05] accepts a page of an allowed origin, with CORS headers", () =>
    Effect.gen(function*() {
      const origin = "https://app.example"
      const server = yield* serveSse(handlers, { sse: { allowedOrigins: [origin] } })
      for (const path of ["/sse", "/messages"]) {
        const preflight = yield* Effect.scoped(exchange(server, {
          method: "OPTIONS",
          path,
          headers: { origin, "access-control-request-method": "POST" }
        }))
        assert.strictEqual(preflight.status, 204)
        assert.strictEqual(preflight.headers["access-control-allow-origin"], origin)
      }
      const client = yield* connectSse(server, { headers: { origin } })
      assert.strictEqual(client.stream.headers["access-control-allow-origin"], origin)
      const notified = yield* client.notify("notifications/roots/list_changed")
      assert.strictEqual(notified.status, 202)
      assert.strictEqual(notified.headers["access-control-allow-origin"], origin)
    }))

  it.live("[SSE-06] on its own port listens on this machine only", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      assert.strictEqual((yield* openSse(server, { headers: { host: "mcp.example" } })).stream.status, 403)
      const anyInterface = yield* serveSse(handlers, { sse: { hostname: "0.0.0.0" } })
      assert.strictEqual((yield* openSse(anyInterface, { headers: { host: "mcp.example" } })).stream.status, 200)
      const named = yield* serveSse(handlers, { sse: { hostname: "0.0.0.0", allowedHosts: ["mcp.example"] } })
      assert.strictEqual((yield* openSse(named, { headers: { host: "mcp.example:80" } })).stream.status, 200)
      assert.strictEqual((yield* openSse(named)).stream.status, 403)
    }))

  it.live("[SSE-06] rejects a request without a valid token with 401", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { authentication: yield* bearer })
      const opened = yield* openSse(server)
      assert.strictEqual(opened.stream.status, 401)
      assert.include(opened.stream.headers["www-authenticate"], "Bearer")
      const client = yield* connectSse(server, { headers: withToken("adas-secret") })
      const posted = yield* client.post({}, { headers: { authorization: undefined } })
      assert.strictEqual(posted.status, 401)
      yield* client.call(1, "whoami")
      assert.deepStrictEqual((yield* client.awaitResponse(1))?.result?.["content"], [{ type: "text", text: "\"ada\"" }])
      assert.strictEqual((yield* server.host.sessions)[0]?.principal, "ada")
    }))

  it.live("[SSE-06] answers 404 to a session of another principal", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { authentication: yield* bearer })
      const client = yield* connectSse(server, { headers: withToken("adas-secret") })
      const stolen = yield* client.post({ jsonrpc: "2.0", id: 1, method: "ping" }, {
        headers: withToken("bobs-secret")
      })
      const unknown = yield* Effect.scoped(exchange(server, {
        path: "/messages?sessionId=unknown",
        body: { jsonrpc: "2.0", id: 1, method: "ping" },
        headers: withToken("bobs-secret")
      }))
      assert.deepStrictEqual([stolen.status, stolen.text], [unknown.status, unknown.text])
      assert.strictEqual(stolen.status, 404)
      assert.lengthOf(client.messages, 1)
    }))
})
