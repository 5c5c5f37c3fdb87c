import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as IssuerMetadata from "../../../src/internal/discovery/IssuerMetadata.ts"
import * as OAuthHttp from "../../../src/internal/fetch/OAuthHttp.ts"
import { challengeOf, issuerMetadata, oauthAt, reasonOf, resourceAt, start } from "../../support/discovery.ts"
import type { Route } from "../../support/metadataServer.ts"

/** A client for checks that send nothing. */
const noClient = HttpClient.make(() => Effect.die("a request was sent"))

const json = { "content-type": "application/json" }

/** The documents that cannot be used, from any server. */
const unreadable: Readonly<Record<string, Route>> = {
  "HTML": (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html></html>"),
  "HTML that claims to be JSON": (response) => response.writeHead(200, json).end("<html></html>"),
  "an array": { json: [] },
  "1 MB": { json: { padding: "x".repeat(1_000_000) } },
  "an endless document": (response) => {
    response.writeHead(200, json)
    const timer = setInterval(() => response.write(" ".repeat(20_000)), 5)
    response.on("close", () => clearInterval(timer))
  },
  "a redirect": (response) => response.writeHead(302, { location: "http://localhost:1/metadata" }).end(),
  "a member of another type": { json: { resource: 7, issuer: 7 } }
}

describe("metadata of a protected resource that cannot be used is DiscoveryFailed, and nothing is sent further", () => {
  for (const [name, route] of Object.entries(unreadable)) {
    it.live(name, () =>
      Effect.gen(function*() {
        const { discovery, issuer, resource, server } = yield* start()
        resource.routes.set(`${resourceAt}/mcp`, route)
        const error = yield* Effect.flip(discovery.discover({ server }))
        const place = `${resource.origin}${resourceAt}/mcp`
        assert.deepInclude(error.reason, { _tag: "DiscoveryFailed", url: place })
        assert.include(error.message, place)
        assert.lengthOf(issuer.requests, 0)
      }))
  }

  it.live("an endless document that is sent slowly ends at the deadline, as a server that does not answer", () =>
    Effect.gen(function*() {
      const { discovery, resource, server } = yield* start({ timeout: "100 millis" })
      resource.routes.set(`${resourceAt}/mcp`, (response) => {
        response.writeHead(200, json)
        const timer = setInterval(() => response.write(" "), 10)
        response.on("close", () => clearInterval(timer))
      })
      assert.strictEqual((yield* reasonOf(discovery.discover({ server })))._tag, "Unavailable")
    }))

  it.live("[AUT-07] resources that are not the server", () =>
    Effect.gen(function*() {
      const { discovery, issuer, name, resource, server } = yield* start()
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      const others = [
        "https://evil.example/mcp",
        `${resource.origin}/other`,
        `${resource.origin}/mc`,
        `${resource.origin}/mcp/below`,
        `${resource.origin}/mcp#fragment`,
        `${resource.origin}/mcp?tenant=other`,
        "mcp"
      ]
      for (const other of others) {
        name([issuer.origin], { resource: other })
        assert.strictEqual((yield* reasonOf(discovery.discover({ server })))._tag, "DiscoveryFailed", other)
      }
      assert.lengthOf(issuer.requests, 0)
    }))

  it.live("[AUT-06] URLs in a challenge that are no place of metadata", () =>
    Effect.gen(function*() {
      const { discovery, resource, server } = yield* start()
      const urls = ["metadata", "javascript:alert(1)", `http://a:b@localhost:${resource.port}/metadata`]
      for (const url of urls) {
        const challenge = challengeOf({ resource_metadata: url })
        const { _tag } = yield* reasonOf(discovery.discover({ server, challenge }))
        assert.include(["AddressForbidden", "DiscoveryFailed"], _tag, url)
      }
      assert.lengthOf(resource.requests, 0)
    }))

  it.live("errors show the words of a document escaped and cut, and no query of a redirect", () =>
    Effect.gen(function*() {
      const { discovery, name, resource, server } = yield* start()
      name(["https://issuer.example"], { resource: `\u001b[31m\u202e${"x".repeat(50_000)}` })
      const resourceError = yield* Effect.flip(discovery.discover({ server }))
      assert.isBelow(resourceError.message.length, 600)
      assert.notMatch(resourceError.message, /[\u001b\u202e]/)
      name([`https://issuer.example/${"/".repeat(60_000)}?\u202e`])
      assert.isBelow((yield* Effect.flip(discovery.discover({ server }))).message.length, 600)
      resource.routes.set(
        `${resourceAt}/mcp`,
        (response) => response.writeHead(302, { location: "/other?token=secret" }).end()
      )
      assert.notInclude((yield* Effect.flip(discovery.discover({ server }))).message, "secret")
    }))

  it.live("issuers that are no URL of an authorization server", () =>
    Effect.gen(function*() {
      const { discovery, name, server } = yield* start()
      const issuers = [
        "issuer",
        "javascript:alert(1)",
        "https://issuer.example/?tenant=1",
        "https://a:b@issuer.example"
      ]
      for (const issuer of issuers) {
        name([issuer])
        assert.strictEqual((yield* reasonOf(discovery.discover({ server })))._tag, "DiscoveryFailed", issuer)
      }
      name([])
      assert.strictEqual((yield* reasonOf(discovery.discover({ server })))._tag, "DiscoveryFailed")
    }))
})

describe("metadata of an issuer that cannot be used is DiscoveryFailed, and no endpoint is requested", () => {
  const refuses = (issuerRoute: (origin: string) => Route) =>
    Effect.gen(function*() {
      const { discovery, issuer, name, server } = yield* start()
      name([issuer.origin])
      issuer.routes.set(oauthAt, issuerRoute(issuer.origin))
      const error = yield* Effect.flip(discovery.discover({ server }))
      assert.strictEqual(error.reason._tag, "DiscoveryFailed", error.message)
      for (const path of issuer.paths()) assert.match(path, /^\/\.well-known\//)
      return error.message
    })

  for (const [name, route] of Object.entries(unreadable)) it.live(name, () => refuses(() => route))

  it.live("[AUT-09] another issuer", () =>
    Effect.gen(function*() {
      const message = yield* refuses(() => issuerMetadata("https://other.example"))
      assert.include(message, "https://other.example")
    }))

  it.live("[AUT-22] no S256", () =>
    Effect.gen(function*() {
      const methods = "code_challenge_methods_supported"
      assert.include(yield* refuses((origin) => issuerMetadata(origin, { [methods]: ["plain"] })), methods)
      assert.include(yield* refuses((origin) => issuerMetadata(origin, { [methods]: null })), methods)
    }))

  it("[AUT-31] an endpoint without TLS at the origin of a server without TLS", () => {
    const server = new URL("http://mcp.example/mcp")
    const fault = (allowedOrigins: ReadonlyArray<string>, token_endpoint: string) =>
      IssuerMetadata.endpointsFault(OAuthHttp.make(noClient, { allowedOrigins }), server, { token_endpoint })
    assert.strictEqual(fault([], "http://mcp.example/token"), "its token_endpoint is not an https: URL")
    // The program can permit it, and this machine needs no TLS.
    assert.isUndefined(fault(["http://mcp.example"], "http://mcp.example/token"))
    assert.isUndefined(fault(["http://127.0.0.1:8080"], "http://127.0.0.1:8080/token"))
  })

  for (
    const endpoint of [
      "javascript:alert(1)",
      "file:///etc/passwd",
      "http://issuer.example/auth",
      "https://169.254.169.254/latest",
      "https://a:b@issuer.example/auth",
      "https://issuer.example/auth#fragment",
      "auth"
    ]
  ) {
    it.live(`[AUT-31] [AUT-52] the endpoint ${endpoint}`, () =>
      Effect.gen(function*() {
        for (const name of ["authorization_endpoint", "token_endpoint", "registration_endpoint"]) {
          assert.include(yield* refuses((origin) => issuerMetadata(origin, { [name]: endpoint })), name)
        }
      }))
  }
})
