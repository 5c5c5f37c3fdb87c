/** The wait for a person, whose effects are those of an authorization that the program may supply. */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { AuthorizationRequired, TransportError, TransportErrorReason } from "../../TransportError.ts"
import * as ForeignCall from "../engine/ForeignCall.ts"

type Required = AuthorizationRequired

/** Makes the error of a reason. A parameter, because a program over stdio loads no errors before it needs them. */
export type Make = (reason: TransportErrorReason) => TransportError

const authorized = ({ authorized, target }: Required, make: Make): Required["authorized"] =>
  Effect.flatMap(Effect.exit(ForeignCall.detachable(authorized)), (exit) => {
    if (Exit.isSuccess(exit)) return exit
    const problem = "the authorization has ended without a result"
    return Effect.fail(Option.getOrElse(
      Cause.findErrorOption(exit.cause),
      () => make({ _tag: "AuthorizationFailed", target, problem, cause: Cause.squash(exit.cause) })
    ))
  })

const changed = (effect: NonNullable<Required["changed"]>, make: Make): NonNullable<Required["changed"]> =>
  Effect.flatMap(
    Effect.exit(ForeignCall.detachable(effect)),
    // Without news, the person can act nevertheless.
    (exit) => Exit.isSuccess(exit) ? Effect.succeed(of(exit.value, make)) : Effect.never
  )

/**
 * Returns the same state, for callers with deadlines and ends of their own: their interruption does not wait for its
 * effects. If `authorized` dies, it fails, and if `changed` does, the state changes no more.
 */
export const of = (required: Required, make: Make): Required => ({
  ...required,
  authorized: authorized(required, make),
  ...(required.changed === undefined ? undefined : { changed: changed(required.changed, make) })
})
