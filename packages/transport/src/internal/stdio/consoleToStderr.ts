/**
 * The redirection of `console` to standard error, so that only messages go to standard output (STD-03).
 *
 * Effect's default logger and its `Console` follow.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** The number of redirections. The last one to end restores what the first one found. */
let redirections = 0
let found: PropertyDescriptor | undefined

/**
 * The member of a Node console with its output stream. Every method looks it up when it is called, so earlier
 * references to `console.log`, wrapped methods and open groups keep working.
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

/** Redirects until the scope closes. */
export const scoped: Effect.Effect<void, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(redirect),
  () => Effect.sync(restore)
)

/** Redirects until the process ends. */
export const forGood: () => void = redirect
