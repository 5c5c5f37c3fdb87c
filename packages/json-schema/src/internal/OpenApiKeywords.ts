/** Keywords of OpenAPI that are not keywords of JSON Schema, in schemas for Ajv. */

/** The keywords whose value has a schema for each name. */
const tables: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependencies",
  "dependentSchemas",
  "$defs",
  "definitions"
])

/** The keywords whose value is data. It can have a member with the name of a keyword. */
const data: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"])

/**
 * Removes the keywords of OpenAPI that make Ajv reject a schema, from a schema and from all schemas in it. `nullable`
 * remains if it has a meaning: it is `true`, and a `type` is beside it. An `example` is removed, because Ajv reads the
 * ids in it as ids of schemas. Changes the given schema.
 */
export const remove = (schema: unknown): void => {
  if (typeof schema !== "object" || schema === null) return
  if (Array.isArray(schema)) return schema.forEach(remove)
  const { nullable, type }: { readonly nullable?: unknown; readonly type?: unknown } = schema
  // An object here belongs to an unknown keyword with a table of schemas, to which a reference can lead.
  if (typeof nullable !== "object" && (nullable !== true || type === undefined)) {
    Reflect.deleteProperty(schema, "nullable")
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "example") Reflect.deleteProperty(schema, keyword)
    else if (tables.has(keyword)) Object.values(Object(value)).forEach(remove)
    else if (!data.has(keyword)) remove(value)
  }
}
