/** The token requests of grants without a person. */
import { ForeignCall } from "@effect-mcp/session/internal"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Grant, IdentityProvider, SubjectToken } from "../../Grant.ts"
import * as OAuthError from "../../OAuthError.ts"
import type { Target } from "../discovery/Target.ts"
import { resourceOf, scopeOf } from "../flow/CodeFlow.ts"
import * as TokenEndpoint from "../flow/TokenEndpoint.ts"
import * as ClientAuthentication from "../registration/ClientAuthentication.ts"
import type { Authorized } from "./PersonFlow.ts"
import type { ServerSettings } from "./ServerSettings.ts"

const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
const tokenTypes = "urn:ietf:params:oauth:token-type:"

/** The time within which the program gives an assertion. */
const assertionMillis = 30_000

const noAssertion = (issuer: string): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "Unavailable", url: issuer, problem: "the program gave no assertion for it" })

/** Runs the effect of the program, which may die or never return. The defect may show a part of the assertion. */
const given = <A>(issuer: string, effect: Effect.Effect<A>): Effect.Effect<A, OAuthError.OAuthError> =>
  ForeignCall.within("Grant", assertionMillis, () => effect).pipe(
    Effect.mapError(() => noAssertion(issuer)),
    Effect.catchDefect(() => Effect.fail(noAssertion(issuer)))
  )

/** Exchanges the token of a person for an assertion for the authorization server (AUX-03). */
const exchanged = Effect.fnUntraced(function*(
  { http }: ServerSettings,
  target: Target,
  scopes: ReadonlyArray<string> | undefined,
  { client, issuer, tokenEndpoint }: IdentityProvider,
  { token, type = "id_token" }: SubjectToken
): Effect.fn.Return<string, OAuthError.OAuthError> {
  const metadata = { issuer, token_endpoint: tokenEndpoint }
  // The program names the identity provider, so that its own address is allowed.
  const provider: Target = {
    ...target,
    server: new URL(tokenEndpoint),
    issuer,
    metadata: { ...metadata, token_endpoint_auth_methods_supported: ["client_secret_basic", "private_key_jwt", "none"] }
  }
  const clientAuth = yield* ClientAuthentication.make(provider, client)
  const endpoint: TokenEndpoint.Endpoint = {
    http,
    server: provider.server,
    metadata,
    client: { client_id: client.clientId },
    clientAuth,
    proof: undefined
  }
  const body = yield* TokenEndpoint.body(endpoint, {
    type: tokenExchange,
    parameters: {
      requested_token_type: `${tokenTypes}id-jag`,
      audience: target.issuer,
      resource: target.resource,
      scope: scopeOf(scopes),
      subject_token: Redacted.value(token),
      subject_token_type: `${tokenTypes}${type}`
    }
  })
  if (body.issued_token_type !== `${tokenTypes}id-jag`) {
    return yield* TokenEndpoint.invalid(issuer, "the issued token is not of the type id-jag")
  }
  return body.access_token
})

/** Returns the grant to request. */
const grantOf = Effect.fnUntraced(function*(
  settings: ServerSettings,
  grant: Grant,
  target: Target,
  scopes: ReadonlyArray<string> | undefined
): Effect.fn.Return<TokenEndpoint.Grant, OAuthError.OAuthError> {
  const common = { scope: scopeOf(scopes), resource: resourceOf(target) }
  switch (grant._tag) {
    case "ClientCredentials":
      return { type: "client_credentials", parameters: common }
    case "WorkloadIdentity": {
      const assertion = yield* given(target.issuer, grant.assertion)
      return { type: jwtBearer, parameters: { ...common, assertion: Redacted.value(assertion).trim() } }
    }
    case "EnterpriseManaged": {
      const subject = yield* given(grant.provider.issuer, grant.subject)
      const assertion = yield* exchanged(settings, target, scopes, grant.provider, subject)
      return { type: jwtBearer, parameters: { ...common, assertion } }
    }
  }
})

/** Requests tokens by the grant. */
export const run = Effect.fnUntraced(function*(
  settings: ServerSettings,
  grant: Grant,
  target: Target,
  scopes: ReadonlyArray<string> | undefined,
  proof: TokenEndpoint.Proof | undefined
): Effect.fn.Return<Authorized, OAuthError.OAuthError> {
  const client = yield* settings.registration.clientFor(target)
  const endpoint: TokenEndpoint.Endpoint = {
    http: settings.http,
    server: settings.server,
    metadata: target.metadata,
    client: client.client,
    clientAuth: client.clientAuth,
    proof
  }
  return { client, granted: yield* TokenEndpoint.request(endpoint, yield* grantOf(settings, grant, target, scopes)) }
})
