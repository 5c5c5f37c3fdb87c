/** The identification of the requests of a resource server (AUT-41 to AUT-46, AUT-49, AUX-07). */
import * as Principal from "@effect-mcp/session/Principal"
import * as Authentication from "@effect-mcp/transport/Authentication"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Challenges from "./Challenges.ts"
import type { DpopNonces } from "./DpopNonces.ts"
import * as DpopProof from "./DpopProof.ts"
import type { Find, Place, ProtectedResource } from "./ProtectedResources.ts"
import * as RequestCredentials from "./RequestCredentials.ts"
import * as RequestPlace from "./RequestPlace.ts"
import * as Scopes from "./Scopes.ts"
import type { Identified, TokenVerification } from "./TokenVerification.ts"

/** The settings of the identification. */
export interface Settings {
  readonly find: Find
  readonly verification: TokenVerification
  /** The scopes that a client without a token should request. */
  readonly scopes: ReadonlyArray<string>
  /** The scopes that every request needs. */
  readonly requiredScopes: ReadonlyArray<string>
  readonly maxTokenBytes: number
  readonly proofs: DpopProof.Settings
  /** Whether clients that do not use DPoP are told of it. */
  readonly offersDpop: boolean
  readonly acceptsBearer: boolean
  readonly clock: Clock.Clock
}

const nonceHeaders = (nonces: DpopNonces, clock: Clock.Clock) => () => ({
  "dpop-nonce": nonces.current(clock.currentTimeMillisUnsafe())
})

type Problem = Omit<Challenges.Problem, "scheme">

/** The members of the service `Authentication`. */
export type RequestIdentity = Authentication.Authentication["Service"]

/** Returns the URLs that a client may have used: that of the resource, or its origin with the path of the request. */
const urlsOf = ({ resource }: ProtectedResource, { path }: Place): ReadonlyArray<string> => [
  resource,
  `${new URL(resource).origin}${path}`
]

/** Returns the scheme that a request uses, for challenges of later problems. */
const schemeOf = ({ headers }: HttpServerRequest): "Bearer" | "DPoP" =>
  /^dpop /i.test(headers["authorization"] ?? "") ? "DPoP" : "Bearer"

/** Makes the authentication of a resource server. */
export const make = (settings: Settings): RequestIdentity => {
  const { acceptsBearer, clock, find, offersDpop, proofs, requiredScopes, scopes, verification } = settings
  const requested = Scopes.requestable([...requiredScopes, ...scopes])

  const challengeOf = (resource: ProtectedResource, problem: Challenges.Problem): string =>
    Challenges.print({ ...problem, scopes: Scopes.requestable(problem.scopes) }, {
      metadataUrl: resource.metadataUrl,
      offersDpop,
      acceptsBearer,
      dpopAlgorithms: proofs.algorithms
    })

  const unauthenticated = (
    resource: ProtectedResource,
    scheme: "Bearer" | "DPoP",
    problem: Omit<Problem, "scopes"> = {}
  ) =>
    new Authentication.Unauthenticated({ challenge: challengeOf(resource, { scheme, scopes: requested, ...problem }) })

  const invalidToken = (resource: ProtectedResource, scheme: "Bearer" | "DPoP", description: string) =>
    unauthenticated(resource, scheme, { error: "invalid_token", description })

  /** Checks the key of a token, if it is bound to one. */
  const checkProof = (
    { principal, token }: Identified,
    presented: RequestCredentials.Presented,
    resource: ProtectedResource,
    request: HttpServerRequest
  ): Effect.Effect<void, Authentication.Rejection> => {
    const { keyThumbprint } = token
    const { proof, scheme } = presented
    if (keyThumbprint === undefined) {
      if (scheme === "Bearer" && acceptsBearer) return Effect.void
      return Effect.fail(
        invalidToken(resource, "DPoP", "the token is not bound to a key; request it with a DPoP proof")
      )
    }
    if (scheme === "Bearer") {
      return Effect.fail(invalidToken(resource, "DPoP", "the token is bound to a key; send it with the scheme DPoP"))
    }
    if (proof === undefined) {
      return Effect.fail(
        unauthenticated(resource, scheme, { error: "invalid_dpop_proof", description: "the header DPoP is missing" })
      )
    }
    const rejecting = <A>(
      effect: Effect.Effect<A, Authentication.Unavailable | DpopProof.ProofRejected>
    ): Effect.Effect<A, Authentication.Rejection> =>
      Effect.catchTag(effect, "ProofRejected", ({ error, problem }) =>
        Effect.fail(
          unauthenticated(resource, scheme, { error, description: `the proof is not accepted: ${problem}` })
        ))
    const checked = DpopProof.check(proofs, {
      proof,
      token: presented.token,
      thumbprint: keyThumbprint,
      principal: principal.id,
      method: request.method,
      urls: urlsOf(resource, RequestPlace.of(request)),
      clock
    })
    return Effect.flatMap(rejecting(checked), (use) => Authentication.useOnce(rejecting(use)))
  }

  const lacksScope = (resource: ProtectedResource, scheme: "Bearer" | "DPoP") =>
    new Authentication.Forbidden({
      challenge: challengeOf(resource, { scheme, error: "insufficient_scope", scopes: requiredScopes })
    })

  /** Accepts a verified token. It returns an exit if nothing has to be waited for. */
  const accept = (
    identified: Identified,
    presented: RequestCredentials.Presented,
    resource: ProtectedResource,
    request: HttpServerRequest
  ): Effect.Effect<Authentication.Identity, Authentication.Rejection> => {
    const { principal, token } = identified
    const accepted = Principal.hasScopes(principal, requiredScopes)
      ? Exit.succeed(principal)
      : Exit.fail(lacksScope(resource, presented.scheme))
    return token.keyThumbprint === undefined && presented.scheme === "Bearer" && acceptsBearer
      ? accepted
      : Effect.flatMap(checkProof(identified, presented, resource, request), () => accepted)
  }

  const identify = (request: HttpServerRequest): Effect.Effect<Authentication.Identity, Authentication.Rejection> => {
    const resource = find(RequestPlace.of(request))
    // No client could be told where to sign in.
    if (resource === undefined) return Effect.fail(new Authentication.Forbidden({}))
    const credentials = RequestCredentials.read(request, settings.maxTokenBytes)
    switch (credentials._tag) {
      case "None":
        return Effect.fail(unauthenticated(resource, "Bearer"))
      case "Malformed":
        return Effect.fail(
          new Authentication.InvalidRequest({
            challenge: challengeOf(resource, {
              scheme: "Bearer",
              error: "invalid_request",
              description: credentials.problem,
              scopes: requested
            })
          })
        )
      case "Token": {
        const remembered = verification.peek(credentials.token, resource)
        if (remembered !== undefined) return accept(remembered, credentials, resource, request)
        return verification.verify(credentials.token, resource).pipe(
          Effect.catchTag("TokenRejected", ({ message, problem }) =>
            Effect.andThen(
              Effect.logDebug(`a request to ${resource.resource} is rejected with 401: ${message}`),
              Effect.fail(invalidToken(resource, credentials.scheme, problem))
            )),
          Effect.flatMap((identified) => accept(identified, credentials, resource, request))
        )
      }
    }
  }

  return {
    identify,
    challenge: ({ error, scopes: needed }, request) => {
      const resource = find(RequestPlace.of(request))
      if (resource === undefined) return Authentication.challengeOf({ error, scopes: needed })
      return challengeOf(resource, {
        scheme: schemeOf(request),
        error,
        scopes: needed.length > 0 ? needed : requested
      })
    },
    headers: proofs.nonces === undefined
      ? undefined
      : nonceHeaders(proofs.nonces, clock)
  }
}
