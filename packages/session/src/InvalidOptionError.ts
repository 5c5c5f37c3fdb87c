/**
 * Options whose value makes no sense, such as a limit of `NaN`. A session, server, store or transport reports them when
 * it is created, and not when the limit is reached.
 *
 * @stability unstable
 */
import * as Data from "effect/Data"

/**
 * The defect of an option with a value that it does not accept.
 *
 * @example
 * ```ts
 * import { InvalidOptionError, Limits } from "@effect-mcp/session"
 *
 * const messageOf = () => {
 *   try {
 *     return Limits.make({ maxIncomingRequests: Number("many") })
 *   } catch (error) {
 *     return error instanceof InvalidOptionError.InvalidOptionError ? error.message : undefined
 *   }
 * }
 *
 * export const message = messageOf()
 * // => "limits.maxIncomingRequests must be a whole number of at least 1, or Infinity, not NaN"
 * ```
 *
 * @category errors
 */
export class InvalidOptionError extends Data.TaggedError("InvalidOptionError")<{
  /** The path of the option, such as `limits.maxIncomingRequests`. */
  readonly option: string
  /** The value of the option. */
  readonly given: unknown
  /** The values that the option accepts, in words. */
  readonly allowed: string
}> {
  override get message(): string {
    const given = typeof this.given === "string" ? JSON.stringify(this.given) : String(this.given)
    return `${this.option} must be ${this.allowed}, not ${given}`
  }
}
