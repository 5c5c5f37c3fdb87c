/** The metadata of protected resources, of one resource and of tenants. */
import type { ResourceServer } from "@effect-mcp/auth"
import { AuthenticationChallenge } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Issuer from "../support/issuer.ts"
import { type Answer, type ProtectedServer, resource, send, serve } from "../support/resourceServer.ts"

const wellKnown = "/.well-known/oauth-protected-resource"

const get = (server: ProtectedServer, path: string, method = "GET"): Effect.Effect<Answer> =>
  send(server, ["Origin", "https://page.example"], { method, path })

const json = ({ text }: Answer): Readonly<Record<string, unknown>> => JSON.parse(text)

describe("the metadata of a resource server", () => {
  it.live("[AUT-01] [AUT-02] [AUT-49] is at the well-known URLs of the path and of the root, for everyone", () =>
    Effect.gen(function*() {
      const server = yield* serve({
        resource,
        issuers: ["https://login.example", "https://other.example/tenant"],
        scopes: ["notes:read", "offline_access"],
        requiredScopes: ["notes"],
        name: "Notes",
        metadataMaxAge: "2 minutes"
      })
      for (const path of [`${wellKnown}/mcp`, wellKnown]) {
        const answer = yield* get(server, path)
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers["content-type"], "application/json")
        assert.strictEqual(answer.headers["access-control-allow-origin"], "*")
        assert.strictEqual(answer.headers["cache-control"], "public, max-age=120")
        assert.isUndefined(answer.headers["access-control-allow-credentials"])
        assert.deepStrictEqual(json(answer), {
          resource,
          authorization_servers: ["https://login.example", "https://other.example/tenant"],
          scopes_supported: ["notes", "notes:read"],
          bearer_methods_supported: ["header"],
          resource_name: "Notes",
          dpop_signing_alg_values_supported: ["ES256", "ES384", "EdDSA", "Ed25519", "PS256", "RS256"]
        })
        const head = yield* get(server, path, "HEAD")
        assert.deepStrictEqual([head.status, head.text], [200, ""])
        const preflight = yield* get(server, path, "OPTIONS")
        assert.strictEqual(preflight.status, 204)
        assert.strictEqual(preflight.headers["access-control-allow-headers"], "*")
        const post = yield* get(server, path, "POST")
        assert.deepStrictEqual([post.status, post.headers.allow], [405, "GET, HEAD, OPTIONS"])
      }
      assert.strictEqual((yield* get(server, `${wellKnown}/other`)).status, 404)
    }))

  it.live("[AUT-42] belongs to the tenant of a place, whose issuers alone can issue its tokens", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* Issuer.start, yield* Issuer.start]
      const tenants: Readonly<Record<string, ResourceServer.Tenant | string>> = {
        "/mcp": { resource: "https://one.example/mcp", issuers: [one.url] },
        "/socket": "https://two.example/socket"
      }
      const server = yield* serve({
        resource: ({ path }) => Object.hasOwn(tenants, path) ? tenants[path] : undefined,
        issuers: [one.url, two.url]
      })
      assert.deepInclude(json(yield* get(server, `${wellKnown}/mcp`)), {
        resource: "https://one.example/mcp",
        authorization_servers: [one.url]
      })
      assert.deepInclude(json(yield* get(server, `${wellKnown}/socket`)), {
        resource: "https://two.example/socket",
        authorization_servers: [one.url, two.url]
      })
      for (const path of [wellKnown, `${wellKnown}/other`]) assert.strictEqual((yield* get(server, path)).status, 404)

      const challenge = AuthenticationChallenge.parse((yield* send(server)).challenge)
      assert.strictEqual(
        challenge[0]?.parameters["resource_metadata"],
        "https://one.example/.well-known/oauth-protected-resource/mcp"
      )
      const statusOf = (token: string) =>
        Effect.map(send(server, ["Authorization", `Bearer ${token}`]), ({ status }) => status)
      assert.strictEqual(yield* statusOf(yield* one.sign({ aud: "https://one.example/mcp" })), 200)
      // The other issuer is trusted for the other tenant only.
      assert.strictEqual(yield* statusOf(yield* two.sign({ aud: "https://one.example/mcp" })), 401)
      assert.strictEqual(yield* statusOf(yield* one.sign({ aud: "https://two.example/socket" })), 401)
    }))

  it.live("rejects requests of a place without a resource with 403, and without a challenge", () =>
    Effect.gen(function*() {
      const server = yield* serve({ resource: () => undefined, issuers: ["https://login.example"] })
      const answer = yield* send(server)
      assert.deepStrictEqual([answer.status, answer.challenge], [403, ""])
    }))

  it.live("[AUT-48] a scope counts for all that it includes, also by another one, and for no other", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const included: Readonly<Record<string, ReadonlyArray<string>>> = {
        "notes:admin": ["notes:write"],
        "notes:write": ["notes:read"]
      }
      const server = yield* serve({
        resource,
        issuers: [issuer.url],
        requiredScopes: ["notes:read"],
        includes: (scope) => included[scope] ?? []
      })
      const statuses = { "notes:admin": 200, "notes:write": 200, "notes:read": 200, "notes:list": 403 }
      for (const [scope, status] of Object.entries(statuses)) {
        const token = yield* issuer.sign({ aud: resource, scope })
        assert.strictEqual((yield* send(server, ["Authorization", `Bearer ${token}`])).status, status, scope)
      }
    }))

  it.live("of a tenant by its host take linear time, whatever the client writes there", () =>
    Effect.gen(function*() {
      const server = yield* serve({
        resource: ({ host }) => `https://${host}/mcp`,
        issuers: ["https://login.example"]
      })
      const began = performance.now()
      const answer = yield* send(server, [], { host: `${"a".repeat(100_000)}#`, method: "GET", path: wellKnown })
      assert.strictEqual(answer.status, 500)
      // Quadratic time is a minute.
      assert.isBelow(performance.now() - began, 5_000)
    }))

  it.live("[AUT-46] a token without a required scope is rejected with 403 and all of them", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const server = yield* serve({ resource, issuers: [issuer.url], requiredScopes: ["notes", "notes:read"] })
      const token = yield* issuer.sign({ aud: resource, scope: "notes:read" })
      const answer = yield* send(server, ["Authorization", `Bearer ${token}`])
      assert.strictEqual(answer.status, 403)
      const [challenge] = AuthenticationChallenge.parse(answer.challenge)
      assert.deepStrictEqual({ ...challenge?.parameters }, {
        error: "insufficient_scope",
        scope: "notes notes:read",
        resource_metadata: `https://notes.example${wellKnown}/mcp`
      })
      // Microsoft writes `scp`, others an array.
      for (const claims of [{ scp: "notes notes:read" }, { scope: ["notes", "notes:read"] }]) {
        const other = yield* issuer.sign({ aud: resource, ...claims })
        assert.strictEqual((yield* send(server, ["Authorization", `Bearer ${other}`])).status, 200)
      }
    }))
})
