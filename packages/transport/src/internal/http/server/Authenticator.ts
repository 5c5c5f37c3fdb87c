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
import {
  type Authentication,
  Forbidden,
  type Identity,
  InvalidRequest,
  type Rejection,
  Unauthenticated,
  Unavailable
} from "../../../Authentication.ts"
import { DeferredUses } from "../../shared/DeferredUses.ts"
import { LimitedLog } from "../../shared/LimitedLog.ts"
import * as Challenges from "./Challenges.ts"
import * as HttpResponses from "./HttpResponses.ts"

/** The principal of a request, `undefined` for an anonymous one; fails with the response that rejects it. */
type Identified = Effect.Effect<Principal.Principal | undefined, HttpServerResponse>

/** A request that this process may leave to another one. */
export interface Deferring {
  readonly identified: Identified
  /** Whether something is left of the identified request that is valid once (`Authentication.useOnce`). */
  readonly hasUse: () => boolean
  /** Uses it up: this process carries the request out, or rejects it. Only the first run has an effect. */
  readonly use: Effect.Effect<void, HttpServerResponse>
}

/** Identifies the senders of the requests to one server. */
export interface Authenticator {
  /** Identifies the sender of a request that this process carries out. */
  readonly identify: (request: HttpServerRequest) => Identified
  /** Identifies the sender of a request that this process may leave to another one. */
  readonly defer: (request: HttpServerRequest) => Deferring
}

const challenge = (value: string | undefined): HttpResponses.Headers =>
  value === undefined ? {} : { "www-authenticate": value }

const isRejection = (error: unknown): error is Rejection =>
  error instanceof Unauthenticated || error instanceof Unavailable || error instanceof InvalidRequest ||
  error instanceof Forbidden

/** Runs the steps that were kept (`Authentication.useOnce`). */
const useAll = (uses: ReadonlyArray<Effect.Effect<void, unknown>>): Effect.Effect<void, Rejection> =>
  Effect.catch(
    Effect.all(uses, { discard: true }),
    (error) => isRejection(error) ? Effect.fail(error) : Effect.die(error)
  )

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

  const within = <A, B>(
    call: () => Effect.Effect<A, Rejection>,
    onSuccess: (value: A) => Exit.Exit<B, HttpServerResponse>
  ): Effect.Effect<B, HttpServerResponse> =>
    Effect.matchCauseEffectEager(ForeignCall.within("Authentication.identify", timeoutMillis, call), {
      onFailure: rejected,
      onSuccess
    })

  return {
    identify: (request) => within(() => authentication.identify(request), (identity) => accepted(identity, request)),
    defer: (request) => {
      const uses: Array<Effect.Effect<void, unknown>> = []
      const identify = () => {
        const made = authentication.identify(request)
        return Exit.isExit(made) ? made : Effect.provideService(made, DeferredUses, { add: (use) => uses.push(use) })
      }
      return {
        identified: within(identify, (identity) => accepted(identity, request)),
        hasUse: () => uses.length > 0,
        use: Effect.suspend(() => {
          const left = uses.splice(0)
          return left.length === 0 ? Exit.void : within(() => useAll(left), () => Exit.void)
        })
      }
    }
  }
}
