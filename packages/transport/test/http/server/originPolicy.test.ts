import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type RequestOptions, exchange, connect, initialize } from "../../support/httpClient.ts"
import { serve, type Settings, text, tools } from "../../support/server.ts"

const handlers = tools({ now: Effect.succeed(text("now")) })

const statusOf = (http: Settings["http"], headers: RequestOptions["headers"], method = "POST") =>
  Effect.scoped(Effect.gen(function*() {
    const server = yield* serve(handlers, { http: http ?? {} })
    const named = Object.fromEntries(
      Object.entries(headers ?? {}).map(([name, value]) => [name, value?.replace("PORT", String(server.port))])
    )
    const answer = yield* exchange(server, {
      ...(method === "POST" ? { body: initialize("2025-11-25") } : { method }),
      headers: named
    })
    const sessions = yield* server.host.sessions
    assert.strictEqual(sessions.length, answer.status === 200 ? 1 : 0)
    if (answer.status === 403) assert.isNumber(answer.messages[0]?.error?.code)
    return answer.status
  }))

describe.concurrent("who may come near a server", () => {
  const everywhere = { hostname: "0.0.0.0" }
  const rows: ReadonlyArray<readonly [string, Settings["http"], RequestOptions["headers"], number]> = [
    ["by the address of this machine", {}, { host: "127.0.0.1:PORT" }, 200],
    ["by the name of this machine", {}, { host: "LOCALHOST:PORT" }, 200],
    ["by its address of IPv6", {}, { host: "[::1]:PORT" }, 200],
    ["without a port", {}, { host: "localhost" }, 200],
    ["by a name that was made to point here", {}, { host: "evil.example:PORT" }, 403],
    ["by a name that begins like this machine's", {}, { host: "localhost.evil.example" }, 403],
    ["by a name that begins like its address", {}, { host: "127.0.0.1.evil.example:PORT" }, 403],
    ["by any name, where it listens everywhere", everywhere, { host: "mcp.example" }, 200],
    ["by a name that is allowed", { allowedHosts: ["mcp.example"] }, { host: "MCP.example:8443" }, 200],
    [
      "by a name that is allowed with a port",
      { allowedHosts: ["mcp.example:8443"] },
      { host: "mcp.example:8443" },
      200
    ],
    ["by such a name with another port", { allowedHosts: ["mcp.example:8443"] }, { host: "mcp.example:80" }, 403],
    [
      "by its address, where only a name is allowed",
      { allowedHosts: ["mcp.example"] },
      { host: "127.0.0.1:PORT" },
      403
    ],
    [
      "by none but what is allowed, everywhere",
      { ...everywhere, allowedHosts: ["a.example"] },
      { host: "b.example" },
      403
    ],
    ["from a page of this machine", {}, { origin: "http://localhost:5173" }, 200],
    ["from a page of this machine by IPv6", {}, { origin: "http://[::1]:5173" }, 200],
    ["from any other page", {}, { origin: "https://evil.example" }, 403],
    ["from a page whose name begins like this machine's", {}, { origin: "http://localhost.evil.example" }, 403],
    ["from a page that has no origin", {}, { origin: "null" }, 403],
    ["from a page with a name for its user", {}, { origin: "http://localhost@evil.example" }, 403],
    ["from a page of this machine, elsewhere", everywhere, { origin: "http://localhost", host: "mcp.example" }, 403],
    ["from an allowed page", { allowedOrigins: ["https://app.example"] }, { origin: "https://APP.example" }, 200],
    ["from an allowed page by another scheme", { allowedOrigins: ["https://app.example"] }, {
      origin: "http://app.example"
    }, 403],
    ["from every page", { allowedOrigins: ["*"] }, { origin: "https://evil.example" }, 200],
    ["from an allowed page by a wrong name", { allowedOrigins: ["*"] }, {
      origin: "https://a.example",
      host: "evil.example"
    }, 403]
  ]
  for (const [name, http, headers, status] of rows) {
    it.live(`[HTTP-11] [HTTP-12] ${name}: ${status}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* statusOf(http, headers), status)
      }))
  }

  it.live("[HTTP-11] every method is looked at", () =>
    Effect.gen(function*() {
      for (const method of ["GET", "DELETE", "OPTIONS", "PUT"]) {
        assert.strictEqual(yield* statusOf({}, { origin: "https://evil.example" }, method), 403)
        assert.strictEqual(yield* statusOf({}, { host: "evil.example" }, method), 403)
      }
    }))

  it.live("[HTTP-13] a server of its own listens on this machine only", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const answer = yield* exchange(server, { body: initialize("2025-11-25"), headers: { host: "evil.example" } })
      assert.strictEqual(answer.status, 403)
      assert.include(answer.messages[0]?.error?.message ?? "", "evil.example")
    }))

  it.live("a page that is allowed may ask what it may, and sees what it has to", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { http: { allowedOrigins: ["https://app.example"] } })
      const headers = { origin: "https://app.example" }
      const preflight = yield* exchange(server, {
        method: "OPTIONS",
        headers: {
          ...headers,
          "access-control-request-method": "POST",
          "access-control-request-headers":
            "content-type,mcp-session-id,mcp-protocol-version,last-event-id,authorization"
        }
      })
      assert.deepInclude({ status: preflight.status, text: preflight.text }, { status: 204, text: "" })
      assert.strictEqual(preflight.headers["access-control-allow-origin"], "https://app.example")
      const wordsOf = (value: string | undefined) => (value ?? "").toLowerCase().split(/,\s*/)
      assert.includeMembers(wordsOf(preflight.headers["access-control-allow-methods"]), ["get", "post", "delete"])
      assert.includeMembers(wordsOf(preflight.headers["access-control-allow-headers"]), [
        "content-type",
        "accept",
        "authorization",
        "mcp-session-id",
        "mcp-protocol-version",
        "last-event-id"
      ])
      const client = yield* connect(server, { headers })
      for (const answer of [yield* client.ping(), yield* client.get(), yield* client.exchange({ raw: "{" })]) {
        assert.strictEqual(answer.headers["access-control-allow-origin"], "https://app.example")
        assert.include(wordsOf(answer.headers["vary"]), "origin")
        assert.includeMembers(wordsOf(answer.headers["access-control-expose-headers"]), [
          "mcp-session-id",
          "mcp-protocol-version",
          "www-authenticate"
        ])
      }
      // Who is no page need not be told.
      assert.isUndefined((yield* (yield* connect(server)).ping()).headers["access-control-allow-origin"])
    }))
})
