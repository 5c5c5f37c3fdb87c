/** The check that a client leaves nothing: no fiber, socket, pipe or child process. */
import { FiberCount } from "@effect-mcp/testing"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"

const kinds: ReadonlySet<string> = new Set(["ProcessWrap", "PipeWrap", "TCPSocketWrap", "TCPServerWrap"])

const open = (): ReadonlyArray<string> => process.getActiveResourcesInfo().filter((kind) => kinds.has(kind)).toSorted()

/** Waits for a while until as many resources are open as before, because the platform closes them later. */
const settled = (before: ReadonlyArray<string>, attempts = 200): Effect.Effect<ReadonlyArray<string>> =>
  Effect.suspend(() =>
    attempts === 0 || open().join() === before.join()
      ? Effect.succeed(open())
      : Effect.andThen(Effect.sleep(10), settled(before, attempts - 1))
  )

/** Runs a program in a scope, without its warnings, and fails if something of it is left when the scope has closed. */
export const leavingNothing = <A, E, R>(
  program: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Scope.Scope>> =>
  Effect.gen(function*() {
    const before = open()
    const fibers = FiberCount.make()
    const result = yield* Effect.scoped(fibers.count(program))
    assert.strictEqual(fibers.living(), 0)
    assert.deepStrictEqual(yield* settled(before), before)
    return result
  }).pipe(Effect.provideService(References.MinimumLogLevel, "Error"))
