/** JSON Schemas whose root is an object, as tools have them. */
import type { Tool } from "@effect-mcp/protocol"
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

/**
 * Returns the schema of a tool for a document: the root inlined and of type `object`, with the definitions that it
 * uses. Returns `undefined` if it does not describe objects only. A union of objects is an object with `anyOf`.
 */
export const make = (document: Definitions.Document): Tool.ObjectSchema | undefined => {
  const { definitions, schema } = Definitions.merged(document)
  const root = Definitions.resolve(schema, definitions)
  const isEmpty = isEmptyStruct(root)
  if (!isEmpty && !isOfObjects(root, definitions)) return undefined
  const inlined: JsonSchema = isEmpty ? pick(root, true) : root
  const used = Definitions.reachable({ schema: inlined, definitions })
  return {
    type: "object",
    ...inlined,
    ...(Object.keys(used).length === 0 ? undefined : { $defs: used })
  }
}
