/**
 * The laws of event stores, as a suite of Vitest tests.
 *
 * @stability unstable
 */
import type { EventStore } from "@effect-mcp/session"
import { describe, it } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as EventStoreLaws from "../laws/EventStoreLaws.ts"
import type * as StoreLaw from "../laws/StoreLaw.ts"

/** A store may be remote, and a law may have hundreds of operations. */
const timeout = 60_000

/**
 * Tests an event store, with a test for each law.
 *
 * @example
 * ```ts
 * import { EventStore } from "@effect-mcp/session"
 * import { EventStoreSuite } from "@effect-mcp/testing/vitest"
 *
 * EventStoreSuite.suite("memory", EventStore.makeMemory())
 * ```
 *
 * @category suites
 */
export const suite = (
  name: string,
  make: Effect.Effect<EventStore.EventStore["Service"], unknown, Scope.Scope>,
  options?: StoreLaw.Options
): void => {
  describe(`laws of event stores: ${name}`, () => {
    for (const law of EventStoreLaws.laws(make, options)) it.live(law.name, () => law.run, timeout)
  })
}
