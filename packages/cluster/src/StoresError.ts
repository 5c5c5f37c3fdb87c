/**
 * The error of a bundle of stores that could not be opened.
 *
 * @stability unstable
 */
import * as Data from "effect/Data"

/**
 * The error of stores that could not be opened: the database is not reachable, or its tables do not fit.
 *
 * @example
 * ```ts
 * import type { StoresError } from "@effect-mcp/cluster"
 * import * as Effect from "effect/Effect"
 *
 * export const reported = <A, R>(open: Effect.Effect<A, StoresError.StoresError, R>) =>
 *   Effect.tapError(open, ({ message }) => Effect.logError(message))
 * ```
 *
 * @category errors
 */
export class StoresError extends Data.TaggedError("StoresError")<{
  readonly cause: unknown
}> {
  override get message(): string {
    return this.cause instanceof Error ? this.cause.message : String(this.cause)
  }
}
