/**
 * Why no check could be made of a JSON Schema.
 */
import * as Data from "effect/Data"

/**
 * The kinds of {@link UnsupportedSchema}.
 *
 * - `UnknownDialect`: `$schema` names a dialect that the validator does not have (MSG-33).
 * - `UnresolvedReference`: a `$ref` leads to nothing in the schema. What lies outside of it is never fetched (MSG-34,
 *   MSG-35).
 * - `TooLarge`: as JSON text the schema has more characters than the validator reads (MSG-35).
 * - `UnsupportedPattern`: a regular expression has something that cannot be matched in linear time, such as a
 *   backreference.
 * - `Rejected`: the schema is broken, or asks for something that the validator cannot do; `problem` says what.
 *
 * @category models
 */
export type UnsupportedSchemaReason =
  | { readonly _tag: "UnknownDialect"; readonly dialect: string; readonly supported: ReadonlyArray<string> }
  | { readonly _tag: "UnresolvedReference"; readonly reference: string }
  | { readonly _tag: "TooLarge"; readonly characters: number; readonly limit: number }
  | { readonly _tag: "UnsupportedPattern"; readonly pattern: string; readonly problem: string }
  | { readonly _tag: "Rejected"; readonly problem: string }

/** As much of a foreign text as an error shows. */
const shortened = (text: string): string => text.length > 200 ? `${text.slice(0, 200)}…` : text

const describe = (reason: UnsupportedSchemaReason): string => {
  switch (reason._tag) {
    case "UnknownDialect":
      return `its dialect is ${JSON.stringify(shortened(reason.dialect))}; supported: ${reason.supported.join(", ")}`
    case "UnresolvedReference":
      return `the reference ${JSON.stringify(shortened(reason.reference))} leads nowhere in it, and nothing is fetched`
    case "TooLarge":
      return `it has ${reason.characters} characters, and the limit is ${reason.limit}`
    case "UnsupportedPattern":
      return `the pattern ${JSON.stringify(shortened(reason.pattern))} has ${reason.problem}, which is not supported`
    case "Rejected":
      return reason.problem
  }
}

/**
 * No check could be made of a JSON Schema. `reason` says why; recover from one kind with `Effect.catchReason`.
 *
 * @example
 * ```ts
 * import * as AjvValidator from "@effect-mcp/session/AjvValidator"
 * import * as Result from "effect/Result"
 *
 * const compiled = AjvValidator.make().compile({ $ref: "https://example.com/schema.json" })
 *
 * export const problem = Result.isFailure(compiled) ? compiled.failure.message : undefined
 * // => "unsupported schema: the reference \"https://example.com/schema.json\" leads nowhere in it, and nothing is fetched"
 * ```
 *
 * @category errors
 */
export class UnsupportedSchema extends Data.TaggedError("UnsupportedSchema")<{
  readonly reason: UnsupportedSchemaReason
}> {
  override get message(): string {
    return `unsupported schema: ${describe(this.reason)}`
  }
}

/**
 * An {@link UnsupportedSchema} of this kind.
 *
 * @example
 * ```ts
 * import { type JsonSchemaValidator, UnsupportedSchema } from "@effect-mcp/session"
 * import * as Result from "effect/Result"
 *
 * // Stands in where schemas are not trusted at all.
 * export const refusing: JsonSchemaValidator.JsonSchemaValidatorShape = {
 *   compile: () => Result.fail(UnsupportedSchema.make({ _tag: "Rejected", problem: "schemas are not trusted here" }))
 * }
 * ```
 *
 * @category constructors
 */
export const make = (reason: UnsupportedSchemaReason): UnsupportedSchema => new UnsupportedSchema({ reason })
