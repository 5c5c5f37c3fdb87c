/** Sessions of our client at our server, which a real authorization server lets in. */
import { Grant, OAuth } from "@effect-mcp/auth"
import { Revision } from "@effect-mcp/protocol"
import { ClientSession, Principal } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Issuer from "./support/issuer.ts"
import { type ProtectedServer, serve } from "./support/resourceServer.ts"

/** Starts an authorization server, and a server whose resource is its own URL. */
const start = Effect.gen(function*() {
  const issuer = yield* Issuer.start
  const server = yield* serve({
    resource: ({ host, path }) => path === "/mcp" ? `http://${host}/mcp` : undefined,
    issuers: [issuer.url],
    scopes: ["notes:read"]
  }, { revisions: Revision.supported, capabilities: { extensions: Grant.extensions("ClientCredentials") } })
  return { issuer, server }
})

const transportTo = ({ url }: ProtectedServer) => StreamableHttpClient.layerNode({ url })

const clientAt = (server: ProtectedServer, revision: Revision.Revision) =>
  ClientSession.layer({
    info: { name: "job", version: "1.0.0" },
    revisions: [revision],
    capabilities: { extensions: Grant.extensions(Grant.clientCredentials) }
  }).pipe(Layer.provide(transportTo(server)))

const oauthAt = (issuer: string) =>
  OAuth.layer({
    grant: Grant.clientCredentials,
    identity: { preRegistered: [{ issuer, clientId: "app", secret: Redacted.make(Issuer.secret) }] }
  })

const sessionAt = (issuer: string, server: ProtectedServer, revision: Revision.Revision) =>
  Effect.map(
    Layer.build(Layer.provide(clientAt(server, revision), oauthAt(issuer))),
    Context.get(ClientSession.ClientSession)
  )

describe.each(["2025-11-25", "2026-07-28"] as const)("a session of revision %s", (revision) => {
  it.live("[HTTP-16] [AUT-33] is authorized as the specification describes, with the token in a header only", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start
      const session = yield* sessionAt(issuer.url, server, revision)
      const { content: [content] } = yield* session.callTool("any")
      assert.deepInclude(content, { text: Principal.idOf(issuer.url, "app", server.url) })
      assert.deepInclude(server.principals[0], { scopes: ["notes:read"] })
      assert.includeMembers(issuer.requests, ["/.well-known/oauth-authorization-server", "/token"])
      // Without an authorization, the client learns what the server needs, and gets no session.
      const rejected = yield* Effect.exit(Layer.build(clientAt(server, revision)))
      assert.include(String(rejected), `Bearer resource_metadata="${new URL(server.url).origin}`)
      assert.lengthOf(server.principals, 1)
    }))

  it.live("[AUX-02] has the ids of the extensions in the capabilities of both sides", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start
      const session = yield* sessionAt(issuer.url, server, revision)
      const declared = { "io.modelcontextprotocol/oauth-client-credentials": {} }
      assert.deepStrictEqual(session.profile.capabilities.extensions, declared)
      yield* session.callTool("any")
      assert.deepStrictEqual(server.profiles[0]?.capabilities.extensions, declared)
    }))
})

it("[AUX-02] each grant has the id of its extension", () => {
  const assertion = Effect.succeed(Redacted.make("assertion"))
  const provider = {
    issuer: "https://idp.example",
    tokenEndpoint: "https://idp.example/token",
    client: { clientId: "a" }
  }
  const subject = Effect.map(assertion, (token) => ({ token }))
  const grants = [
    Grant.clientCredentials,
    Grant.workloadIdentity(assertion),
    Grant.enterpriseManaged({ provider, subject })
  ]
  const ids = [
    "io.modelcontextprotocol/oauth-client-credentials",
    "io.modelcontextprotocol/workload-identity-federation",
    "io.modelcontextprotocol/enterprise-managed-authorization"
  ]
  assert.deepStrictEqual(grants.map((grant) => Object.keys(Grant.extensions(grant))), ids.map((id) => [id]))
  assert.deepStrictEqual(
    Object.keys(Grant.extensions("ClientCredentials", "WorkloadIdentity", "EnterpriseManaged")),
    ids
  )
})
