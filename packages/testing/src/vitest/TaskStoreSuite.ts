/**
 * The laws of task stores, as a suite of Vitest tests.
 *
 * @stability unstable
 */
import type { TaskStore } from "@effect-mcp/tasks"
import { describe, it } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as StoreLaw from "../laws/StoreLaw.ts"
import * as TaskStoreLaws from "../laws/TaskStoreLaws.ts"

/** A store may be remote, and a law may have hundreds of operations. */
const timeout = 60_000

/**
 * Tests a task store, with a test for each law.
 *
 * @example
 * ```ts
 * import { TaskStore } from "@effect-mcp/tasks"
 * import { TaskStoreSuite } from "@effect-mcp/testing/vitest"
 *
 * TaskStoreSuite.suite("memory", TaskStore.makeMemory())
 * ```
 *
 * @category suites
 */
export const suite = (
  name: string,
  make: Effect.Effect<TaskStore.TaskStore["Service"], unknown, Scope.Scope>,
  options?: StoreLaw.Options
): void => {
  describe(`laws of task stores: ${name}`, () => {
    for (const law of TaskStoreLaws.laws(make, options)) it.live(law.name, () => law.run, timeout)
  })
}
