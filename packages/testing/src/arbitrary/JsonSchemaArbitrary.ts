/**
 * Generators of values that fit a JSON Schema.
 *
 * @stability unstable
 */
import type { JsonSchemaValidator } from "@effect-mcp/session"
import * as Arbitrary from "effect/Arbitrary"
import * as Data from "effect/Data"
import * as JsonSchema from "effect/JsonSchema"
import * as Result from "effect/Result"
import * as SchemaRepresentation from "effect/SchemaRepresentation"
import { isMembers, type Members } from "../internal/arbitrary/jsonValues.ts"

/**
 * The error of a schema with a keyword that is not supported. `path` leads from the top of the schema to the keyword
 * and includes it; `problem` states the reason. Without a keyword, no value fits the schema, or its values never end.
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
export class UnsupportedKeywordError extends Data.TaggedError("UnsupportedKeywordError")<{
  readonly keyword: string | undefined
  readonly path: ReadonlyArray<string>
  readonly problem: string
}> {
  override get message(): string {
    const { keyword, path, problem } = this
    const place = path.map((step) => `[${JSON.stringify(step)}]`).join("")
    return keyword === undefined
      ? `no values can be generated from the schema: ${problem}`
      : `no values can be generated for the keyword ${JSON.stringify(keyword)} at ${place}: ${problem}`
  }
}

/** Keywords with a schema, with schemas by name, with a list of schemas, and known keywords without a schema. */
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

/** Keywords of the drafts that do not restrict which values fit, `format` included. */
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

/** Keywords of the drafts that are not supported. Names outside of the drafts do not restrict which values fit. */
const unsupportedKeywords: ReadonlySet<string> = new Set([
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

const unsupported = (path: Path, problem: string): UnsupportedKeywordError =>
  new UnsupportedKeywordError({ keyword: path.at(-1), path, problem })

const isKeyword = (word: string): boolean =>
  [withSchema, withNamedSchemas, withSchemas, withNone, annotations, unsupportedKeywords].some((words) =>
    words.has(word)
  )

const isPrimitive = (value: unknown): boolean => typeof value !== "object" || value === null

/** Returns the first error, if there is one. */
const firstOf = (found: ReadonlyArray<UnsupportedKeywordError | undefined>): UnsupportedKeywordError | undefined =>
  found.find((one) => one !== undefined)

/** Checks the value of a keyword. */
const inKeyword = (keyword: string, value: unknown, path: Path): UnsupportedKeywordError | undefined => {
  if (unsupportedKeywords.has(keyword)) return unsupported(path, "the keyword is not supported")
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

const inSchema = (schema: unknown, path: Path): UnsupportedKeywordError | undefined =>
  isMembers(schema)
    ? firstOf(Object.entries(schema).map(([keyword, value]) => inKeyword(keyword, value, [...path, keyword])))
    : undefined

/**
 * Converts Effect's error for a schema that it cannot import. Its text has the place: `Problem.\n  at
 * ["schema"]["properties"]["a"]["$ref"]`.
 */
const notImported = (cause: unknown): UnsupportedKeywordError => {
  const words = cause instanceof Error ? cause.message : String(cause)
  const [problem = words, place = ""] = words.split(/\n\s*at (?=\[)/)
  const steps = Array.from(
    place.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]/g),
    ([, name, index]) => name ?? index ?? ""
  )
  const path = steps.slice(1)
  // The place is the keyword, or the schema that contains the keyword and names it.
  const named = Array.from(problem.matchAll(/"([^"]+)"/g), ([, word = ""]) => word).find(isKeyword)
  return unsupported(named === undefined || named === path.at(-1) ? path : [...path, named], problem.trim())
}

/** Converts Effect's error for a schema that no value fits, or whose values never end. */
const notGenerated = (cause: unknown): UnsupportedKeywordError =>
  new UnsupportedKeywordError({
    keyword: undefined,
    path: [],
    problem: cause instanceof Error ? cause.message : String(cause)
  })

/** Converts a value as if a peer had sent it: ordinary objects, and no minus zero. */
const asParsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const isDraft07 = (schema: Members): boolean =>
  typeof schema["$schema"] === "string" && schema["$schema"].includes("draft-07")

/**
 * Creates a generator of values that fit a schema of draft 2020-12, or of draft-07 if `$schema` names it. The schema
 * should be valid: compile it with a `JsonSchemaValidator` first.
 *
 * These keywords that restrict values are supported: `type`, `enum` and `const` of strings, numbers, booleans and null,
 * `properties`, `required`, `additionalProperties`, `minProperties`, `maxProperties`, `items`, `prefixItems`,
 * `minItems`, `maxItems`, `uniqueItems`, `minLength`, `maxLength`, `pattern`, `minimum`, `maximum`, `exclusiveMinimum`,
 * `exclusiveMaximum`, `multipleOf`, `anyOf`, `oneOf`, `allOf` if its parts can be merged, and `$ref` to `#/$defs/…`.
 * Annotations such as `format` are ignored. If the schema permits further properties, some values have them. A
 * `pattern` is executed, so schemas that are not your own should have none.
 *
 * Fails with the first unsupported keyword. `additionalProperties` with a schema is supported only without
 * `properties`.
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
): Result.Result<Arbitrary.Arbitrary<unknown>, UnsupportedKeywordError> => {
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
