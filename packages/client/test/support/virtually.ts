/** Programs in virtual time. */
import { VirtualRuntime } from "@effect-mcp/testing"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"

/** Runs a program in virtual time, for at most a day. Nothing of it may be left then. */
export const virtually = <A, E>(program: Effect.Effect<A, E, Scope.Scope>): A => {
  const runtime = VirtualRuntime.make({ seed: 1 })
  const fiber = runtime.start(Effect.scoped(program))
  runtime.advance(86_400_000)
  const exit = fiber.pollUnsafe()
  if (exit === undefined) throw new Error("the program does not end")
  if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
  assert.strictEqual(runtime.living(), 0)
  assert.isFalse(runtime.isResumedFromOutside())
  return exit.value
}
