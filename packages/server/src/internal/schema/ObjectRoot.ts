/** The roots of JSON Schemas, as tools have them. */
import * as Definitions from "./Definitions.ts"
import { isObject, type JsonSchema, pick } from "./JsonSchemaKeywords.ts"

/** Returns whether a schema is of all values but null, which is what Effect says of an empty struct. */
const isEmptyStruct = (schema: JsonSchema): boolean =>
  JSON.stringify(pick(schema, false)) === JSON.stringify({ not: { type: "null" } })

/** Returns whether a schema accepts only objects. */
const isOfObjects = (
  schema: JsonSchema,
  definitions: Definitions.Definitions,
  visiting: ReadonlySet<string> = new Set()
): boolean => {
  const name = Definitions.referenceOf(schema)
  // A union that is a member of itself adds no value.
  if (name !== undefined && visiting.has(name)) return true
  const { allOf, anyOf, oneOf, type } = Definitions.resolve(schema, definitions)
  if (type !== undefined) return type === "object"
  const inside = name === undefined ? visiting : new Set([...visiting, name])
  const isObjectPart = (part: unknown): boolean => isObject(part) && isOfObjects(part, definitions, inside)
  return [anyOf, oneOf].some((members) =>
    Array.isArray(members) && members.length > 0 && members.every(isObjectPart)
  ) ||
    (Array.isArray(allOf) && allOf.some(isObjectPart))
}

/** The schema of a tool. */
export interface Root {
  /** The schema. If `isObject` holds, its root has the type `object`. */
  readonly jsonSchema: JsonSchema
  /** Whether the schema accepts only objects. */
  readonly isObject: boolean
}

/**
 * Returns the schema of a tool for a document: the root inlined, with the definitions that it uses. If it describes
 * objects only, the root is of type `object`. A union of objects is an object with `anyOf`.
 */
export const make = (document: Definitions.Document): Root => {
  const { definitions, schema } = Definitions.merged(document)
  const root = Definitions.resolve(schema, definitions)
  const isEmpty = isEmptyStruct(root)
  const isObject = isEmpty || isOfObjects(root, definitions)
  const inlined: JsonSchema = isEmpty ? pick(root, true) : root
  const used = Definitions.reachable({ schema: inlined, definitions })
  const jsonSchema = {
    ...(isObject ? { type: "object" } : undefined),
    ...inlined,
    ...(Object.keys(used).length === 0 ? undefined : { $defs: used })
  }
  return { jsonSchema, isObject }
}
