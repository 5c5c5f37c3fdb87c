/**
 * The laws of change buses, as a suite of Vitest tests.
 *
 * @stability unstable
 */
import { describe, it } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as ChangeBusLaws from "../laws/ChangeBusLaws.ts"

/** A bus may need seconds to connect again. */
const timeout = 60_000

/**
 * Tests the buses of a channel, with a test for each law.
 *
 * @example
 * ```ts
 * import { ChangeBus } from "@effect-mcp/session"
 * import { ChangeBusSuite } from "@effect-mcp/testing/vitest"
 * import * as Effect from "effect/Effect"
 *
 * ChangeBusSuite.suite(
 *   "memory",
 *   Effect.map(ChangeBus.makeMemory, ({ connection, interrupt }) => ({ bus: ChangeBus.make(connection), interrupt }))
 * )
 * ```
 *
 * @category suites
 */
export const suite = (
  name: string,
  make: Effect.Effect<ChangeBusLaws.Channel, unknown, Scope.Scope>,
  options?: ChangeBusLaws.Options
): void => {
  describe(`laws of change buses: ${name}`, () => {
    for (const law of ChangeBusLaws.laws(make, options)) it.live(law.name, () => law.run, timeout)
  })
}
