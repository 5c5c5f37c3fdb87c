import { RequestContext } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as net from "node:net"
import { connect, exchange, initialize } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { until } from "../../../support/process.ts"
import { serve, text, tools } from "../../../support/server.ts"

const owners: Readonly<Record<string, string>> = { "adas-secret": "ada", "bobs-secret": "bob" }

const bearer = Effect.map(
  Layer.build(Authentication.layerBearer({
    realm: "notes \"of\" all",
    verify: (token) =>
      Effect.sync(() => {
        const id = owners[Redacted.value(token)]
        return id === undefined ? undefined : { id, claims: { scope: "notes" } }
      })
  })),
  Context.get(Authentication.Authentication)
)

const whoami = tools({
  whoami: Effect.map(RequestContext.RequestContext, ({ principal }) => text(JSON.stringify(principal))),
  report: Effect.as(RequestContext.progress({ progress: 1 }), text("done"))
})

const withToken = (token: string) => ({ authorization: `Bearer ${token}` })

describe.concurrent("authentication", () => {
  it.live("[HTTP-14] rejects a request without a valid token with 401 and a challenge", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { authentication: yield* bearer })
      const client = yield* connect(server, { headers: withToken("adas-secret") })
      const attempt = (authorization: string | undefined, method: string) =>
        client.exchange({
          ...(method === "POST" ? { body: initialize("2025-11-25") } : { method }),
          headers: { authorization }
        })
      for (const method of ["POST", "GET", "DELETE", "PUT"]) {
        for (
          const [authorization, problem] of [
            [undefined, undefined],
            ["Bearer unknown-secret", "invalid_token"],
            ["Basic YWRhOnNlY3JldA==", "invalid_request"],
            ["Bearer", "invalid_request"],
            ["Bearer two tokens", "invalid_request"]
          ] as const
        ) {
          const response = yield* attempt(authorization, method)
          assert.strictEqual(response.status, 401)
          const challenge = response.headers["www-authenticate"] ?? ""
          assert.include(challenge, "Bearer realm=\"notes of all\"")
          if (problem === undefined) assert.notInclude(challenge, "error=")
          else assert.include(challenge, `error="${problem}"`)
          assert.isNumber(response.messages[0]?.error?.code)
        }
      }
      assert.strictEqual((yield* server.host.sessions).length, 1)
      const lowercase = yield* client.exchange({
        body: { jsonrpc: "2.0", id: 1, method: "ping" },
        headers: { authorization: "bearer adas-secret" }
      })
      assert.strictEqual(lowercase.status, 200)
    }))

  it.live("[HTTP-14] rejects a request before its body is read", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { authentication: yield* bearer })
      const socket = yield* Effect.acquireRelease(
        Effect.sync(() => net.connect(server.port, "127.0.0.1")),
        (opened) => Effect.sync(() => opened.destroy())
      )
      let output = ""
      socket.setEncoding("utf8").on("data", (chunk: string) => {
        output += chunk
      })
      socket.write(
        [
          "POST /mcp HTTP/1.1",
          `host: 127.0.0.1:${server.port}`,
          "content-type: application/json",
          "accept: application/json, text/event-stream",
          "content-length: 100",
          "",
          "{"
        ].join("\r\n")
      )
      yield* until(() => output.includes("\r\n\r\n"))
      assert.include(output, "HTTP/1.1 401")
    }))

  it.live("passes the principal to handlers", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { authentication: yield* bearer })
      const client = yield* connect(server, { headers: withToken("adas-secret") })
      const response = yield* client.call(1, "whoami")
      yield* response.awaitEnd
      const ada = { id: "ada", claims: { scope: "notes" } }
      assert.deepStrictEqual(response.messages[0]?.result, { ...text(JSON.stringify(ada)) })
      assert.strictEqual((yield* server.host.sessions)[0]?.principal, "ada")
    }))

  it.live("hides a session from other principals", () =>
    Effect.gen(function*() {
      const store = new MapEventStore()
      const server = yield* serve(whoami, { authentication: yield* bearer, store: store.service })
      const ada = yield* connect(server, { headers: withToken("adas-secret") })
      const reported = yield* ada.call(1, "report")
      yield* reported.awaitEnd
      assert.isDefined(reported.lastId)
      const bob = yield* connect(server, { headers: withToken("bobs-secret") })
      const stolen = { "mcp-session-id": ada.id }
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" }
      const unknown = yield* bob.exchange({ body: ping, headers: { "mcp-session-id": "unknown" } })
      const attempts = [
        yield* bob.exchange({ body: ping, headers: stolen }),
        yield* bob.exchange({
          body: { jsonrpc: "2.0", method: "notifications/cancelled", params: {} },
          headers: stolen
        }),
        yield* bob.exchange({ method: "GET", headers: stolen }),
        yield* bob.exchange({ method: "GET", headers: { ...stolen, "last-event-id": reported.events[0]?.id } }),
        yield* bob.exchange({ method: "DELETE", headers: stolen })
      ]
      for (const response of attempts) {
        assert.strictEqual(response.status, 404)
        // The error is the same as for an unknown session.
        assert.strictEqual(response.messages[0]?.error?.message, unknown.messages[0]?.error?.message)
      }
      const resumed = yield* bob.exchange({ method: "GET", headers: { "last-event-id": reported.events[0]?.id } })
      assert.strictEqual(resumed.status, 400)
      assert.strictEqual((yield* ada.ping()).status, 200)
    }))

  it.live("rejects a request without a principal to a principal's session", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, {
        authentication: {
          identify: ({ headers }) =>
            headers["x-user"] === undefined
              ? Effect.fail(new Authentication.Unauthenticated({ challenge: "Gateway" }))
              : Effect.succeed({ id: headers["x-user"] })
        }
      })
      const ada = yield* connect(server, { headers: { "x-user": "ada" } })
      const rejected = yield* exchange(server, { method: "GET", headers: { "mcp-session-id": ada.id } })
      assert.strictEqual(rejected.status, 401)
      assert.strictEqual(rejected.headers["www-authenticate"], "Gateway")
    }))
})
