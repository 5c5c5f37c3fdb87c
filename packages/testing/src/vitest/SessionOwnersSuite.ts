/**
 * The laws of stores of session owners, as a suite of Vitest tests.
 *
 * @stability unstable
 */
import type { SessionOwners } from "@effect-mcp/session"
import { describe, it } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as SessionOwnersLaws from "../laws/SessionOwnersLaws.ts"

/** A store may be remote, and a law waits for leases. */
const timeout = 60_000

/**
 * Tests a store of session owners, with a test for each law.
 *
 * @example
 * ```ts
 * import { SessionOwners } from "@effect-mcp/session"
 * import { SessionOwnersSuite } from "@effect-mcp/testing/vitest"
 *
 * SessionOwnersSuite.suite("memory", SessionOwners.makeStoreInMemory)
 * ```
 *
 * @category suites
 */
export const suite = (
  name: string,
  make: Effect.Effect<SessionOwners.OwnerStore, unknown, Scope.Scope>
): void => {
  describe(`laws of session owners: ${name}`, () => {
    for (const law of SessionOwnersLaws.laws(make)) it.live(law.name, () => law.run, timeout)
  })
}
