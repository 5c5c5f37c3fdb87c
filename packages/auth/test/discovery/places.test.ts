import { AuthenticationChallenge } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Discovery from "../../src/internal/discovery/Discovery.ts"
import * as OAuthHttp from "../../src/internal/fetch/OAuthHttp.ts"
import * as MetadataServer from "../support/metadataServer.ts"

const resourceAt = "/.well-known/oauth-protected-resource"
const oauthAt = "/.well-known/oauth-authorization-server"

const issuerMetadata = (issuer: string) => ({
  json: {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    code_challenge_methods_supported: ["S256"]
  }
})

const challengeWith = (metadata: string) =>
  AuthenticationChallenge.parse(AuthenticationChallenge.print("Bearer", { resource_metadata: metadata }))[0]

/** Starts the server of MCP, the authorization server, and discovery. */
const start = Effect.gen(function*() {
  const resource = yield* MetadataServer.start
  const issuer = yield* MetadataServer.start
  const discovery = yield* Discovery.make({ http: yield* OAuthHttp.makeNode() })
  return { resource, issuer, discovery, server: new URL(`${resource.origin}/mcp`) }
})

describe("the metadata of a protected resource", () => {
  it.live("[AUT-04] [AUT-06] the URL of the challenge is requested first, and no other", () =>
    Effect.gen(function*() {
      const { discovery, issuer, resource, server } = yield* start
      resource.routes.set("/custom", { json: { resource: server.href, authorization_servers: [issuer.origin] } })
      resource.routes.set(`${resourceAt}/mcp`, { json: { resource: server.href, authorization_servers: ["http://x"] } })
      issuer.routes.set(oauthAt, issuerMetadata(issuer.origin))
      const target = yield* discovery.discover({ server, challenge: challengeWith(`${resource.origin}/custom`) })
      assert.deepStrictEqual(resource.paths(), ["/custom"])
      assert.strictEqual(target.resource, server.href)
      assert.strictEqual(target.issuer, issuer.origin)
      assert.isTrue(target.sendsResource)
    }))
})
