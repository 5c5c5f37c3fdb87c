/** The principals of handlers: their ids, claims, scopes and expiry, and what a handler cannot reach. */
import { Principal } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { inspect } from "node:util"
import { connect } from "../support/constantTokenClient.ts"
import * as Issuer from "../support/issuer.ts"
import { resource, send, sendToken, serve } from "../support/resourceServer.ts"

describe("the principal of a token", () => {
  it.live("has issuer and subject as id, stable claims, expanded scopes, and the expiry", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const server = yield* serve({
        resource,
        issuers: [issuer.url],
        includes: (scope) => scope === "notes:write" ? ["notes:read", "notes:write"] : [`${scope}:list`]
      })
      const exp = Math.floor(Date.now() / 1000) + 600
      const more = { scope: "notes:write", name: "Ada", groups: ["math"], note: "x" }
      for (const sid of ["1", "2"]) {
        const token = yield* issuer.sign({ aud: resource, exp, sid, auth_time: Number(sid), nbf: exp - 700, ...more })
        for (const url of [server.url, server.url.replace("http:", "ws:").replace("/mcp", "/socket")]) {
          const client = yield* connect(url, token)
          assert.deepInclude((yield* client.callTool("any")).content[0], { text: Principal.idOf(issuer.url, "ada") })
        }
      }
      assert.strictEqual(server.principals.length, 4)
      for (const principal of server.principals) {
        if (principal === undefined) return assert.fail("no principal")
        assert.deepStrictEqual(principal.claims, {
          client_id: "app",
          groups: ["math"],
          iss: issuer.url,
          name: "Ada",
          resource,
          sub: "ada"
        })
        assert.deepStrictEqual(JSON.stringify(principal.claims), JSON.stringify(server.principals[0]?.claims))
        assert.strictEqual(principal.expiresAt, exp * 1000 + 30_000)
        // A hierarchy without an end stays bounded.
        assert.deepStrictEqual(principal.scopes?.slice(0, 3), ["notes:write", "notes:read", "notes:read:list"])
        assert.isAtMost(principal.scopes?.length ?? 0, 1_000)
        assert.throws(() => Object.assign(principal.claims ?? {}, { sub: "bob" }))
      }
    }), 15_000)

  it.live("has the claims that the program chooses, without those that change", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const server = yield* serve({ resource, issuers: [issuer.url], claims: ({ claims }) => ({ ...claims, team: 1 }) })
      const client = yield* connect(server.url, yield* issuer.sign({ aud: resource, plan: "gold" }))
      yield* client.callTool("any")
      assert.deepInclude(server.principals[0]?.claims, { plan: "gold", team: 1, resource })
      for (const name of ["jti", "iat", "exp", "nbf"]) assert.notProperty(server.principals[0]?.claims, name)
    }))

  it.live("[AUT-55] uses no session of another principal", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const server = yield* serve({ resource, issuers: [issuer.url] })
      const opened = yield* sendToken(server, yield* issuer.sign({ aud: resource }))
      const session = String(opened.headers["mcp-session-id"])
      const withSession = (token: string) =>
        send(server, ["Authorization", `Bearer ${token}`, "Mcp-Session-Id", session], { method: "DELETE" })
      assert.strictEqual((yield* withSession(yield* issuer.sign({ aud: resource, sub: "bob" }))).status, 404)
      assert.strictEqual((yield* withSession(yield* issuer.sign({ aud: resource }))).status, 204)
    }))

  it.live("[AUT-42] [AUT-55] of a tenant uses no session of the same account at another tenant", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const [one, two] = ["https://one.example/mcp", "https://two.example/mcp"]
      const server = yield* serve({
        resource: ({ host }) => host?.startsWith("localhost:") === true ? two : one,
        issuers: [issuer.url]
      })
      const opened = yield* sendToken(server, yield* issuer.sign({ aud: one }))
      const session = String(opened.headers["mcp-session-id"])
      const end = Effect.fnUntraced(function*(aud: string, host: string) {
        const headers = ["Authorization", `Bearer ${yield* issuer.sign({ aud })}`, "Mcp-Session-Id", session]
        return (yield* send(server, headers, { host, method: "DELETE" })).status
      })
      assert.strictEqual(yield* end(two, "127.0.0.1"), 401)
      assert.strictEqual(yield* end(two, "localhost"), 404)
      assert.strictEqual(yield* end(one, "127.0.0.1"), 204)
    }))

  it.live("[AUT-43] gives a handler no way to the token of its client", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const server = yield* serve({ resource, issuers: [issuer.url] })
      const token = yield* issuer.sign({ aud: resource })
      const overSocket = server.url.replace("http:", "ws:").replace("/mcp", "/socket")
      const others = ["/stateless", "/sse"].map((path) => server.url.replace("/mcp", path))
      for (const url of [server.url, overSocket, ...others]) yield* (yield* connect(url, token)).callTool("any")
      assert.strictEqual(server.principals.length, 4)
      // No service of HTTP is in the context of a handler.
      assert.deepStrictEqual(server.found, [])
      assert.notInclude(inspect(server.principals, { depth: null, showHidden: true }), token)
    }), 15_000)

  it.live("[AUT-33] is in no span of the server, wherever a client puts it", () =>
    Effect.gen(function*() {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const issuer = yield* Issuer.start
      const server = yield* serve({ resource, issuers: [issuer.url] }, { tracer })
      const token = yield* issuer.sign({ aud: resource })
      assert.strictEqual((yield* send(server, [], { path: `/mcp?access_token=${token}` })).status, 400)
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      assert.strictEqual((yield* sendToken(server, `${token}x`)).status, 401)
      const shown = inspect(
        spans.map(({ attributes, name, status }) => ({ attributes, name, status })),
        {
          depth: 6
        }
      )
      assert.include(shown, "/mcp")
      assert.notInclude(shown, token)
    }))
})
