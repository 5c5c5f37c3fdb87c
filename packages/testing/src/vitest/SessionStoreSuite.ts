/**
 * The laws of session stores, as a suite of Vitest tests.
 *
 * @stability unstable
 */
import type { SessionStore } from "@effect-mcp/session"
import { describe, it } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as SessionStoreLaws from "../laws/SessionStoreLaws.ts"
import type * as StoreLaw from "../laws/StoreLaw.ts"

/** A store may be remote, and a law may have hundreds of operations. */
const timeout = 60_000

/**
 * Tests a session store, with a test for each law.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 * import { SessionStoreSuite } from "@effect-mcp/testing/vitest"
 *
 * SessionStoreSuite.suite("memory", SessionStore.makeMemory())
 * ```
 *
 * @category suites
 */
export const suite = (
  name: string,
  make: Effect.Effect<SessionStore.SessionStore["Service"], unknown, Scope.Scope>,
  options?: StoreLaw.Options
): void => {
  describe(`laws of session stores: ${name}`, () => {
    for (const law of SessionStoreLaws.laws(make, options)) it.live(law.name, () => law.run, timeout)
  })
}
