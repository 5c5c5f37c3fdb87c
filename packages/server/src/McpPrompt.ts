/**
 * The definitions of prompts: their names and arguments, without handlers. A group lists them, and its Layer has their
 * handlers.
 *
 * @stability unstable
 */
import type { Implementation, Meta } from "@effect-mcp/protocol"
import type * as Schema from "effect/Schema"
import { trust } from "./internal/trust.ts"

/**
 * Identifies definitions of prompts.
 *
 * @category constants
 */
export const PromptTypeId = "~effect-mcp/server/McpPrompt"

/**
 * The fields of a prompt in `prompts/list`.
 *
 * @category models
 */
export interface PromptDescription {
  /** The name that users read. */
  readonly title?: string
  readonly description?: string
  readonly icons?: ReadonlyArray<Implementation.Icon>
  /** Metadata of the prompt in `prompts/list`. */
  readonly meta?: Meta.Meta
}

/**
 * The definition of a prompt. Its arguments arrive as strings, and are decoded by their schemas (PRM-03).
 *
 * @category models
 */
export interface McpPrompt<out Name extends string, out Arguments extends Schema.Struct.Fields = {}> {
  readonly [PromptTypeId]: typeof PromptTypeId
  readonly name: Name
  readonly arguments: Arguments
  readonly description: PromptDescription
  /** The scopes that a principal needs to use the prompt, beside those of its group. */
  readonly scopes?: ReadonlyArray<string> | undefined
}

/**
 * The definition of any prompt.
 *
 * @category models
 */
export interface AnyPrompt extends McpPrompt<string, Schema.Struct.Fields> {}

/**
 * A type that arguments satisfy whose encoded side is a string.
 *
 * @category models
 */
export type FromStrings<Arguments extends Schema.Struct.Fields> = {
  readonly [Name in keyof Arguments]: Arguments[Name]["Encoded"] extends string | undefined ? unknown
    : "an argument of a prompt arrives as a string; use a schema whose encoded side is a string"
}

/**
 * Options for the definition of a prompt.
 *
 * @category models
 */
export interface Options<Arguments extends Schema.Struct.Fields> extends PromptDescription {
  /**
   * The schemas of the arguments, from strings. A field with `Schema.optionalKey` is an optional argument. The literals
   * of `Schema.Literals` are completed without a completer. The annotation `description` is sent to clients.
   */
  readonly arguments?: Arguments & FromStrings<Arguments>
  /**
   * The scopes that a principal needs to use the prompt, beside those of its group, as `McpTool.Scopes` of a tool.
   * Default: none.
   */
  readonly scopes?: ReadonlyArray<string>
}

/**
 * Defines a prompt.
 *
 * @example
 * ```ts
 * import { McpPrompt } from "@effect-mcp/server"
 * import * as Schema from "effect/Schema"
 *
 * export const Summarize = McpPrompt.make("summarize", {
 *   description: "Summarizes the tasks",
 *   arguments: {
 *     style: Schema.Literals(["haiku", "table"]),
 *     limit: Schema.optionalKey(Schema.FiniteFromString)
 *   }
 * })
 *
 * export const names = Object.keys(Summarize.arguments) // => ["style", "limit"]
 * ```
 *
 * @category constructors
 */
export const make = <const Name extends string, const Arguments extends Schema.Struct.Fields = {}>(
  name: Name,
  options: Options<Arguments> = {}
): McpPrompt<Name, Arguments> => {
  const { arguments: fields, scopes, ...description } = options
  // Without `arguments`, the type parameter has its default: no fields.
  return { [PromptTypeId]: PromptTypeId, name, arguments: fields ?? trust<Arguments>({}), description, scopes }
}
