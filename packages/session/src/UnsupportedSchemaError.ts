/**
 * The error of a JSON Schema that a validator cannot compile.
 *
 * @stability unstable
 */
import * as Data from "effect/Data"

/**
 * The kinds of {@link UnsupportedSchemaError}.
 *
 * - `UnknownDialect`: `$schema` names a dialect that the validator does not support (MSG-33).
 * - `UnresolvedReference`: a `$ref` has no target in the schema. Targets outside of the schema are never fetched
 *   (MSG-34, MSG-35).
 * - `TooLarge`: the JSON text of the schema has more `characters` than the `limit` of the validator (MSG-35).
 * - `UnsupportedPattern`: a regular expression has a construct that the validator does not support, such as a
 *   backreference, which cannot be matched in linear time, or the flags `(?i)` of another language.
 * - `Rejected`: the schema is invalid, or uses a feature that the validator does not support. `problem` names it.
 *
 * @category models
 */
export type UnsupportedSchemaErrorReason =
  | { readonly _tag: "UnknownDialect"; readonly dialect: string; readonly supported: ReadonlyArray<string> }
  | { readonly _tag: "UnresolvedReference"; readonly reference: string }
  | { readonly _tag: "TooLarge"; readonly characters: number; readonly limit: number }
  | { readonly _tag: "UnsupportedPattern"; readonly pattern: string; readonly problem: string }
  | { readonly _tag: "Rejected"; readonly problem: string }

/** Cuts a text of the peer to the length that an error shows. */
const excerpt = (text: string): string => text.length > 200 ? `${text.slice(0, 200)}…` : text

const describe = (reason: UnsupportedSchemaErrorReason): string => {
  switch (reason._tag) {
    case "UnknownDialect":
      return `the dialect ${JSON.stringify(excerpt(reason.dialect))} is not one of ${reason.supported.join(", ")}`
    case "UnresolvedReference":
      return `the reference ${
        JSON.stringify(excerpt(reason.reference))
      } has no target in the schema, and none is fetched`
    case "TooLarge":
      return `it has ${reason.characters} characters; the limit of the validator is ${reason.limit}`
    case "UnsupportedPattern":
      return `the pattern ${JSON.stringify(excerpt(reason.pattern))} has ${reason.problem}, which is not supported`
    case "Rejected":
      return reason.problem
  }
}

/**
 * The failure of compiling a JSON Schema. `reason` has its kind; recover from one kind with `Effect.catchReason`.
 *
 * `rest` is the check of the schema without the keywords that the validator does not support, if that is possible. It
 * accepts every value that the schema accepts, and more. A client uses it for output schemas, and reports that with
 * the event `OutputSchemaPartlyChecked`.
 *
 * @example
 * ```ts
 * import { AjvValidator } from "@effect-mcp/json-schema"
 * import * as Result from "effect/Result"
 *
 * const compiled = AjvValidator.make().compile({ $ref: "https://example.com/schema.json" })
 *
 * export const reason = Result.isFailure(compiled) ? compiled.failure.reason : undefined
 * // => { _tag: "UnresolvedReference", reference: "https://example.com/schema.json" }
 * ```
 *
 * @category errors
 */
export class UnsupportedSchemaError extends Data.TaggedError("UnsupportedSchemaError")<{
  readonly reason: UnsupportedSchemaErrorReason
  readonly rest?: (value: unknown) => string | undefined
}> {
  override get message(): string {
    return `unsupported schema: ${describe(this.reason)}`
  }
}

/**
 * Creates an {@link UnsupportedSchemaError} of this kind, with the check of the rest of the schema if there is one.
 *
 * @example
 * ```ts
 * import { type JsonSchemaValidator, UnsupportedSchemaError } from "@effect-mcp/session"
 * import * as Result from "effect/Result"
 *
 * // A validator for programs that trust no schemas: each call of a tool with an output schema fails.
 * export const refusing: JsonSchemaValidator.JsonSchemaValidatorShape = {
 *   compile: () => Result.fail(UnsupportedSchemaError.make({ _tag: "Rejected", problem: "schemas are not trusted" }))
 * }
 * ```
 *
 * @category constructors
 */
export const make = (
  reason: UnsupportedSchemaErrorReason,
  rest?: UnsupportedSchemaError["rest"]
): UnsupportedSchemaError => new UnsupportedSchemaError(rest === undefined ? { reason } : { reason, rest })
