/** Discovery over real sockets: a server of MCP and an authorization server that a test writes. */
import type { OAuthError } from "@effect-mcp/auth"
import { AuthenticationChallenge } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Discovery from "../../src/internal/discovery/Discovery.ts"
import * as OAuthHttp from "../../src/internal/fetch/OAuthHttp.ts"
import * as MetadataServer from "./metadataServer.ts"

/** The well-known places. */
export const resourceAt = "/.well-known/oauth-protected-resource"
export const oauthAt = "/.well-known/oauth-authorization-server"
export const openIdAt = "/.well-known/openid-configuration"

/** Returns metadata of an issuer with its endpoints below it. */
export const issuerMetadata = (issuer: string, members: object = {}): { readonly json: object } => ({
  json: {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    code_challenge_methods_supported: ["S256"],
    ...members
  }
})

/** Returns the challenge of a server. */
export const challengeOf = (
  parameters: Readonly<Record<string, string>>
): AuthenticationChallenge.AuthenticationChallenge | undefined =>
  AuthenticationChallenge.parse(AuthenticationChallenge.print("Bearer", parameters))[0]

/** Returns the kind of an error. */
export const reasonOf = <A>(
  effect: Effect.Effect<A, OAuthError.OAuthError>
): Effect.Effect<OAuthError.OAuthErrorReason, A> => Effect.map(Effect.flip(effect), ({ reason }) => reason)

/** Starts both servers, and discovery for the first. */
export const start = Effect.fnUntraced(function*(
  options: Omit<Discovery.Options, "http"> & OAuthHttp.Options = {}
) {
  const resource = yield* MetadataServer.start
  const issuer = yield* MetadataServer.start
  const http = yield* OAuthHttp.makePlatform(options)
  const discovery = yield* Discovery.make({ ...options, http })
  const server = new URL(`${resource.origin}/mcp`)
  /** Lets the server name the issuer in its metadata at its path. */
  const name = (issuers: ReadonlyArray<string>, members: object = {}) =>
    resource.routes.set(`${resourceAt}/mcp`, {
      json: { resource: server.href, authorization_servers: issuers, ...members }
    })
  return { resource, issuer, http, discovery, server, name }
})
