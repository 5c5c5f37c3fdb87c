/** Authorization servers of revision 2025-03-26, which are the server of MCP itself (AUT-10). */
import * as Effect from "effect/Effect"
import type * as OAuthError from "../../OAuthError.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import * as IssuerMetadata from "./IssuerMetadata.ts"
import * as MetadataDocument from "./MetadataDocument.ts"
import type { Metadata } from "./Target.ts"

/** Returns the metadata with the default endpoints of the revision. Its servers have to support PKCE with S256. */
const defaults = (origin: string): Metadata => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  registration_endpoint: `${origin}/register`,
  code_challenge_methods_supported: ["S256"]
})

/**
 * Returns the metadata of the origin of a server, or the default endpoints if the server has no metadata at all. A
 * document that cannot be used is a failure: a server that answers each path with a page has no such endpoints.
 */
export const find = Effect.fnUntraced(function*(
  http: OAuthHttp,
  server: URL,
  issuer: string | undefined,
  earlier: OAuthError.OAuthError | undefined,
  headers: Readonly<Record<string, string>>
): Effect.fn.Return<Metadata, OAuthError.OAuthError> {
  const { origin } = server
  // Nothing names the issuer but the origin, which has no canonical text.
  const issuers = issuer === undefined ? [origin, `${origin}/`] : [issuer]
  const places = IssuerMetadata.places(new URL(origin))
  const { found, problem } = yield* IssuerMetadata.find(http, server, issuers, places, headers)
  if (found !== undefined) return found.metadata
  const failure = earlier ?? problem
  if (failure !== undefined) return yield* failure
  const metadata = defaults(origin)
  const fault = IssuerMetadata.endpointsFault(http, server, metadata)
  if (fault === undefined) return metadata
  return yield* MetadataDocument.broken(server, `${fault}, and the server has no metadata`, "connect with https:")
})
