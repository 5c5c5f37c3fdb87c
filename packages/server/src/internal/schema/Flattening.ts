/** Simpler JSON Schemas with the same meaning: models read `allOf` badly, and pay for each word. */
import { annotations, isObject, type JsonSchema, mapParts, pick } from "./JsonSchemaKeywords.ts"

/** The keywords that mean the same beside any other keyword. */
const independent: ReadonlySet<string> = new Set([
  ...annotations,
  "type",
  "format",
  "contentEncoding",
  "contentMediaType",
  "pattern",
  "multipleOf",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties"
])

/** Returns a schema joined with a member of its `allOf`, or `undefined` if that could change its meaning. */
const joined = (schema: JsonSchema, member: JsonSchema): JsonSchema | undefined => {
  const keywords = Object.keys(member)
  if (keywords.every((keyword) => annotations.has(keyword))) return { ...schema, ...member }
  // Older drafts ignore what is beside a reference.
  if ("$ref" in schema) return undefined
  const isReference = keywords.length === 1 && "$ref" in member
  if (isReference) {
    return Object.keys(schema).every((keyword) => annotations.has(keyword))
      ? { ...member, ...schema }
      : undefined
  }
  return keywords.every((keyword) =>
      independent.has(keyword) &&
      (annotations.has(keyword) || !(keyword in schema) || schema[keyword] === member[keyword])
    )
    ? { ...schema, ...member }
    : undefined
}

/** Joins the members of `allOf` with the schema where that is possible. What is said last documents it. */
const withoutAllOf = (schema: JsonSchema): JsonSchema => {
  const { allOf, ...own } = schema
  if (!Array.isArray(allOf)) return schema
  const rest: Array<unknown> = []
  let joint: JsonSchema = own
  for (const member of allOf) {
    const next = isObject(member) ? joined(joint, member) : undefined
    if (next === undefined) rest.push(member)
    else joint = next
  }
  return rest.length === 0 ? joint : { ...joint, allOf: rest }
}

/**
 * Moves the documentation of the only alternative to null to the schema, where clients look for it. `optional` and
 * `NullOr` of a documented schema have such alternatives.
 */
const withDocumentation = (schema: JsonSchema): JsonSchema => {
  const { anyOf } = schema
  if (!Array.isArray(anyOf)) return schema
  const [only, ...others] = anyOf.filter((member) => !isObject(member) || member["type"] !== "null")
  if (!isObject(only) || others.length > 0) return schema
  const members = anyOf.map((member) => member === only ? pick(only, false) : member)
  return { ...schema, anyOf: members, ...pick(only, true), ...pick(schema, true) }
}

/** Removes `additionalProperties: true`, which is what its absence means. */
const withoutDefaults = (schema: JsonSchema): JsonSchema => {
  const { additionalProperties, ...rest } = schema
  return additionalProperties === true ? rest : schema
}

/** Returns the schema with all of its parts flattened. */
export const flatten = (schema: JsonSchema): JsonSchema =>
  withoutDefaults(withoutAllOf(withDocumentation(mapParts(schema, flatten))))
