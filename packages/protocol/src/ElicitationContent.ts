/**
 * The content that a user entered into a form, and its validation (ELI-07).
 *
 * @stability unstable
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ElicitationSchema, Field, MultiSelectField, NumberField, StringField } from "./ElicitationSchema.ts"
import * as Excerpt from "./internal/text/Excerpt.ts"
import * as TextFormat from "./internal/TextFormat.ts"

/**
 * The values of a form by the names of its fields.
 *
 * @category models
 */
export interface ElicitationContent {
  readonly [name: string]: string | number | boolean | ReadonlyArray<string>
}

/**
 * The schema of {@link ElicitationContent}. It checks the types of the values, not the form that they belong to.
 *
 * @category schemas
 */
export const ElicitationContent: Schema.Codec<ElicitationContent> = Schema.Record(
  Schema.String,
  Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Array(Schema.String)])
)

/** The problem of a value, or `undefined`. */
type Problem = string | undefined

/** The most characters of a problem's list of choices. A form may have tens of thousands of them. */
const longestList = 512

const oneOf = (values: ReadonlyArray<string>): string => {
  let list = ""
  for (const value of values) {
    if (list.length > longestList) return `${list}, … (${values.length} choices)`
    list += list === "" ? Excerpt.name(value) : `, ${Excerpt.name(value)}`
  }
  return list
}

const text = ({ format, maxLength, minLength }: StringField, value: string): Problem => {
  // JSON Schema counts characters, not UTF-16 units.
  const length = minLength === undefined && maxLength === undefined ? 0 : Array.from(value).length
  if (minLength !== undefined && length < minLength) return `is shorter than ${minLength} characters`
  if (maxLength !== undefined && length > maxLength) return `is longer than ${maxLength} characters`
  return format === undefined ? undefined : TextFormat.problemOf(format, value)
}

const number = ({ maximum, minimum, type }: NumberField, value: number): Problem => {
  if (type === "integer" && !Number.isInteger(value)) return "is not a whole number"
  if (minimum !== undefined && value < minimum) return `is less than ${minimum}`
  return maximum !== undefined && value > maximum ? `is more than ${maximum}` : undefined
}

/** The choices of fields. An answer is checked several times on its way to the server. */
const choicesOf = new WeakMap<MultiSelectField["items"], ReadonlySet<string>>()

const offeredBy = (items: MultiSelectField["items"]): ReadonlySet<string> => {
  const known = choicesOf.get(items)
  if (known !== undefined) return known
  // Not `includes`: the server chooses the number of choices, and 48,000 of them would take 6 seconds.
  const offered = new Set("anyOf" in items ? items.anyOf.map((value) => value.const) : items.enum)
  choicesOf.set(items, offered)
  return offered
}

const choices = ({ items, maxItems, minItems }: MultiSelectField, values: ReadonlyArray<string>): Problem => {
  const offered = offeredBy(items)
  if (values.some((value) => !offered.has(value))) return `has a choice that is not one of ${oneOf([...offered])}`
  if (minItems !== undefined && values.length < minItems) return `has fewer than ${minItems} choices`
  return maxItems !== undefined && values.length > maxItems ? `has more than ${maxItems} choices` : undefined
}

const validateField = (field: Field, value: ElicitationContent[string]): Problem => {
  switch (field.type) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "is not a boolean"
    case "number":
    case "integer":
      return typeof value === "number" ? number(field, value) : "is not a number"
    case "array":
      return typeof value === "object" ? choices(field, value) : "is not a list of strings"
    case "string": {
      if (typeof value !== "string") return "is not a string"
      if (!("enum" in field) && !("oneOf" in field)) return text(field, value)
      const offered = "enum" in field ? field.enum : field.oneOf.map((one) => one.const)
      return offered.includes(value) ? undefined : `is not one of ${oneOf(offered)}`
    }
  }
}

/**
 * Checks content against the schema of its form. Every required field must be present, and every value must match its
 * field, its format included. Fields that the form does not have are accepted. Fails with the first problem, which has
 * words of the form only, and none of the user.
 *
 * @example
 * ```ts
 * import { type ElicitationSchema, ElicitationContent } from "@effect-mcp/protocol"
 * import * as Result from "effect/Result"
 *
 * const form: ElicitationSchema.ElicitationSchema = {
 *   type: "object",
 *   properties: { age: { type: "integer", minimum: 18 } },
 *   required: ["age"]
 * }
 *
 * export const problem = Result.merge(ElicitationContent.check(form, { age: 17 })) // => "\"age\" is less than 18"
 * ```
 *
 * @category guards
 */
export const check = (
  { properties, required = [] }: ElicitationSchema,
  content: ElicitationContent
): Result.Result<void, string> => {
  const missing = required.find((name) => !Object.hasOwn(content, name))
  if (missing !== undefined) return Result.fail(`${JSON.stringify(missing)} is missing`)
  for (const [name, value] of Object.entries(content)) {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined
    const problem = field === undefined ? undefined : validateField(field, value)
    if (problem !== undefined) return Result.fail(`${JSON.stringify(name)} ${problem}`)
  }
  return Result.void
}

/**
 * Returns the content with the default of each field that is absent (ELI-08), for a client whose user accepts a form
 * unchanged.
 *
 * @example
 * ```ts
 * import { type ElicitationSchema, ElicitationContent } from "@effect-mcp/protocol"
 *
 * const form: ElicitationSchema.ElicitationSchema = {
 *   type: "object",
 *   properties: {
 *     guests: { type: "integer", default: 2 },
 *     name: { type: "string" },
 *     vegetarian: { type: "boolean", default: false }
 *   }
 * }
 *
 * export const booking = ElicitationContent.withDefaults(form, { guests: 5 }) // => { guests: 5, vegetarian: false }
 * ```
 *
 * @category constructors
 */
export const withDefaults = (
  { properties }: ElicitationSchema,
  content: ElicitationContent = {}
): ElicitationContent => ({
  ...Object.fromEntries(
    Object.entries(properties).flatMap(([name, field]) => field.default === undefined ? [] : [[name, field.default]])
  ),
  ...content
})
