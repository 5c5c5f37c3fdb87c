/**
 * Errors of calls that are typed by definitions, besides the failures that a definition declares.
 *
 * @stability unstable
 */
import type { Tool } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Data from "effect/Data"

/**
 * The error of arguments that do not fit the definition of a member: a check of its schema rejects them, or a URI
 * cannot carry them. Nothing was sent. `member` names the member, such as `the tool "add"`.
 *
 * @example
 * ```ts
 * import { TypedCallError } from "@effect-mcp/client"
 *
 * const error = new TypedCallError.InvalidArgumentsError({
 *   member: "the tool \"add\"",
 *   problem: "not an integer"
 * })
 *
 * export const message = error.message
 * // => "the arguments of the tool \"add\" were not sent; correct what does not fit its definition: not an integer"
 * ```
 *
 * @category errors
 */
export class InvalidArgumentsError extends Data.TaggedError("InvalidArgumentsError")<{
  readonly member: string
  readonly problem: string
}> {
  override get message(): string {
    return `the arguments of ${this.member} were not sent; correct what does not fit its definition: ` +
      Excerpt.text(this.problem)
  }
}

/**
 * The error of a result that does not fit the definition of a member: the server has another definition. A tool has
 * run.
 * `result` is the whole result.
 *
 * @example
 * ```ts
 * import { TypedCallError } from "@effect-mcp/client"
 *
 * const error = new TypedCallError.UnexpectedResultError({
 *   member: "the tool \"add\"",
 *   problem: "Expected number",
 *   result: { content: [] }
 * })
 *
 * export const message = error.message
 * // => "the result of the tool \"add\" does not fit its definition; update it to that of the server: Expected number"
 * ```
 *
 * @category errors
 */
export class UnexpectedResultError extends Data.TaggedError("UnexpectedResultError")<{
  readonly member: string
  readonly problem: string
  readonly result: unknown
}> {
  override get message(): string {
    return `the result of ${this.member} does not fit its definition; update it to that of the server: ` +
      Excerpt.text(this.problem)
  }
}

/** The greatest length of a tool's text in a message. */
const maxText = 1024

/**
 * The error of a tool whose result has `isError`, and no failure that its definition declares. A model is meant to read
 * the `text`.
 *
 * @example
 * ```ts
 * import { TypedCallError } from "@effect-mcp/client"
 *
 * const failed = new TypedCallError.ToolFailedError({
 *   tool: "add",
 *   result: { content: [{ type: "text", text: "the disk is full" }], isError: true }
 * })
 *
 * export const texts = [failed.text, failed.message]
 * // => ["the disk is full", "the tool \"add\" failed: the disk is full"]
 * ```
 *
 * @category errors
 */
export class ToolFailedError extends Data.TaggedError("ToolFailedError")<{
  readonly tool: string
  readonly result: Tool.CallToolResult
}> {
  /** The text of the result. */
  get text(): string {
    return this.result.content.flatMap((block) => block.type === "text" ? [block.text] : []).join("\n")
  }

  override get message(): string {
    return `the tool ${Excerpt.name(this.tool)} failed: ${Excerpt.text(this.text, maxText)}`
  }
}
