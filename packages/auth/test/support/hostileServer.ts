/** A server of MCP on a socket whose metadata names itself, or a path of it, as the authorization server. */
import type { OAuth, UserAgent } from "@effect-mcp/auth"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { build } from "./clients.ts"
import { resourceAt } from "./discovery.ts"
import * as MetadataServer from "./metadataServer.ts"

/** Identifiers in the metadata of the server. */
export interface Claims {
  /** The issuer, by the origin of the server. Default: the origin. */
  readonly issuer?: (origin: string) => string
  /** The resource, by the origin of the server. Default: the URL of the server. */
  readonly resource?: (origin: string) => string
}

/** The server, and the client that it attacks. */
export interface HostileServer extends MetadataServer.MetadataServer {
  readonly url: string
  readonly oauth: OAuth.OAuth["Service"]
}

/** Starts the server, whose endpoints are routes of the test, and a client with this user agent. */
export const start = Effect.fnUntraced(function*(
  userAgent: UserAgent.UserAgent,
  { issuer: issuerOf = (origin) => origin, resource: resourceOf = (origin) => `${origin}/mcp` }: Claims = {}
): Effect.fn.Return<HostileServer, never, Scope.Scope> {
  const server = yield* MetadataServer.start
  const { origin, routes } = server
  const issuer = issuerOf(origin)
  routes.set(`${resourceAt}/mcp`, { json: { resource: resourceOf(origin), authorization_servers: [issuer] } })
  const metadata = {
    json: {
      issuer,
      authorization_endpoint: `${origin}/auth`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      device_authorization_endpoint: `${origin}/device`,
      code_challenge_methods_supported: ["S256"]
    }
  }
  const path = URL.canParse(issuer) ? new URL(issuer).pathname.replace(/\/$/, "") : ""
  routes.set(`/.well-known/oauth-authorization-server${path}`, metadata)
  routes.set("/register", { json: { client_id: "client" }, status: 201 })
  return { ...server, url: `${origin}/mcp`, oauth: yield* build({ userAgent }) }
})

/** A person whose browser returns these parameters, with the state of the request. */
export const answering = (parameters: Readonly<Record<string, string>>): UserAgent.UserAgent => ({
  _tag: "Redirect",
  open: () =>
    Effect.succeed({
      uri: "http://127.0.0.1:1/callback",
      applicationType: "native",
      visit: (url) => Effect.succeed(new URLSearchParams({ ...parameters, state: url.searchParams.get("state") ?? "" }))
    })
})
