/** The verification of a token by a question to its issuer (RFC 7662). */
import { Unavailable } from "@effect-mcp/transport/Authentication"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { IntrospectionResponse } from "oauth4webapi"
import type { Client } from "../../ClientIdentity.ts"
import * as OAuthError from "../../OAuthError.ts"
import type { TokenRejected, VerifiedToken, Verify } from "../../VerifiedToken.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import * as OAuthLibrary from "../fetch/OAuthLibrary.ts"
import * as ClaimedToken from "./ClaimedToken.ts"
import * as IssuerEndpoint from "./IssuerEndpoint.ts"
import * as JsonObject from "./JsonObject.ts"
import * as ServerCredential from "./ServerCredential.ts"

/** The rules for the introspected tokens of one issuer. */
export interface Rules extends ClaimedToken.Rules {
  /** The endpoint; `undefined` for that of the metadata of the issuer. */
  readonly url: string | undefined
  readonly client: Client
  /** Whether a token without `aud` is rejected. */
  readonly requiresAudience: boolean
}

/** The most questions at a time. Others are answered with 503, so that a flood of tokens costs the issuer little. */
const maxQuestions = 100

const retryAfterMillis = 2_000

/** Returns the reason why an answer does not let a token pass. */
const problemOf = (
  rules: Rules,
  claims: JsonObject.JsonObject,
  resource: string,
  now: number
): string | undefined => {
  if (claims["active"] !== true) return "its issuer does not know it as active"
  const issuer = claims["iss"]
  if (issuer !== undefined && issuer !== rules.issuer) return ClaimedToken.problems.iss
  const expiresAt = JsonObject.millisOf(claims, "exp")
  if (claims["exp"] !== undefined && expiresAt === undefined) return ClaimedToken.problems.exp
  if (expiresAt !== undefined && expiresAt + rules.skewMillis <= now) return ClaimedToken.problems.exp
  const notBefore = JsonObject.millisOf(claims, "nbf")
  // As for `exp`, a text cannot be compared, and is no reason to accept the token.
  if ((claims["nbf"] ?? undefined) !== undefined && notBefore === undefined) return ClaimedToken.problems.nbf
  if (notBefore !== undefined && notBefore - rules.skewMillis > now) return ClaimedToken.problems.nbf
  if (ClaimedToken.audiencesOf(claims).length === 0 && !rules.requiresAudience) return undefined
  return ClaimedToken.isFor(rules, claims, resource) ? undefined : ClaimedToken.problems.aud
}

const unavailable = (cause: unknown): Unavailable => {
  const known = cause instanceof OAuthError.OAuthError && cause.reason._tag === "Unavailable"
    ? cause.reason.retryAfterMillis
    : undefined
  return new Unavailable({ cause, retryAfterMillis: known ?? retryAfterMillis })
}

/** Makes the verification. */
export const make = (rules: Rules, http: OAuthHttp, clock: Clock.Clock): Verify => {
  let questions = 0
  const endpointOf = IssuerEndpoint.make({
    http,
    clock,
    issuer: rules.issuer,
    given: rules.url,
    member: "introspection_endpoint",
    option: "url of TokenVerifier.introspection"
  })

  const ask = Effect.fnUntraced(
    function*(token: string): Effect.fn.Return<IntrospectionResponse, OAuthError.OAuthError> {
      const endpoint = yield* endpointOf
      const server = { issuer: rules.issuer, introspection_endpoint: endpoint }
      const client = { client_id: rules.client.clientId }
      return yield* OAuthLibrary.call(
        http,
        // Not the endpoint: the address of one that the metadata names is checked.
        { server: new URL(rules.issuer), issuer: rules.issuer },
        async (library, options) => {
          const authentication = await ServerCredential.make(library, rules.client)
          const response = await library.introspectionRequest(server, client, authentication, token, options)
          return library.processIntrospectionResponse(server, client, response)
        }
      )
    }
  )

  return Effect.fnUntraced(function*(
    token: Redacted.Redacted<string>,
    resource: string
  ): Effect.fn.Return<VerifiedToken, TokenRejected | Unavailable> {
    if (questions >= maxQuestions) {
      return yield* unavailable(new Error(`${maxQuestions} questions to ${rules.issuer} wait for their answers`))
    }
    questions++
    const claims = yield* Effect.ensuring(
      Effect.mapError(ask(Redacted.value(token)), unavailable),
      Effect.sync(() => {
        questions--
      })
    )
    const problem = problemOf(rules, claims, resource, clock.currentTimeMillisUnsafe())
    return yield* problem === undefined ? ClaimedToken.make(rules, claims) : ClaimedToken.reject(problem)
  })
}
