/** The scopes of requests: 403 and 401 before the response begins, over every transport and in both eras. */
import type { StreamableHttpServer } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { connect, exchange, type ReceivedResponse } from "../../support/httpClient.ts"
import { connectSse, serveSse } from "../../support/httpSse.ts"
import * as Modern from "../../support/modernRequest.ts"
import { authentication, call, recording, scopesOf, withToken } from "../../support/scopedServer.ts"
import { serve } from "../../support/server.ts"
import { serveStateless } from "../../support/statelessServer.ts"

const modes: ReadonlyArray<NonNullable<StreamableHttpServer.Options["responseMode"]>> = ["adaptive", "json", "stream"]

const forbidden = (response: ReceivedResponse, scopes: string, id: number | "none" = 1) => {
  assert.strictEqual(response.status, 403)
  assert.strictEqual(
    response.headers["www-authenticate"],
    `Bearer error="insufficient_scope", scope="${scopes}", realm="notes"`
  )
  assert.strictEqual(response.headers["content-type"], "application/json")
  const [failure] = response.messages
  assert.strictEqual(response.messages.length, 1)
  assert.strictEqual(failure?.id, id === "none" ? undefined : id)
  assert.strictEqual(failure?.error?.code, -31_012)
  assert.deepStrictEqual(failure?.error?.data, { scopes: scopes.split(" ") })
}

const unauthenticated = (response: ReceivedResponse, scopes: string) => {
  assert.strictEqual(response.status, 401)
  assert.strictEqual(response.headers["www-authenticate"], `Bearer scope="${scopes}", realm="notes"`)
}

describe.concurrent("a request that lacks a scope", () => {
  for (const responseMode of modes) {
    it.live(`[AUT-46][AUT-47] of a session gets 403 with all scopes before any stream, mode ${responseMode}`, () =>
      Effect.gen(function*() {
        const calls: Array<string> = []
        const server = yield* serve(recording(calls), {
          authentication: yield* authentication,
          http: { responseMode },
          session: { scopesOf }
        })
        const client = yield* connect(server, { headers: withToken("reader") })
        forbidden(yield* client.exchange({ body: call("write") }), "notes:read notes:write")
        assert.deepStrictEqual(calls, [])
        // The next token of the same principal has the scope.
        const written = yield* client.exchange({ body: call("write"), headers: withToken("writer") })
        assert.strictEqual(written.status, 200)
        assert.deepStrictEqual(calls, ["write"])
        // A request that needs no scope, and a tool that does not exist.
        assert.strictEqual((yield* client.exchange({ body: call("open") })).status, 200)
        assert.strictEqual((yield* client.exchange({ body: call("unknown") })).status, 200)
        assert.deepInclude(server.events, { _tag: "Rejected", method: "tools/call", id: 1, code: -31_012 })
      }))

    it.live(`[AUT-46][AUT-47] of 2026-07-28 gets the same, mode ${responseMode}`, () =>
      Effect.gen(function*() {
        const calls: Array<string> = []
        const server = yield* serve(recording(calls), {
          authentication: yield* authentication,
          http: { responseMode },
          session: { scopesOf }
        })
        const post = (name: string, token: string | undefined) => {
          const { body, headers } = Modern.post("tools/call", { name, arguments: {} })
          return exchange(server, { body, headers: { ...headers, ...withToken(token) } })
        }
        forbidden(yield* post("write", "reader"), "notes:read notes:write")
        unauthenticated(yield* post("write", undefined), "notes:read notes:write")
        assert.deepStrictEqual(calls, [])
        assert.strictEqual((yield* post("write", "writer")).status, 200)
        assert.strictEqual((yield* post("open", undefined)).status, 200)
        assert.deepStrictEqual(calls, ["write", "open"])
      }))

    it.live(`[AUT-46][AUT-47] of a server without sessions gets the same, mode ${responseMode}`, () =>
      Effect.gen(function*() {
        const calls: Array<string> = []
        const server = yield* serveStateless(recording(calls), {
          authentication: yield* authentication,
          http: { responseMode },
          server: { scopesOf }
        })
        const post = (name: string, token: string | undefined) =>
          exchange(server, {
            body: call(name),
            headers: { "mcp-protocol-version": "2025-11-25", ...withToken(token) }
          })
        forbidden(yield* post("write", "reader"), "notes:read notes:write")
        unauthenticated(yield* post("write", undefined), "notes:read notes:write")
        assert.deepStrictEqual(calls, [])
        assert.strictEqual((yield* post("write", "writer")).status, 200)
        assert.deepStrictEqual(calls, ["write"])
      }))
  }

  it.live("[AUT-46] of a handler gets 403 if the response has not begun, and an error in the stream after that", () =>
    Effect.gen(function*() {
      for (const responseMode of modes) {
        const server = yield* serve(recording([]), {
          authentication: yield* authentication,
          http: { responseMode },
          session: { scopesOf }
        })
        const client = yield* connect(server, { headers: withToken("writer") })
        const late = responseMode === "stream"
        for (const after of ["nothing", "time", "progress"]) {
          const response = yield* client.exchange({ body: call("purge", 1, { after }) })
          const hasBegun = (after === "progress" && responseMode !== "json") || (late && after === "time")
          if (!hasBegun) {
            forbidden(response, "notes:read notes:admin")
            continue
          }
          assert.strictEqual(response.status, 200)
          assert.isUndefined(response.headers["www-authenticate"])
          const error = response.messages.at(-1)?.error
          assert.strictEqual(error?.code, -31_012)
          assert.deepStrictEqual(error?.data, { scopes: ["notes:read", "notes:admin"] })
        }
        // Scopes that no challenge can have make none.
        const forged = yield* client.exchange({ body: call("forged") })
        assert.strictEqual(forged.status, 200)
        assert.isUndefined(forged.headers["www-authenticate"])
      }
    }))

  it.live("[AUT-47] in a batch rejects the batch, with the scopes of all of its requests", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const settings = { authentication: yield* authentication }
      const server = yield* serve(recording(calls), { ...settings, session: { scopesOf } })
      const client = yield* connect(server, { revision: "2025-03-26", headers: withToken("reader") })
      const batch = [call("read", 1), call("open", 2), call("write", 3)]
      forbidden(yield* client.exchange({ body: batch }), "notes:read notes:write", "none")
      const stateless = yield* serveStateless(recording(calls), { ...settings, server: { scopesOf } })
      const headers = { "mcp-protocol-version": "2025-03-26" }
      forbidden(
        yield* exchange(stateless, { body: batch, headers: { ...headers, ...withToken("reader") } }),
        "notes:read notes:write",
        "none"
      )
      unauthenticated(yield* exchange(stateless, { body: batch, headers }), "notes:read notes:write")
      assert.deepStrictEqual(calls, [])
      assert.strictEqual((yield* client.exchange({ body: batch, headers: withToken("writer") })).status, 200)
      assert.sameMembers(calls, ["read", "open", "write"])
    }))

  it.live("[AUT-46] over HTTP+SSE gets 403 in response to its POST, and nothing on the stream", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const server = yield* serveSse(recording(calls), {
        authentication: yield* authentication,
        session: { scopesOf }
      })
      const client = yield* connectSse(server, { headers: withToken("reader") })
      forbidden(yield* client.post(call("write")), "notes:read notes:write")
      assert.strictEqual((yield* client.post(call("write", 2), { headers: withToken("writer") })).status, 202)
      assert.isDefined((yield* client.awaitResponse(2))?.result)
      assert.isFalse(client.messages.some(({ id }) => id === 1))
      // The response of a POST has begun before its handler runs.
      assert.strictEqual((yield* client.post(call("purge", 3))).status, 202)
      const demanded = yield* client.awaitResponse(3)
      assert.deepStrictEqual(demanded?.error?.data, { scopes: ["notes:read", "notes:admin"] })
      const anonymous = yield* connectSse(server)
      unauthenticated(yield* anonymous.post(call("read")), "notes:read")
      assert.deepStrictEqual(calls, ["write"])
    }))

  it.live("[AUT-44] has no scopes if its principal has none, whatever its claims say", () =>
    Effect.gen(function*() {
      const server = yield* serve(recording([]), { authentication: yield* authentication, session: { scopesOf } })
      const client = yield* connect(server, { headers: withToken("plain") })
      forbidden(yield* client.exchange({ body: call("read") }), "notes:read")
    }))

  it.live("is rejected with 500 if its scopes are not known", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const server = yield* serve(recording(calls), { authentication: yield* authentication, session: { scopesOf } })
      const client = yield* connect(server, { headers: withToken("writer") })
      assert.strictEqual((yield* client.exchange({ body: call("broken") })).status, 500)
      assert.deepStrictEqual(calls, [])
      assert.isTrue(server.logs.some((log) => log.includes("scopesOf threw")))
    }))

  it.live("[AUT-55] of another principal's session is answered with 404, as without scopes", () =>
    Effect.gen(function*() {
      const server = yield* serve(recording([]), { authentication: yield* authentication, session: { scopesOf } })
      const client = yield* connect(server, { headers: withToken("reader") })
      const response = yield* client.exchange({ body: call("write"), headers: withToken("plain") })
      assert.strictEqual(response.status, 404)
      assert.isUndefined(response.headers["www-authenticate"])
    }))
})
