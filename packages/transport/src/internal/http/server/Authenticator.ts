/** The call of `Authentication.identify` for each request, with its timeout and its error responses. */
import { ErrorCode } from "@effect-mcp/protocol"
import * as ForeignCall from "@effect-mcp/session/ForeignCall"
import type { Principal } from "@effect-mcp/session/Principal"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { type Authentication, type Identity, Unauthenticated } from "../../../Authentication.ts"
import { LimitedLog } from "../../shared/LimitedLog.ts"
import * as HttpResponses from "./HttpResponses.ts"

/** Returns the principal of a request, `undefined` for an anonymous one; fails with the response that rejects it. */
export type Authenticator = (request: HttpServerRequest) => Effect.Effect<Principal | undefined, HttpServerResponse>

const principalOf = (identity: Identity): Principal | undefined => identity === "anonymous" ? undefined : identity

const challenge = (failure: Unauthenticated): HttpServerResponse =>
  HttpResponses.error(401, "Authentication is required", { headers: { "www-authenticate": failure.challenge } })

const failed = HttpResponses.error(500, "Authentication failed", { code: ErrorCode.InternalError })

/** Makes an authenticator. A call that times out or dies accepts nothing. */
export const make = (
  authentication: Authentication["Service"],
  timeoutMillis: number,
  clock: Clock.Clock
): Authenticator => {
  const log = new LimitedLog(clock)
  const timedOut = HttpResponses.unavailable(`Authentication timed out after ${timeoutMillis} ms (identifyTimeout)`)

  const rejected = (
    cause: Cause.Cause<ForeignCall.TimedOut | Unauthenticated>
  ): Effect.Effect<never, HttpServerResponse> => {
    const error = Cause.findErrorOption(cause)
    if (error._tag === "Some" && error.value instanceof Unauthenticated) return Effect.fail(challenge(error.value))
    return error._tag === "Some"
      ? Effect.andThen(
        log.warn(`${error.value.message}; the request is rejected with 503`, cause),
        Effect.fail(timedOut)
      )
      : Effect.andThen(
        log.warn("Authentication.identify died; the request is rejected with 500", cause),
        Effect.fail(failed)
      )
  }

  return (request) =>
    Effect.matchCauseEffectEager(
      ForeignCall.within("Authentication.identify", timeoutMillis, () => authentication.identify(request)),
      { onFailure: rejected, onSuccess: (identity) => Exit.succeed(principalOf(identity)) }
    )
}
