/** The definitions of a JSON Schema: which are equal, and which are used. */
import { isObject, type JsonSchema, mapParts, pick } from "./JsonSchemaKeywords.ts"

/** The definitions of a schema by name. */
export interface Definitions {
  readonly [name: string]: JsonSchema
}

const prefix = "#/$defs/"

/** Returns a name that needs no escape in a reference, whatever the identifier of the schema is. */
export const nameOf = (identifier: string): string => {
  const name = identifier.replaceAll(/[^A-Za-z0-9._-]+/g, "_")
  // An object has a member `__proto__` of its own.
  return name === "" || name === "__proto__" ? "Schema" : name
}

/** Returns the name of the definition that a schema refers to. */
export const referenceOf = ({ $ref }: JsonSchema): string | undefined =>
  typeof $ref === "string" && $ref.startsWith(prefix) ? $ref.slice(prefix.length) : undefined

/** Follows references to a schema that is none. What is beside a reference documents the result. */
export const resolve = (schema: JsonSchema, definitions: Definitions): JsonSchema => {
  const seen = new Set<string>()
  let found = schema
  for (let name = referenceOf(found); name !== undefined && !seen.has(name); name = referenceOf(found)) {
    seen.add(name)
    const { $ref: _, ...beside } = found
    found = { ...definitions[name], ...beside }
  }
  return found
}

/** A document: a schema and the definitions that it refers to. */
export interface Document {
  readonly schema: JsonSchema
  readonly definitions: Definitions
}

/**
 * Replaces definitions that differ only in their documentation by one. `User` and `User.annotate({ description })`
 * are such definitions. The references keep the documentation.
 */
export const merged = ({ definitions, schema }: Document): Document => {
  const groups = new Map<string, Array<string>>()
  for (const [name, definition] of Object.entries(definitions)) {
    // Effect numbers the definitions of one identifier. Equal schemas with other identifiers keep their names.
    const key = JSON.stringify([name.replace(/_\d+$/, ""), pick(definition, false)])
    groups.set(key, [...groups.get(key) ?? [], name])
  }
  const targets = new Map<string, { readonly name: string; readonly beside: JsonSchema }>()
  const kept: Array<[string, JsonSchema]> = []
  for (const names of groups.values()) {
    const [first, ...others] = names
    const definition = first === undefined ? undefined : definitions[first]
    if (first === undefined || definition === undefined) continue
    const documented = names.map((name) => pick(definitions[name] ?? {}, true))
    // A keyword that some lack must not reach them by the definition.
    const shared = Object.fromEntries(
      Object.entries(pick(definition, true)).filter(([keyword]) => documented.every((one) => keyword in one))
    )
    kept.push([first, { ...pick(definition, false), ...shared }])
    if (others.length === 0) continue
    for (const [index, name] of names.entries()) {
      const beside = Object.entries(documented[index] ?? {}).filter(([keyword, value]) =>
        JSON.stringify(shared[keyword]) !== JSON.stringify(value)
      )
      targets.set(name, { name: first, beside: Object.fromEntries(beside) })
    }
  }
  const renamed = (part: JsonSchema): JsonSchema => {
    const changed = mapParts(part, renamed)
    const target = targets.get(referenceOf(changed) ?? "")
    return target === undefined ? changed : { ...target.beside, ...changed, $ref: `${prefix}${target.name}` }
  }
  return targets.size === 0 ? { schema, definitions } : {
    schema: renamed(schema),
    definitions: Object.fromEntries(kept.map(([name, definition]) => [name, renamed(definition)]))
  }
}

/** Returns the definitions that a schema refers to, directly or by other definitions. */
export const reachable = ({ definitions, schema }: Document): Definitions => {
  const used = new Set<string>()
  const open: Array<JsonSchema> = [schema]
  const visit = (part: JsonSchema): JsonSchema => {
    const name = referenceOf(part)
    const target = name === undefined ? undefined : definitions[name]
    if (name !== undefined && isObject(target) && !used.has(name)) {
      used.add(name)
      open.push(target)
    }
    mapParts(part, visit)
    return part
  }
  for (let next = open.pop(); next !== undefined; next = open.pop()) visit(next)
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => used.has(name)))
}
