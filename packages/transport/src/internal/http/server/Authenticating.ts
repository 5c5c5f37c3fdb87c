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

/** Finds the principal of a request, `undefined` for an anonymous one; or fails with the response that rejects it. */
export type Authenticate = (request: HttpServerRequest) => Effect.Effect<Principal | undefined, HttpServerResponse>

const principalOf = (identity: Identity): Principal | undefined => identity === "anonymous" ? undefined : identity

const challenged = ({ challenge }: Unauthenticated): HttpServerResponse =>
  HttpResponses.refusal(401, "Authentication is required", { headers: { "www-authenticate": challenge } })

const failed = HttpResponses.refusal(500, "Authentication failed", { code: ErrorCode.InternalError })

/**
 * Calls `identify` for each request. What does not come to an identity in time, for whatever reason, accepts nothing.
 */
export const make = (
  authentication: Authentication["Service"],
  withinMillis: number,
  clock: Clock.Clock
): Authenticate => {
  const log = new LimitedLog(clock)
  const late = HttpResponses.unavailable(`Authentication timed out after ${withinMillis} ms`)

  const rejected = (
    cause: Cause.Cause<ForeignCall.TimedOut | Unauthenticated>
  ): Effect.Effect<never, HttpServerResponse> => {
    const error = Cause.findErrorOption(cause)
    if (error._tag === "Some" && error.value instanceof Unauthenticated) return Effect.fail(challenged(error.value))
    return error._tag === "Some"
      ? Effect.andThen(log.warn(`${error.value.message}; the request is answered with 503`, cause), Effect.fail(late))
      : Effect.andThen(
        log.warn("Authentication.identify died; the request is answered with 500", cause),
        Effect.fail(failed)
      )
  }

  return (request) =>
    Effect.matchCauseEffectEager(
      ForeignCall.within("Authentication.identify", withinMillis, () => authentication.identify(request)),
      { onFailure: rejected, onSuccess: (identity) => Exit.succeed(principalOf(identity)) }
    )
}
