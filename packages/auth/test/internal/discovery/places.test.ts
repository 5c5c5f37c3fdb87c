import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { challengeOf, issuerMetadata, oauthAt, openIdAt, reasonOf, resourceAt, start } from "../../support/discovery.ts"

describe("the metadata of a protected resource", () => {
  it.live("[AUT-04] [AUT-06] the URL of the challenge is requested first, and no other", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, resource, server } = yield* start()
      resource.routes.set("/custom", { json: { resource: server.href, authorization_servers: [issuer.origin] } })
      name(["http://other.example"])
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      const challenge = challengeOf({ resource_metadata: `${resource.origin}/custom` })
      const target = yield* discovery.discover({ server, challenge })
      assert.deepStrictEqual(resource.paths(), ["/custom"])
      assert.strictEqual(target.resource, server.href)
      assert.strictEqual(target.issuer, issuer.origin)
      assert.isTrue(target.sendsResource)
    }))

  it.live("[AUT-06] a challenge with metadata that is absent fails, and no other place is requested", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, resource, server } = yield* start()
      name([issuer.origin])
      const challenge = challengeOf({ resource_metadata: `${resource.origin}/absent` })
      const reason = yield* reasonOf(discovery.discover({ server, challenge }))
      assert.deepInclude(reason, { _tag: "DiscoveryFailed", url: `${resource.origin}/absent` })
      assert.deepStrictEqual(resource.paths(), ["/absent"])
    }))

  it.live("[AUT-06] without a URL in the challenge, the place of the path is requested, and not the root", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, resource, server } = yield* start()
      name([issuer.origin], { scopes_supported: ["a", "b"] })
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      const target = yield* discovery.discover({ server, challenge: challengeOf({ scope: "a" }) })
      assert.deepStrictEqual(resource.paths(), [`${resourceAt}/mcp`])
      assert.deepStrictEqual(target.scopes, ["a", "b"])
    }))

  it.live("[AUT-06] [AUT-07] the root is requested last, and its resource without a path is kept byte for byte", () =>
    Effect.gen(function*() {
      const { discovery, issuer, resource, server } = yield* start()
      resource.routes.set(resourceAt, { json: { resource: resource.origin, authorization_servers: [issuer.origin] } })
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      const target = yield* discovery.discover({ server })
      assert.deepStrictEqual(resource.paths(), [`${resourceAt}/mcp`, resourceAt])
      assert.strictEqual(target.resource, resource.origin)
    }))

  it.live("a server that is mounted at a path with a slash has its metadata at the path without", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, resource } = yield* start()
      name([issuer.origin])
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      const target = yield* discovery.discover({ server: new URL(`${resource.origin}/mcp/`) })
      assert.deepStrictEqual(resource.paths(), [`${resourceAt}/mcp/`, `${resourceAt}/mcp`])
      assert.strictEqual(target.resource, `${resource.origin}/mcp`)
    }))

  it.live("of several authorization servers, the one that is preferred is used, and else the first", () =>
    Effect.gen(function*() {
      const preferred: Array<string> = []
      const { discovery, issuer, name, server } = yield* start({ prefers: (issuer) => preferred.includes(issuer) })
      const other = `${issuer.origin}/other`
      name([issuer.origin, other])
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      issuer.routes.set(`${oauthAt}/other`, issuerMetadata(other))
      assert.strictEqual((yield* discovery.discover({ server })).issuer, issuer.origin)
      preferred.push(other)
      assert.strictEqual((yield* discovery.discover({ server, isFresh: true })).issuer, other)
    }))
})

describe("the metadata of an authorization server", () => {
  it.live("[AUT-08] an issuer with a path has three places, in the order of the specification", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, server } = yield* start()
      const tenant = `${issuer.origin}/tenant1`
      const places = [`${oauthAt}/tenant1`, `${openIdAt}/tenant1`, `/tenant1${openIdAt}`]
      name([tenant])
      for (const [index, place] of places.entries()) {
        issuer.routes.clear()
        issuer.routes.set(place, issuerMetadata(tenant))
        issuer.requests.length = 0
        const target = yield* discovery.discover({ server, isFresh: true })
        assert.strictEqual(target.issuer, tenant)
        assert.deepStrictEqual(issuer.paths(), places.slice(0, index + 1))
      }
    }))

  it.live("[AUT-08] an issuer without a path has two places", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, server } = yield* start()
      name([issuer.origin])
      const reason = yield* reasonOf(discovery.discover({ server }))
      assert.strictEqual(reason._tag, "DiscoveryFailed")
      assert.deepStrictEqual(issuer.paths(), [oauthAt, openIdAt])
      issuer.routes.set(openIdAt, issuerMetadata(issuer.origin))
      assert.strictEqual((yield* discovery.discover({ server })).issuer, issuer.origin)
    }))

  it.live("[AUT-09] an issuer with a slash is the same issuer only if its metadata has the slash, too", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, server } = yield* start()
      name([`${issuer.origin}/`])
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      const reason = yield* reasonOf(discovery.discover({ server }))
      assert.deepInclude(reason, { _tag: "DiscoveryFailed", url: `${issuer.origin}${oauthAt}` })
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin, { issuer: `${issuer.origin}/` }))
      assert.strictEqual((yield* discovery.discover({ server })).issuer, `${issuer.origin}/`)
    }))

  it.live("a document of another issuer at the first place does not hide the right one at the next", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, server } = yield* start()
      name([issuer.origin])
      issuer.routes.set(oauthAt, issuerMetadata("https://other.example"))
      issuer.routes.set(openIdAt, issuerMetadata(issuer.origin))
      assert.strictEqual((yield* discovery.discover({ server })).issuer, issuer.origin)
    }))
})

describe("servers of 2025-03-26", () => {
  it.live("[AUT-10] the metadata of the origin is used, and the request has the revision", () =>
    Effect.gen(function*() {
      const { discovery, resource, server } = yield* start()
      resource.routes.set(oauthAt, issuerMetadata(resource.origin, { code_challenge_methods_supported: null }))
      const target = yield* discovery.discover({ server })
      assert.strictEqual(target.issuer, resource.origin)
      assert.strictEqual(target.metadata.authorization_endpoint, `${resource.origin}/auth`)
      assert.strictEqual(target.resource, server.href)
      assert.isFalse(target.sendsResource)
      const [last] = resource.requests.slice(-1)
      assert.strictEqual(last?.path, oauthAt)
      assert.strictEqual(last?.headers["mcp-protocol-version"], Revision.latest)
    }))

  it.live("[AUT-10] without any metadata, the default endpoints of the origin are used", () =>
    Effect.gen(function*() {
      const { discovery, resource, server } = yield* start()
      const { metadata } = yield* discovery.discover({ server })
      assert.strictEqual(metadata.authorization_endpoint, `${resource.origin}/authorize`)
      assert.strictEqual(metadata.token_endpoint, `${resource.origin}/token`)
      assert.strictEqual(metadata.registration_endpoint, `${resource.origin}/register`)
    }))

  it.live("[AUT-09] metadata of another issuer at the origin is used only if the program names the issuer", () =>
    Effect.gen(function*() {
      const foreign = "https://issuer.example"
      const { discovery, resource, server } = yield* start()
      resource.routes.set(oauthAt, issuerMetadata(foreign))
      const error = yield* Effect.flip(discovery.discover({ server }))
      assert.include(error.message, foreign)
      assert.include(error.message, resource.origin)
      const trusting = yield* start({ legacyIssuer: foreign })
      trusting.resource.routes.set(oauthAt, issuerMetadata(foreign))
      assert.strictEqual((yield* trusting.discovery.discover({ server: trusting.server })).issuer, foreign)
    }))

  it.live("a server that answers each path with a page has no default endpoints", () =>
    Effect.gen(function*() {
      const { discovery, resource, server } = yield* start()
      for (const path of [`${resourceAt}/mcp`, resourceAt, oauthAt, openIdAt]) {
        resource.routes.set(path, (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"))
      }
      const reason = yield* reasonOf(discovery.discover({ server }))
      assert.deepInclude(reason, { _tag: "DiscoveryFailed", url: `${resource.origin}${resourceAt}/mcp` })
    }))
})

describe("the memory of discovery", () => {
  it.live("five calls at once request the metadata once, and later calls request nothing", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, resource, server } = yield* start()
      name([issuer.origin])
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      yield* Effect.all(Array.from({ length: 5 }, () => discovery.discover({ server })), { concurrency: "unbounded" })
      yield* discovery.discover({ server })
      assert.lengthOf(resource.requests, 1)
      assert.lengthOf(issuer.requests, 1)
    }))

  it.live("an interrupted call does not interrupt the others that wait for the same metadata", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, server } = yield* start()
      name([issuer.origin])
      issuer.routes.set(oauthAt, (response) => {
        const body = JSON.stringify(issuerMetadata(issuer.origin).json)
        setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end(body), 100)
      })
      const [first, second] = yield* Effect.all([
        Effect.timeoutOption(discovery.discover({ server }), "20 millis"),
        discovery.discover({ server })
      ], { concurrency: "unbounded" })
      assert.strictEqual(first._tag, "None")
      assert.strictEqual(second.issuer, issuer.origin)
      assert.lengthOf(issuer.requests, 1)
    }))

  it.live("[AUT-19] a fresh search finds the authorization server to which the server has moved", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, server } = yield* start()
      const moved = `${issuer.origin}/moved`
      name([issuer.origin])
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      issuer.routes.set(`${oauthAt}/moved`, issuerMetadata(moved))
      yield* discovery.discover({ server })
      name([moved])
      assert.strictEqual((yield* discovery.discover({ server })).issuer, issuer.origin)
      assert.strictEqual((yield* discovery.discover({ server, isFresh: true })).issuer, moved)
    }))

  it.live("[AUT-19] a fresh search also replaces what was found for other challenges", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, resource, server } = yield* start()
      const moved = `${issuer.origin}/moved`
      name([issuer.origin])
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      issuer.routes.set(`${oauthAt}/moved`, issuerMetadata(moved))
      const challenge = challengeOf({ resource_metadata: `${resource.origin}${resourceAt}/mcp` })
      assert.strictEqual((yield* discovery.discover({ server, challenge })).issuer, issuer.origin)
      name([moved])
      yield* discovery.discover({ server, isFresh: true })
      assert.strictEqual((yield* discovery.discover({ server, challenge })).issuer, moved)
    }))

  it.live("a server that does not answer now is a passing failure, which is not remembered", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, resource, server } = yield* start()
      resource.routes.set(`${resourceAt}/mcp`, (response) => response.writeHead(503, { "retry-after": "7" }).end())
      const reason = yield* reasonOf(discovery.discover({ server }))
      assert.deepInclude(reason, { _tag: "Unavailable", retryAfterMillis: 7000 })
      assert.lengthOf(resource.requests, 1)
      name([issuer.origin])
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      assert.strictEqual((yield* discovery.discover({ server })).issuer, issuer.origin)
    }))
})

describe("the resource of requests", () => {
  it.live("[AUT-24] is the most specific URI of a server without metadata, and ends with no slash of the root", () =>
    Effect.gen(function*() {
      const { discovery, resource: { origin, port } } = yield* start()
      const uris: Readonly<Record<string, string>> = {
        [origin]: origin,
        [`${origin}/`]: origin,
        [`${origin}/mcp`]: `${origin}/mcp`,
        [`${origin}/mcp/notes?tenant=1#top`]: `${origin}/mcp/notes?tenant=1`,
        [`HTTP://LOCALHOST:${port}/MCP`]: `${origin}/MCP`
      }
      for (const [url, expected] of Object.entries(uris)) {
        const target = yield* discovery.discover({ server: new URL(url) })
        assert.strictEqual(target.resource, expected)
      }
    }))

  it.live("[AUT-24] has its scheme and its host in upper case, if the metadata has them so", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, resource: { port }, server } = yield* start()
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      const resource = `HTTP://LOCALHOST:${port}/mcp`
      name([issuer.origin], { resource })
      assert.strictEqual((yield* discovery.discover({ server })).resource, resource)
      name([issuer.origin], { resource: `HTTP://LOCALHOST:${port}/MCP` })
      assert.strictEqual((yield* reasonOf(discovery.discover({ server, isFresh: true })))._tag, "DiscoveryFailed")
    }))

  it.live("[AUT-23] a program can leave it out, for an authorization server that rejects it", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, server } = yield* start({ sendsResource: false })
      name([issuer.origin])
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      assert.isFalse((yield* discovery.discover({ server })).sendsResource)
    }))

  it.live("[AUT-22] a grant without a code needs no PKCE and no authorization endpoint", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, server } = yield* start()
      name([issuer.origin])
      issuer.routes.set(oauthAt, { json: { issuer: issuer.origin, token_endpoint: `${issuer.origin}/token` } })
      assert.strictEqual((yield* discovery.discover({ server, use: "Token" })).issuer, issuer.origin)
      for (const use of ["Code", "Device"] as const) {
        assert.strictEqual((yield* reasonOf(discovery.discover({ server, use })))._tag, "DiscoveryFailed")
      }
      assert.lengthOf(issuer.requests, 1)
    }))
})
