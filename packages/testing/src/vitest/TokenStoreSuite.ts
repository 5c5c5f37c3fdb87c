/**
 * The laws of token stores, as a suite of Vitest tests.
 *
 * @stability unstable
 */
import type { TokenStore } from "@effect-mcp/auth"
import { describe, it } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as StoreLaw from "../laws/StoreLaw.ts"
import * as TokenStoreLaws from "../laws/TokenStoreLaws.ts"

/** A store may be remote, and a law may have hundreds of operations. */
const timeout = 60_000

/**
 * Tests a token store, with a test for each law.
 *
 * @example
 * ```ts
 * import { TokenStore } from "@effect-mcp/auth"
 * import { TokenStoreSuite } from "@effect-mcp/testing/vitest"
 *
 * TokenStoreSuite.suite("memory", TokenStore.makeMemory())
 * ```
 *
 * @category suites
 */
export const suite = (
  name: string,
  make: Effect.Effect<TokenStore.TokenStore["Service"], unknown, Scope.Scope>,
  options?: StoreLaw.Options
): void => {
  describe(`laws of token stores: ${name}`, () => {
    for (const law of TokenStoreLaws.laws(make, options)) it.live(law.name, () => law.run, timeout)
  })
}
