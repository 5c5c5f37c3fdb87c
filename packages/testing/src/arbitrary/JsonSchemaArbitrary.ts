/**
 * Values that fit a JSON Schema, to be generated and shrunk.
 */
import type { JsonSchemaValidator } from "@effect-mcp/session"
import * as Arbitrary from "effect/Arbitrary"
import * as Data from "effect/Data"
import * as JsonSchema from "effect/JsonSchema"
import * as Result from "effect/Result"
import * as SchemaRepresentation from "effect/SchemaRepresentation"
import { isMembers, type Members } from "../internal/arbitrary/members.ts"

/**
 * The schema has a keyword from which no values can be generated. `path` is the way to it from the top of the schema, the keyword
 * included; `problem` says what is the matter with it. Without a keyword, the schema as a whole is one that no value fits, or none that
 * is ever finished.
 *
 * @example
 * ```ts
 * import { JsonSchemaArbitrary } from "@effect-mcp/testing/arbitrary"
 * import * as Result from "effect/Result"
 *
 * const made = JsonSchemaArbitrary.make({ type: "object", properties: { a: { not: { type: "string" } } } })
 * export const at = Result.isFailure(made) ? [made.failure.keyword, ...made.failure.path] : []
 * // => ["not", "properties", "a", "not"]
 * ```
 *
 * @category errors
 */
export class UnsupportedKeyword extends Data.TaggedError("UnsupportedKeyword")<{
  readonly keyword: string | undefined
  readonly path: ReadonlyArray<string>
  readonly problem: string
}> {
  override get message(): string {
    const { keyword, path, problem } = this
    const place = path.map((step) => `[${JSON.stringify(step)}]`).join("")
    return keyword === undefined
      ? `no values can be generated from the schema: ${problem}`
      : `no values can be generated from the keyword ${JSON.stringify(keyword)} at ${place}: ${problem}`
  }
}

/** Keywords with a schema, with schemas by name, and with schemas in a row; and those that are known and have none. */
const withSchema: ReadonlySet<string> = new Set(["items", "additionalProperties"])
const withNamedSchemas: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"])
const withSchemas: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"])
const withNone: ReadonlySet<string> = new Set([
  "$ref",
  "type",
  "enum",
  "const",
  "required",
  "minProperties",
  "maxProperties",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf"
])

/** What the drafts know and say nothing by about which values fit, `format` included. */
const annotations: ReadonlySet<string> = new Set([
  "$schema",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "format",
  "contentEncoding",
  "contentMediaType",
  "contentSchema"
])

/** What the drafts know and is not generated from. Words that no draft knows say nothing about which values fit. */
const refused: ReadonlySet<string> = new Set([
  "$id",
  "$anchor",
  "$dynamicAnchor",
  "$dynamicRef",
  "$recursiveAnchor",
  "$recursiveRef",
  "$vocabulary",
  "additionalItems",
  "contains",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "else",
  "if",
  "maxContains",
  "minContains",
  "not",
  "patternProperties",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties"
])

const types: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "object", "array", "null"])

type Path = ReadonlyArray<string>

const unsupported = (path: Path, problem: string): UnsupportedKeyword =>
  new UnsupportedKeyword({ keyword: path.at(-1), path, problem })

const isKeyword = (word: string): boolean =>
  [withSchema, withNamedSchemas, withSchemas, withNone, annotations, refused].some((words) => words.has(word))

const isPrimitive = (value: unknown): boolean => typeof value !== "object" || value === null

/** The first of these that is refused, if any is. */
const firstOf = (found: ReadonlyArray<UnsupportedKeyword | undefined>): UnsupportedKeyword | undefined =>
  found.find((one) => one !== undefined)

/** What stands in a keyword. */
const inKeyword = (keyword: string, value: unknown, path: Path): UnsupportedKeyword | undefined => {
  if (refused.has(keyword)) return unsupported(path, "it is none of those that values are generated from")
  if (withSchema.has(keyword)) return inSchema(value, path)
  if (withNamedSchemas.has(keyword) && isMembers(value)) {
    return firstOf(Object.entries(value).map(([name, schema]) => inSchema(schema, [...path, name])))
  }
  if (withSchemas.has(keyword) && Array.isArray(value)) {
    return firstOf(value.map((schema, index) => inSchema(schema, [...path, String(index)])))
  }
  const values: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  if (keyword === "type" && !values.every((type) => types.has(type))) {
    return unsupported(path, `${JSON.stringify(value)} is no type`)
  }
  if ((keyword === "const" && !isPrimitive(value)) || (keyword === "enum" && !values.every(isPrimitive))) {
    return unsupported(path, "its values are not all strings, numbers, booleans or null")
  }
  return undefined
}

const inSchema = (schema: unknown, path: Path): UnsupportedKeyword | undefined =>
  isMembers(schema)
    ? firstOf(Object.entries(schema).map(([keyword, value]) => inKeyword(keyword, value, [...path, keyword])))
    : undefined

/** What Effect says of a schema that it cannot take, and where: `Problem.\n  at ["schema"]["properties"]["a"]["$ref"]`. */
const notImported = (cause: unknown): UnsupportedKeyword => {
  const words = cause instanceof Error ? cause.message : String(cause)
  const [problem = words, place = ""] = words.split(/\n\s*at (?=\[)/)
  const steps = Array.from(
    place.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]/g),
    ([, name, index]) => name ?? index ?? ""
  )
  const path = steps.slice(1)
  // It points at the keyword, or at the schema it stands in and names it.
  const named = Array.from(problem.matchAll(/"([^"]+)"/g), ([, word = ""]) => word).find(isKeyword)
  return unsupported(named === undefined || named === path.at(-1) ? path : [...path, named], problem.trim())
}

/** What Effect says of a schema that no value fits, or none that is ever finished. */
const notGenerated = (cause: unknown): UnsupportedKeyword =>
  new UnsupportedKeyword({
    keyword: undefined,
    path: [],
    problem: cause instanceof Error ? cause.message : String(cause)
  })

/** The value as a peer would have it: objects of the usual kind, and no minus zero. */
const asParsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const isDraft07 = (schema: Members): boolean =>
  typeof schema["$schema"] === "string" && schema["$schema"].includes("draft-07")

/**
 * Makes values that fit a schema of draft 2020-12, or of draft-07 where `$schema` says so. The schema should be a valid one: have a
 * `JsonSchemaValidator` compile it first.
 *
 * Of the keywords that say which values fit, these are understood: `type`, `enum` and `const` of strings, numbers, booleans and null,
 * `properties`, `required`, `additionalProperties`, `minProperties`, `maxProperties`, `items`, `prefixItems`, `minItems`, `maxItems`,
 * `uniqueItems`, `minLength`, `maxLength`, `pattern`, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`,
 * `anyOf`, `oneOf`, `allOf` where its parts can be made one, and `$ref` to `#/$defs/…`. What annotates, as `format` does, is passed
 * over. Where the schema leaves room for further properties, some values have them. A `pattern` is run, so schemas that are
 * not your own should have none.
 *
 * Fails with the first keyword that is not understood. `additionalProperties` with a schema stands alone, not beside `properties`.
 *
 * @example
 * ```ts
 * import { JsonSchemaArbitrary } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const sampled = Effect.gen(function*() {
 *   const levels = yield* Effect.fromResult(JsonSchemaArbitrary.make({ enum: ["low", "high"] }))
 *   const samples = yield* Arbitrary.sampleEffect(levels, { count: 20 })
 *   return samples.every((level) => level === "low" || level === "high")
 * }) // => true
 * ```
 *
 * @category constructors
 */
export const make = (
  schema: JsonSchemaValidator.JsonSchema
): Result.Result<Arbitrary.Arbitrary<unknown>, UnsupportedKeyword> => {
  const found = inSchema(schema, [])
  if (found !== undefined) return Result.fail(found)
  const { $schema: _, ...rest } = schema
  const imported = Result.try({
    try: () =>
      SchemaRepresentation.fromJsonSchemaDocument(
        isDraft07(schema) ? JsonSchema.fromSchemaDraft07(rest) : JsonSchema.fromSchemaDraft2020_12(rest),
        { patterns: "apply" }
      ),
    catch: notImported
  })
  return Result.flatMap(imported, (codec) =>
    Result.try({
      try: () => Arbitrary.map(Arbitrary.schema(codec), asParsed),
      catch: notGenerated
    }))
}
