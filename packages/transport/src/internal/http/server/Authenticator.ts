/** The call of `Authentication.identify` for each request, with its timeout and its error responses. */
import { ErrorCode } from "@effect-mcp/protocol"
import { ForeignCall } from "@effect-mcp/session/internal"
import * as Principal from "@effect-mcp/session/Principal"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { Authentication, Identity, Rejection } from "../../../Authentication.ts"
import { LimitedLog } from "../../shared/LimitedLog.ts"
import * as Challenges from "./Challenges.ts"
import * as HttpResponses from "./HttpResponses.ts"

/** Returns the principal of a request, `undefined` for an anonymous one; fails with the response that rejects it. */
export type Authenticator = (
  request: HttpServerRequest
) => Effect.Effect<Principal.Principal | undefined, HttpServerResponse>

const challenge = (value: string | undefined): HttpResponses.Headers =>
  value === undefined ? {} : { "www-authenticate": value }

const failed = HttpResponses.error(500, "Authentication failed", { code: ErrorCode.InternalError })

/** Makes an authenticator. A call that times out or dies accepts nothing. */
export const make = (
  authentication: Authentication["Service"],
  timeoutMillis: number,
  clock: Clock.Clock
): Authenticator => {
  const log = new LimitedLog(clock)
  const challenges = Challenges.make(authentication)
  const timedOut = HttpResponses.unavailable(`Authentication timed out after ${timeoutMillis} ms (identifyTimeout)`)

  const rejected = (
    cause: Cause.Cause<ForeignCall.TimedOut | Rejection>
  ): Effect.Effect<never, HttpServerResponse> => {
    const found = Cause.findErrorOption(cause)
    if (found._tag === "None") {
      return Effect.andThen(
        log.warn("Authentication.identify died; the request is rejected with 500", cause),
        Effect.fail(failed)
      )
    }
    const error = found.value
    switch (error._tag) {
      case "Unauthenticated":
        return Effect.fail(
          HttpResponses.error(401, "Authentication is required", { headers: challenge(error.challenge) })
        )
      case "InvalidRequest":
        return Effect.fail(
          HttpResponses.error(400, "The credentials are malformed", { headers: challenge(error.challenge) })
        )
      case "Forbidden":
        return Effect.fail(
          HttpResponses.error(403, "This client may not use this server", { headers: challenge(error.challenge) })
        )
      case "Unavailable": {
        const { retryAfterMillis } = error
        return Effect.andThen(
          log.warn("Authentication.identify is not available; the request is rejected with 503", cause),
          Effect.fail(HttpResponses.unavailable("Authentication is not available now", { retryAfterMillis }))
        )
      }
      case "TimedOut":
        return Effect.andThen(
          log.warn(`${error.message}; the request is rejected with 503`, cause),
          Effect.fail(timedOut)
        )
    }
  }

  const accepted = (
    identity: Identity,
    request: HttpServerRequest
  ): Exit.Exit<Principal.Principal | undefined, HttpServerResponse> => {
    if (identity === "anonymous") return Exit.succeed(undefined)
    if (!Principal.isExpired(identity, clock.currentTimeMillisUnsafe())) return Exit.succeed(identity)
    const headers = challenges({ error: "invalid_token", scopes: [] }, request)
    return Exit.fail(HttpResponses.error(401, "The identity has expired", { headers }))
  }

  return (request) =>
    Effect.matchCauseEffectEager(
      ForeignCall.within("Authentication.identify", timeoutMillis, () => authentication.identify(request)),
      { onFailure: rejected, onSuccess: (identity) => accepted(identity, request) }
    )
}
