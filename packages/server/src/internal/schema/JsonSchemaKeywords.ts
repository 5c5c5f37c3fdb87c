/** The keywords of JSON Schema: which have schemas, and which only annotate. */

/** A JSON Schema that is an object. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** Returns whether a value is an object that is no array. */
export const isObject = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const withSchema: ReadonlySet<string> = new Set([
  "additionalProperties",
  "items",
  "not",
  "propertyNames",
  "contains",
  "contentSchema"
])
const withSchemas: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])
const withNamedSchemas: ReadonlySet<string> = new Set(["properties", "patternProperties"])

/** The keywords that restrict no value. */
export const annotations: ReadonlySet<string> = new Set([
  "title",
  "description",
  "default",
  "examples",
  "readOnly",
  "writeOnly"
])

/** Returns the schema with each direct part replaced. Values in `enum`, `default` and `examples` are no parts. */
export const mapParts = (schema: JsonSchema, change: (part: JsonSchema) => JsonSchema): JsonSchema => {
  const changed = (part: unknown): unknown => isObject(part) ? change(part) : part
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]): [string, unknown] => {
      if (withSchema.has(keyword)) return [keyword, changed(value)]
      if (withSchemas.has(keyword) && Array.isArray(value)) return [keyword, value.map(changed)]
      if (withNamedSchemas.has(keyword) && isObject(value)) {
        return [keyword, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, changed(part)]))]
      }
      return [keyword, value]
    })
  )
}

/** Returns the keywords of a schema that only annotate, or the others. */
export const pick = (schema: JsonSchema, isAnnotation: boolean): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => annotations.has(keyword) === isAnnotation))
