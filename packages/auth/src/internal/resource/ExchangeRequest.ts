/** One exchange of a token (RFC 8693, section 2.1). */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Client } from "../../ClientIdentity.ts"
import type * as OAuthError from "../../OAuthError.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import * as OAuthLibrary from "../fetch/OAuthLibrary.ts"
import * as TokenEndpoint from "../flow/TokenEndpoint.ts"
import * as IssuerEndpoint from "./IssuerEndpoint.ts"
import * as Scopes from "./Scopes.ts"
import * as ServerCredential from "./ServerCredential.ts"

const grantType = "urn:ietf:params:oauth:grant-type:token-exchange"

const accessToken = "urn:ietf:params:oauth:token-type:access_token"

const jwt = "urn:ietf:params:oauth:token-type:jwt"

/** Returns whether an API may have a token of this type: a refresh token is for the issuer only. */
const isForApi = (type: unknown): boolean => type === undefined || type === accessToken || type === jwt

/** The issuer that exchanges tokens. */
export interface Exchanger {
  readonly issuer: string
  readonly client: Client
  /** The endpoint; `undefined` for that of the metadata. */
  readonly tokenEndpoint: string | undefined
}

/** The API for which a handler needs a token. */
export interface ExchangeTarget {
  /** The URL of the API (RFC 8707). */
  readonly resource?: string | undefined
  /** The name of the API at the issuer. */
  readonly audience?: string | undefined
  /** The scopes that the handler needs. Default: the issuer decides. */
  readonly scopes?: ReadonlyArray<string> | undefined
}

/** The token that the issuer has given. */
export interface GrantedToken {
  readonly token: Redacted.Redacted<string>
  /** The value of `Authorization`: `Bearer` and the token. */
  readonly authorization: Redacted.Redacted<string>
  /** The granted scopes; `undefined` if the issuer does not name them. */
  readonly scopes: ReadonlyArray<string> | undefined
  /** The time at which it expires, in milliseconds since the epoch; `undefined` if it is not known. */
  readonly expiresAt: number | undefined
}

const parametersOf = (subject: Redacted.Redacted<string>, { audience, resource, scopes }: ExchangeTarget) => {
  const parameters = new URLSearchParams({
    subject_token: Redacted.value(subject),
    subject_token_type: accessToken,
    requested_token_type: accessToken
  })
  if (resource !== undefined) parameters.set("resource", resource)
  if (audience !== undefined) parameters.set("audience", audience)
  if (scopes !== undefined && scopes.length > 0) parameters.set("scope", scopes.join(" "))
  return parameters
}

/** Makes the function that exchanges a token. */
export const make = (exchanger: Exchanger, http: OAuthHttp, clock: Clock.Clock) => {
  const { client, issuer } = exchanger
  const endpointOf = IssuerEndpoint.make({
    http,
    clock,
    issuer,
    given: exchanger.tokenEndpoint,
    member: "token_endpoint",
    option: "tokenEndpoint of TokenExchange"
  })

  return Effect.fnUntraced(function*(
    subject: Redacted.Redacted<string>,
    target: ExchangeTarget
  ): Effect.fn.Return<GrantedToken, OAuthError.OAuthError> {
    const endpoint = yield* endpointOf
    const server = { issuer, token_endpoint: endpoint }
    const registered = { client_id: client.clientId }
    const { access_token, expires_in, issued_token_type, scope, token_type } = yield* OAuthLibrary.call(
      http,
      // Not the endpoint: the address of one that the metadata names is checked.
      { server: new URL(issuer), issuer },
      async (library, options) => {
        const authentication = await ServerCredential.make(library, client)
        const parameters = parametersOf(subject, target)
        const response = await library.genericTokenEndpointRequest(
          server,
          registered,
          authentication,
          grantType,
          parameters,
          options
        )
        return library.processGenericTokenEndpointResponse(server, registered, response)
      }
    )
    if (token_type !== "bearer") return yield* TokenEndpoint.invalid(issuer, "the token is no bearer token")
    if (!isForApi(issued_token_type)) {
      return yield* TokenEndpoint.invalid(issuer, "the issued token is no access token")
    }
    if (!TokenEndpoint.isToken(access_token)) {
      return yield* TokenEndpoint.invalid(issuer, "the token has characters that a header cannot have")
    }
    return {
      token: Redacted.make(access_token),
      authorization: Redacted.make(`Bearer ${access_token}`),
      scopes: scope === undefined ? undefined : Scopes.parse(scope),
      expiresAt: expires_in === undefined ? undefined : clock.currentTimeMillisUnsafe() + expires_in * 1000
    }
  })
}
