/**
 * The failures of an elicitation whose user gave no input. A handler of a tool may fail with them: the tool then
 * returns their message with `isError`.
 *
 * @stability unstable
 */
import * as Data from "effect/Data"

/**
 * The user declined to give the input (ELI-09).
 *
 * @example
 * ```ts
 * import { ElicitationError } from "@effect-mcp/server"
 *
 * export const message = new ElicitationError.ElicitationDeclinedError({ asked: "Delete all notes?" }).message
 * // => "the user declined: Delete all notes?"
 * ```
 *
 * @category errors
 */
export class ElicitationDeclinedError extends Data.TaggedError("ElicitationDeclinedError")<{
  /** The message of the elicitation. */
  readonly asked: string
}> {
  override get message(): string {
    return `the user declined: ${this.asked}`
  }
}

/**
 * The user dismissed the elicitation without a choice (ELI-09).
 *
 * @example
 * ```ts
 * import { ElicitationError } from "@effect-mcp/server"
 *
 * export const message = new ElicitationError.ElicitationCancelledError({ asked: "Delete all notes?" }).message
 * // => "the user dismissed the request: Delete all notes?"
 * ```
 *
 * @category errors
 */
export class ElicitationCancelledError extends Data.TaggedError("ElicitationCancelledError")<{
  /** The message of the elicitation. */
  readonly asked: string
}> {
  override get message(): string {
    return `the user dismissed the request: ${this.asked}`
  }
}

/**
 * The failures of an elicitation without input.
 *
 * @category models
 */
export type ElicitationError = ElicitationDeclinedError | ElicitationCancelledError
