/** The authorization code grant with PKCE (AUT-21 to AUT-32). */
import * as Effect from "effect/Effect"
import * as OAuthError from "../../OAuthError.ts"
import type { Redirection, SignInRequest } from "../../UserAgent.ts"
import { isVisitable } from "../agents/VisitableUrl.ts"
import type { Target } from "../discovery/Target.ts"
import * as OAuthLibrary from "../fetch/OAuthLibrary.ts"
import * as AuthorizationResponse from "./AuthorizationResponse.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

/** An authorization by a person at a browser. */
export interface CodeFlow {
  readonly target: Target
  readonly endpoint: TokenEndpoint.Endpoint
  readonly redirection: Redirection
  readonly scopes: ReadonlyArray<string> | undefined
  readonly request: SignInRequest
  /** Called with the URL that the person visits. */
  readonly onUrl: (url: URL) => Effect.Effect<void>
  /** Runs when the person has signed in at the issuer, and before a request is sent to its token endpoint. */
  readonly onCode: Effect.Effect<void, OAuthError.OAuthError>
}

/** Returns the parameter that names the resource, byte for byte as the metadata has it (AUT-23). */
export const resourceOf = ({ resource, sendsResource }: Target): string | undefined =>
  sendsResource ? resource : undefined

/** Returns the parameter of scopes. Without scopes, there is none (AUT-26). */
export const scopeOf = (scopes: ReadonlyArray<string> | undefined): string | undefined =>
  scopes === undefined || scopes.length === 0 ? undefined : scopes.join(" ")

/** Creates the URL of the authorization request. */
const authorizationUrl = (flow: CodeFlow, state: string, challenge: string): URL => {
  const { endpoint: { client, metadata, proof }, redirection, scopes, target } = flow
  const url = new URL(metadata.authorization_endpoint ?? metadata.issuer)
  const parameters: Readonly<Record<string, string | undefined>> = {
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: redirection.uri,
    state,
    code_challenge: challenge,
    code_challenge_method: "S256",
    scope: scopeOf(scopes),
    resource: resourceOf(target),
    dpop_jkt: proof?.key.thumbprint,
    // OpenID Connect ignores the scope without this.
    prompt: scopes?.includes("offline_access") === true ? "consent" : undefined
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url
}

/** Lets a person authorize the client, and requests the tokens. */
export const run = Effect.fnUntraced(function*(
  flow: CodeFlow
): Effect.fn.Return<TokenEndpoint.Granted, OAuthError.OAuthError> {
  const { endpoint, onCode, onUrl, redirection, request, target } = flow
  const library = yield* OAuthLibrary.load
  const verifier = library.generateRandomCodeVerifier()
  const recorded = AuthorizationResponse.record(library.generateRandomState(), endpoint.metadata)
  const challenge = yield* Effect.promise(() => library.calculatePKCECodeChallenge(verifier))
  const url = authorizationUrl(flow, recorded.state, challenge)
  if (!isVisitable(url)) {
    return yield* OAuthError.make({
      _tag: "DiscoveryFailed",
      url: url.origin,
      rule: "its authorization_endpoint is neither an https: URL nor one of this machine",
      remedy: "the operator of the authorization server has to correct its metadata"
    })
  }
  const visiting = redirection.visit(url, request, AuthorizationResponse.isExpected(recorded))
  // The user agent expects the redirect before anybody else learns the URL.
  const [parameters] = yield* Effect.all([visiting, onUrl(url)], { concurrency: 2 })
  const code = yield* Effect.fromResult(AuthorizationResponse.codeOf(recorded, parameters))
  yield* onCode
  return yield* TokenEndpoint.request(endpoint, {
    type: "authorization_code",
    parameters: {
      code,
      redirect_uri: redirection.uri,
      code_verifier: verifier,
      resource: resourceOf(target)
    }
  })
})
