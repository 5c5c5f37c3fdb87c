import { RequestContext } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { type RequestOptions, exchange, initialize } from "../../../support/httpClient.ts"
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

const as = (token: string) => ({ authorization: `Bearer ${token}` })

describe.concurrent("who comes near a server of HTTP+SSE", () => {
  const foreign: ReadonlyArray<readonly [string, RequestOptions["headers"]]> = [
    ["another page", { origin: "https://evil.example" }],
    ["a page without an origin", { origin: "null" }],
    ["a picture in another page", { "sec-fetch-site": "cross-site", accept: "image/*,*/*" }],
    ["a picture in a page of another port", { "sec-fetch-site": "same-site", accept: "image/*,*/*" }],
    ["a name that was made to point here", { host: "evil.example" }]
  ]
  for (const [name, headers] of foreign) {
    it.live(`[SSE-05] ${name} does not, at neither endpoint`, () =>
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

  it.live("[SSE-05] a browser by itself does, and a page of the same origin", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      for (const site of ["none", "same-origin"]) {
        assert.strictEqual((yield* openSse(server, { headers: { "sec-fetch-site": site } })).stream.status, 200)
      }
    }))

  it.live("[SSE-05] an allowed page does, and its browser is told so", () =>
    Effect.gen(function*() {
      const origin = "https://app.example"
      const server = yield* serveSse(handlers, { sse: { allowedOrigins: [origin] } })
      for (const path of ["/sse", "/messages"]) {
        const asked = yield* Effect.scoped(exchange(server, {
          method: "OPTIONS",
          path,
          headers: { origin, "access-control-request-method": "POST" }
        }))
        assert.strictEqual(asked.status, 204)
        assert.strictEqual(asked.headers["access-control-allow-origin"], origin)
      }
      const client = yield* connectSse(server, { headers: { origin } })
      assert.strictEqual(client.stream.headers["access-control-allow-origin"], origin)
      const told = yield* client.notify("notifications/roots/list_changed")
      assert.strictEqual(told.status, 202)
      assert.strictEqual(told.headers["access-control-allow-origin"], origin)
    }))

  it.live("[SSE-06] a server of its own listens on this machine only", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      assert.strictEqual((yield* openSse(server, { headers: { host: "mcp.example" } })).stream.status, 403)
      const everywhere = yield* serveSse(handlers, { sse: { hostname: "0.0.0.0" } })
      assert.strictEqual((yield* openSse(everywhere, { headers: { host: "mcp.example" } })).stream.status, 200)
      const named = yield* serveSse(handlers, { sse: { hostname: "0.0.0.0", allowedHosts: ["mcp.example"] } })
      assert.strictEqual((yield* openSse(named, { headers: { host: "mcp.example:80" } })).stream.status, 200)
      assert.strictEqual((yield* openSse(named)).stream.status, 403)
    }))

  it.live("[SSE-06] nobody does without a token that is somebody's", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { authentication: yield* bearer })
      const opened = yield* openSse(server)
      assert.strictEqual(opened.stream.status, 401)
      assert.include(opened.stream.headers["www-authenticate"], "Bearer")
      const client = yield* connectSse(server, { headers: as("adas-secret") })
      const posted = yield* client.post({}, { headers: { authorization: undefined } })
      assert.strictEqual(posted.status, 401)
      yield* client.call(1, "whoami")
      assert.deepStrictEqual((yield* client.awaitResponse(1))?.result?.["content"], [{ type: "text", text: "\"ada\"" }])
      assert.strictEqual((yield* server.host.sessions)[0]?.principal, "ada")
    }))

  it.live("[SSE-06] somebody else's session does not exist", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { authentication: yield* bearer })
      const client = yield* connectSse(server, { headers: as("adas-secret") })
      const stolen = yield* client.post({ jsonrpc: "2.0", id: 1, method: "ping" }, { headers: as("bobs-secret") })
      const unknown = yield* Effect.scoped(exchange(server, {
        path: "/messages?sessionId=unknown",
        body: { jsonrpc: "2.0", id: 1, method: "ping" },
        headers: as("bobs-secret")
      }))
      assert.deepStrictEqual([stolen.status, stolen.text], [unknown.status, unknown.text])
      assert.strictEqual(stolen.status, 404)
      assert.lengthOf(client.messages, 1)
    }))
})
