import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import * as Layer from "effect/Layer"
import { connect, exchange, initialize, type RequestOptions } from "../../support/httpClient.ts"
import { profile } from "../../support/httpClientConnection.ts"
import { serve, type Settings, text, tools } from "../../support/server.ts"

const handlers = tools({ now: Effect.succeed(text("now")) })

const statusOf = (http: Settings["http"], headers: RequestOptions["headers"], method = "POST") =>
  Effect.scoped(Effect.gen(function*() {
    const server = yield* serve(handlers, { http: http ?? {} })
    const named = Object.fromEntries(
      Object.entries(headers ?? {}).map(([name, value]) => [name, value?.replace("PORT", String(server.port))])
    )
    const response = yield* exchange(server, {
      ...(method === "POST" ? { body: initialize("2025-11-25") } : { method }),
      headers: named
    })
    const sessions = yield* server.host.sessions
    assert.strictEqual(sessions.length, response.status === 200 ? 1 : 0)
    if (response.status === 403) assert.isNumber(response.messages[0]?.error?.code)
    return response.status
  }))

describe.concurrent("the policy on Host and Origin", () => {
  const anyInterface = { hostname: "0.0.0.0" }
  const rows: ReadonlyArray<readonly [string, Settings["http"], RequestOptions["headers"], number]> = [
    ["a request with the address of this machine", {}, { host: "127.0.0.1:PORT" }, 200],
    ["a request with the name of this machine", {}, { host: "LOCALHOST:PORT" }, 200],
    ["a request with the IPv6 address of this machine", {}, { host: "[::1]:PORT" }, 200],
    ["a request with a host without a port", {}, { host: "localhost" }, 200],
    ["a request with a foreign host, as after DNS rebinding", {}, { host: "evil.example:PORT" }, 403],
    ["a request with a host that begins with this machine's name", {}, { host: "localhost.evil.example" }, 403],
    ["a request with a host that begins with this machine's address", {}, { host: "127.0.0.1.evil.example:PORT" }, 403],
    ["a request with any host, if the server listens on all interfaces", anyInterface, { host: "mcp.example" }, 200],
    ["a request with an allowed host", { allowedHosts: ["mcp.example"] }, { host: "MCP.example:8443" }, 200],
    [
      "a request with a host that is allowed with its port",
      { allowedHosts: ["mcp.example:8443"] },
      { host: "mcp.example:8443" },
      200
    ],
    ["a request with a host that is allowed with another port", { allowedHosts: ["mcp.example:8443"] }, {
      host: "mcp.example:80"
    }, 403],
    [
      "a request with the address of this machine, if another host is allowed",
      { allowedHosts: ["mcp.example"] },
      { host: "127.0.0.1:PORT" },
      403
    ],
    [
      "a request with a host that is not allowed, if the server listens on all interfaces",
      { ...anyInterface, allowedHosts: ["a.example"] },
      { host: "b.example" },
      403
    ],
    ["a page of this machine", {}, { origin: "http://localhost:5173" }, 200],
    ["a page of this machine with its IPv6 address", {}, { origin: "http://[::1]:5173" }, 200],
    ["a page of another origin", {}, { origin: "https://evil.example" }, 403],
    ["a page whose host begins with this machine's name", {}, { origin: "http://localhost.evil.example" }, 403],
    ["a page with the origin null", {}, { origin: "null" }, 403],
    ["a page whose origin has a user name", {}, { origin: "http://localhost@evil.example" }, 403],
    ["a page of this machine, with the host of another", anyInterface, {
      origin: "http://localhost",
      host: "mcp.example"
    }, 403],
    [
      "a page of an allowed origin",
      { allowedOrigins: ["https://app.example"] },
      { origin: "https://APP.example" },
      200
    ],
    ["a page of an allowed host with another scheme", { allowedOrigins: ["https://app.example"] }, {
      origin: "http://app.example"
    }, 403],
    [
      "a page of another origin, if all are allowed",
      { allowedOrigins: ["*"] },
      { origin: "https://evil.example" },
      200
    ],
    ["a page of an allowed origin, with a foreign host", { allowedOrigins: ["*"] }, {
      origin: "https://a.example",
      host: "evil.example"
    }, 403]
  ]
  for (const [name, http, headers, status] of rows) {
    it.live(`[HTTP-11] [HTTP-12] ${name} is answered with ${status}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* statusOf(http, headers), status)
      }))
  }

  it.live("[HTTP-11] requests of all methods are checked", () =>
    Effect.gen(function*() {
      for (const method of ["GET", "DELETE", "OPTIONS", "PUT"]) {
        assert.strictEqual(yield* statusOf({}, { origin: "https://evil.example" }, method), 403)
        assert.strictEqual(yield* statusOf({}, { host: "evil.example" }, method), 403)
      }
    }))

  it.live("[HTTP-13] a server on its own port listens on this machine only", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const response = yield* exchange(server, { body: initialize("2025-11-25"), headers: { host: "evil.example" } })
      assert.strictEqual(response.status, 403)
      assert.include(response.messages[0]?.error?.message ?? "", "evil.example")
    }))

  it.live("a page of an allowed origin receives the CORS headers, and the answer to its preflight request", () =>
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
      const namesIn = (value: string | undefined) => (value ?? "").toLowerCase().split(/,\s*/)
      assert.includeMembers(namesIn(preflight.headers["access-control-allow-methods"]), ["get", "post", "delete"])
      assert.includeMembers(namesIn(preflight.headers["access-control-allow-headers"]), [
        "content-type",
        "accept",
        "authorization",
        "dpop",
        "mcp-session-id",
        "mcp-protocol-version",
        "last-event-id"
      ])
      const client = yield* connect(server, { headers })
      const always = new Set(namesIn(preflight.headers["access-control-allow-headers"]))
      const withParameters = (names: ReadonlyArray<string>) =>
        Effect.map(
          exchange(server, {
            method: "OPTIONS",
            headers: {
              ...headers,
              "access-control-request-method": "POST",
              "access-control-request-headers": names.join(",")
            }
          }),
          (answer) => namesIn(answer.headers["access-control-allow-headers"]).filter((name) => !always.has(name))
        )
      // Tools name the headers of their arguments.
      const asked = ["content-type", "Mcp-Param-Region", "mcp-param-limit", "x-other", "mcp-param-", "mcp-param-a b"]
      assert.deepStrictEqual(yield* withParameters(asked), ["mcp-param-region", "mcp-param-limit"])
      const many = Array.from({ length: 100 }, (_, index) => `mcp-param-${index}`)
      assert.strictEqual((yield* withParameters(many)).length, 64)
      assert.deepStrictEqual(yield* withParameters([`mcp-param-${"a".repeat(200)}`]), [])
      for (const response of [yield* client.ping(), yield* client.get(), yield* client.exchange({ raw: "{" })]) {
        assert.strictEqual(response.headers["access-control-allow-origin"], "https://app.example")
        assert.include(namesIn(response.headers["vary"]), "origin")
        assert.includeMembers(namesIn(response.headers["access-control-expose-headers"]), [
          "mcp-session-id",
          "mcp-protocol-version",
          "www-authenticate"
        ])
      }
      // A client that is not a page receives no CORS headers.
      assert.isUndefined((yield* (yield* connect(server)).ping()).headers["access-control-allow-origin"])
    }))

  it.live("a page may send each header that our client sends, and sends no trace if the program says so", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { http: { allowedOrigins: ["https://app.example"] } })
      const preflight = yield* exchange(server, {
        method: "OPTIONS",
        headers: {
          origin: "https://app.example",
          "access-control-request-method": "POST",
          "access-control-request-headers": "b3,traceparent"
        }
      })
      const allowed = (preflight.headers["access-control-allow-headers"] ?? "").split(", ")
      const url = `http://127.0.0.1:${server.port}/mcp`
      const sentBy = Effect.fnUntraced(function*(revision: Revision.Revision, propagates: boolean) {
        const sent = new Set<string>()
        // Records the headers that the client gives to `fetch`, before a browser adds its own.
        const recording = Layer.succeed(FetchHttpClient.Fetch, (input, init) => {
          for (const [name] of new Headers(init?.headers)) sent.add(name)
          return fetch(input, init)
        })
        const client = ClientSession.layer({ info: profile.info, revisions: [revision] }).pipe(
          Layer.provide(StreamableHttpClient.layerFetch({ url })),
          Layer.provide([recording, Layer.succeed(HttpClient.TracerPropagationEnabled, propagates)])
        )
        yield* Effect.scoped(
          Effect.flatMap(
            Layer.build(client),
            (context) =>
              Effect.andThen(Context.get(context, ClientSession.ClientSession).callTool("now"), Effect.sleep(50))
          )
        )
        return [...sent]
      })
      for (const revision of [Revision.latest, Revision.latestLegacy]) {
        const sent = yield* sentBy(revision, true)
        assert.includeMembers(sent, ["b3", "content-type", "mcp-protocol-version", "traceparent"])
        // A browser ignores this one, and sends its own.
        assert.deepStrictEqual(sent.filter((name) => !allowed.includes(name)), ["accept-encoding"])
        assert.notIncludeMembers(yield* sentBy(revision, false), ["b3", "traceparent"])
      }
    }))
})
