/** Requests to the token endpoint of an authorization server, with any grant. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Client, ClientAuth } from "oauth4webapi"
import * as OAuthError from "../../OAuthError.ts"
import * as ScopeSelection from "../discovery/ScopeSelection.ts"
import type { Metadata } from "../discovery/Target.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import * as OAuthLibrary from "../fetch/OAuthLibrary.ts"
import type { Nonces } from "../proof/Nonces.ts"
import type { ProofKey } from "../proof/ProofKey.ts"
import type { TokenResponse } from "../tokens/StoredTokens.ts"

/** The key that the tokens are bound to, and the nonces of servers. */
export interface Proof {
  readonly key: ProofKey
  readonly nonces: Nonces
}

/** An authorization server, and the client at it. */
export interface Endpoint {
  readonly http: OAuthHttp
  /** The server that needs authorization. */
  readonly server: URL
  readonly metadata: Metadata
  readonly client: Client
  readonly clientAuth: ClientAuth
  /** The key of DPoP, if tokens are bound to one. */
  readonly proof: Proof | undefined
}

/** The tokens of a response. */
export interface Granted {
  readonly response: TokenResponse
  /** The time at which the request was sent. */
  readonly sentAt: number
}

const Body = Schema.Struct({
  access_token: Schema.NonEmptyString,
  token_type: Schema.String,
  expires_in: Schema.optional(Schema.NullOr(Schema.Union([Schema.Finite, Schema.String]))),
  refresh_token: Schema.optional(Schema.NullOr(Schema.String)),
  scope: Schema.optional(Schema.NullOr(Schema.String)),
  issued_token_type: Schema.optional(Schema.String)
})

/** The body of a successful response. */
export type TokenBody = typeof Body.Type

const decode = Schema.decodeUnknownResult(Body)

/** The characters of a token in a header (RFC 6750, RFC 9449). */
const token = /^[\x21-\x7e]+$/

/** Returns whether a header can have the token. */
export const isToken = (text: string): boolean => token.test(text)

/** Returns the error of a response that is not one of the specification. It shows nothing of the response. */
export const invalid = (issuer: string, problem: string): OAuthError.OAuthError =>
  OAuthError.make({
    _tag: "TokenRequestFailed",
    issuer,
    status: 200,
    error: "invalid_response",
    description: problem
  })

/** Returns the lifetime in milliseconds. Some servers send the number as a text. */
const lifetimeOf = (seconds: number | string | null | undefined): number | undefined => {
  const number = typeof seconds === "string" ? Number(seconds.trim() === "" ? Number.NaN : seconds) : seconds
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? number * 1000 : undefined
}

/** Returns the tokens of a body. */
const tokensOf = (
  issuer: string,
  body: TokenBody,
  proof: Proof | undefined
): Result.Result<TokenResponse, OAuthError.OAuthError> => {
  const type = body.token_type.toLowerCase()
  if (!isToken(body.access_token)) {
    return Result.fail(invalid(issuer, "the access token has characters that a header cannot have"))
  }
  if (type !== "bearer" && (type !== "dpop" || proof === undefined)) {
    return Result.fail(invalid(issuer, "the type of the token is neither Bearer nor one that was requested"))
  }
  const scopes = body.scope == null ? undefined : ScopeSelection.parse(body.scope)
  return Result.succeed({
    accessToken: Redacted.make(body.access_token),
    tokenType: type === "dpop" ? "DPoP" : "Bearer",
    refreshToken: body.refresh_token == null || body.refresh_token === ""
      ? undefined
      : Redacted.make(body.refresh_token),
    scopes,
    expiresInMillis: lifetimeOf(body.expires_in),
    // The refresh token of a public client is bound to the key, whatever the type of the access token.
    proofKey: proof?.key.text
  })
}

const json = async (response: Response): Promise<unknown> => {
  try {
    return await response.json()
  } catch {
    return undefined
  }
}

/** Returns whether the error asks for another proof, with a nonce. */
const wantsNonce = ({ reason }: OAuthError.OAuthError): boolean =>
  reason._tag === "TokenRequestFailed" && reason.error === "use_dpop_nonce"

/** A grant, and its parameters. Those that are `undefined` are not sent. */
export interface Grant {
  readonly type: string
  readonly parameters: Readonly<Record<string, string | undefined>>
}

/** Sends a token request, and returns the body of the response. */
export const body = Effect.fnUntraced(function*(
  { client, clientAuth, http, metadata, proof, server }: Endpoint,
  { parameters, type }: Grant
): Effect.fn.Return<TokenBody, OAuthError.OAuthError> {
  const { issuer } = metadata
  const url = new URL(metadata.token_endpoint ?? issuer)
  const sent = Object.entries(parameters).flatMap(([name, value]) => value === undefined ? [] : [[name, value]])
  let hasNewNonce = false
  const attempt = Effect.gen(function*() {
    const proven = proof === undefined
      ? {}
      : { dpop: yield* proof.key.proof({ method: "POST", url, nonce: proof.nonces.get(url.origin) }) }
    const unknown = yield* OAuthLibrary.call(http, { server, issuer }, async (library, options) => {
      const response = await library.genericTokenEndpointRequest(metadata, client, clientAuth, type, sent, {
        ...options,
        headers: proven
      })
      hasNewNonce = proof?.nonces.set(url.origin, response.headers.get("dpop-nonce") ?? undefined) === true
      // The function of the library also validates an ID token, which this library does not use. It reads errors.
      if (!response.ok) await library.processGenericTokenEndpointResponse(metadata, client, response)
      return json(response)
    })
    const decoded = decode(unknown)
    return Result.isSuccess(decoded)
      ? decoded.success
      : yield* invalid(issuer, "the response is not a JSON object with the members of RFC 6749")
  })
  // The first request cannot have a nonce, and a nonce expires. A server rejects such a request before it uses a code.
  return yield* Effect.catchIf(attempt, (error) => hasNewNonce && wantsNonce(error), () => attempt)
})

/** Requests tokens. */
export const request = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  grant: Grant
): Effect.fn.Return<Granted, OAuthError.OAuthError> {
  const sentAt = yield* Clock.currentTimeMillis
  const response = yield* body(endpoint, grant)
  return { response: yield* Effect.fromResult(tokensOf(endpoint.metadata.issuer, response, endpoint.proof)), sentAt }
})
