/** The wait for a person, whose effects are those of an authorization that the program may supply. */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as TransportError from "../../TransportError.ts"
import * as ForeignCall from "../engine/ForeignCall.ts"

type Required = TransportError.AuthorizationRequired

const authorized = ({ authorized, target }: Required): Required["authorized"] =>
  Effect.flatMap(Effect.exit(ForeignCall.detachable(authorized)), (exit) => {
    if (Exit.isSuccess(exit)) return exit
    const problem = "the authorization has ended without a result"
    return Effect.fail(Option.getOrElse(
      Cause.findErrorOption(exit.cause),
      () => TransportError.make({ _tag: "AuthorizationFailed", target, problem, cause: Cause.squash(exit.cause) })
    ))
  })

const changed = (effect: NonNullable<Required["changed"]>): NonNullable<Required["changed"]> =>
  Effect.flatMap(
    Effect.exit(ForeignCall.detachable(effect)),
    // Without news, the person can act nevertheless.
    (exit) => Exit.isSuccess(exit) ? Effect.succeed(of(exit.value)) : Effect.never
  )

/**
 * Returns the same state, for callers with deadlines and ends of their own: their interruption does not wait for its
 * effects. If `authorized` dies, it fails, and if `changed` does, the state changes no more.
 */
export const of = (required: Required): Required => ({
  ...required,
  authorized: authorized(required),
  ...(required.changed === undefined ? undefined : { changed: changed(required.changed) })
})
