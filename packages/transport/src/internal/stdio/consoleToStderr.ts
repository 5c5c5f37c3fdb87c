/**
 * Keeps what is not protocol off standard output (STD-03): while it is redirected, everything that `console` would write
 * there goes to standard error, and with it Effect's default logger and its `Console`.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** How many have asked for it; the last to leave restores what the first found. */
let redirections = 0
let found: PropertyDescriptor | undefined

/**
 * Where a console of Node writes. Every method looks it up when it is called, so that references to `console.log` taken
 * earlier, wrapped methods and open groups stay what they are.
 */
const output = "_stdout"

const redirect = (): void => {
  redirections++
  if (redirections > 1) return
  found = Object.getOwnPropertyDescriptor(globalThis.console, output)
  Object.defineProperty(globalThis.console, output, { configurable: true, get: () => process.stderr })
}

const restore = (): void => {
  redirections--
  if (redirections > 0) return
  Reflect.deleteProperty(globalThis.console, output)
  if (found !== undefined) Object.defineProperty(globalThis.console, output, found)
}

/** Until the scope closes. */
export const scoped: Effect.Effect<void, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(redirect),
  () => Effect.sync(restore)
)

/** Until the process ends. */
export const forGood: () => void = redirect
