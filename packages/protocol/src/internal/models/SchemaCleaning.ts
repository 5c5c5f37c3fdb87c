/** Copies of JSON Schemas of any draft with keywords of draft 2020-12, each with a value that it may have. */

import * as Record from "effect/Record"
import { definitionOf, isObject, type JsonSchema, pointerOf, TooLarge } from "./SchemaFolding.ts"
import { UniqueNames } from "./UniqueNames.ts"

/** The greatest number of values, and the greatest depth, of a schema that is copied. */
const max = { levels: 64, values: 65_536 }

const types: ReadonlySet<unknown> = new Set(["array", "boolean", "integer", "null", "number", "object", "string"])

const isExpression = (text: string): boolean => {
  try {
    return new RegExp(text) instanceof RegExp
  } catch {
    return false
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/**
 * The kinds of values that keywords have. A keyword with another value is left out, and so is an unknown keyword.
 * `not`, `maxContains` and the like are missing: there, a part that accepts more makes the whole accept less.
 */
const keywords: { readonly [kind in keyof Copying["kinds"]]: ReadonlyArray<string> } = {
  text: ["title", "description", "format", "contentEncoding", "contentMediaType"],
  json: ["default", "const"],
  list: ["examples"],
  values: ["enum"],
  boolean: ["deprecated", "readOnly", "writeOnly", "uniqueItems"],
  type: ["type"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  positive: ["multipleOf"],
  count: ["minLength", "maxLength", "minItems", "maxItems", "minContains", "minProperties", "maxProperties"],
  pattern: ["pattern"],
  names: ["required"],
  namesByName: ["dependentRequired"],
  schema: ["propertyNames", "contains", "contentSchema"],
  restriction: ["additionalProperties", "items"],
  schemas: ["prefixItems", "allOf", "anyOf"],
  schemasByName: ["properties"],
  schemasByPattern: ["patternProperties"],
  reference: ["$ref"]
}

const kinds = new Map(Record.toEntries(keywords).flatMap(([kind, names]) => names.map((name) => [name, kind] as const)))

/** Returns the alternatives of a schema: each list has a schema that accepts the value. */
const alternativesOf = (schema: JsonSchema): ReadonlyArray<unknown> => {
  const { anyOf, dependencies, dependentSchemas, else: otherwise = true, oneOf, then = true } = schema
  const dependents = [dependencies, dependentSchemas].flatMap((parts) => isObject(parts) ? Object.values(parts) : [])
  return [
    ...[anyOf, oneOf].filter((list) => Array.isArray(list) && list.length > 0),
    ..."if" in schema ? [[then, otherwise]] : [],
    ...dependents.filter((part) => !Array.isArray(part)).map((part) => [part, true])
  ]
}

/** The drafts in which a schema with a reference has no other keywords. */
const isOldDraft = (draft: unknown): boolean =>
  typeof draft === "string" && /^https?:\/\/json-schema\.org\/draft-0[3-7]\//.test(draft)

/** The keywords that restrict no value. */
const annotations = new Set(["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"])

/** Returns a schema of an old draft without the keywords that are ignored beside a reference. */
const withoutIgnored = (schema: JsonSchema): JsonSchema =>
  typeof schema["$ref"] === "string"
    ? Record.filter(schema, (_, keyword) => keyword === "$ref" || annotations.has(keyword))
    : schema

/** Returns a schema of any draft, or of OpenAPI, with the keywords of draft 2020-12 that are copied. */
const upgraded = (schema: JsonSchema): JsonSchema => {
  const { additionalItems, allOf, dependencies, items, nullable, patternProperties, type } = schema
  const [anyOf, ...others] = alternativesOf(schema)
  const limit = (bound: "Minimum" | "Maximum"): JsonSchema => {
    const exclusive = schema[`exclusive${bound}`]
    return { [`exclusive${bound}`]: exclusive === true ? schema[bound.toLowerCase()] : exclusive }
  }
  return {
    ...schema,
    ...limit("Minimum"),
    ...limit("Maximum"),
    anyOf,
    ...others.length === 0
      ? undefined
      : { allOf: [...Array.isArray(allOf) ? allOf : [], ...others.map((anyOf) => ({ anyOf }))] },
    ...Array.isArray(items) ? { prefixItems: items, items: additionalItems } : undefined,
    ...isObject(dependencies) ? { dependentRequired: dependencies } : undefined,
    ...nullable === true && types.has(type) ? { type: [type, "null"] } : undefined,
    // Without one of the patterns, the properties that match it would be additional ones.
    ...isObject(patternProperties) && !Object.keys(patternProperties).every(isExpression)
      ? { additionalProperties: undefined }
      : undefined
  }
}

/** Returns definitions without references that lead back to themselves. A provider could follow these forever. */
const withoutLoops = (definitions: { readonly [name: string]: JsonSchema }): JsonSchema =>
  Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => {
      const path = new Set<string>()
      let next: string | undefined = name
      for (; next !== undefined && !path.has(next); next = definitionOf(definitions[next]?.["$ref"])) path.add(next)
      const { $ref: _, ...rest } = definition
      return [name, next === undefined ? definition : rest]
    })
  )

/** Copies one schema. */
class Copying {
  readonly #root: JsonSchema
  readonly #isOld: boolean
  /** The names of definitions, by the places that references lead to. */
  readonly #names = new Map<string, string>()
  readonly #uniqueNames = new UniqueNames()
  readonly #open: Array<readonly [name: string, schema: unknown]> = []
  #values = 0

  constructor(root: JsonSchema) {
    this.#root = root
    this.#isOld = isOldDraft(root["$schema"])
  }

  /** Returns the copy, with a definition for each place that a reference leads to. */
  copy(): JsonSchema {
    const copy = this.#schema(this.#root, 0)
    const definitions: Array<readonly [string, JsonSchema]> = []
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
      const [name, schema] = next
      definitions.push([name, this.#schema(schema, 2)])
    }
    return definitions.length === 0 ? copy : { ...copy, $defs: withoutLoops(Object.fromEntries(definitions)) }
  }

  /** Reads a value of each kind. Returns `undefined` for a value that is none. */
  readonly kinds = {
    // A provider could not read the JSON of a request with half a surrogate pair.
    text: (value: unknown) => typeof value === "string" ? value.toWellFormed() : undefined,
    json: (value: unknown, depth: number) => this.#json(value, depth + 1),
    list: (value: unknown, depth: number) => Array.isArray(value) ? this.#json(value, depth + 1) : undefined,
    values: (value: unknown, depth: number) => {
      if (!Array.isArray(value)) return undefined
      const copies = value.map((one: unknown) => this.#json(one, depth + 2))
      const different = new Map(copies.map((copy) => [JSON.stringify(copy), copy]))
      return different.size === 0 ? undefined : [...different.values()]
    },
    boolean: (value: unknown) => typeof value === "boolean" ? value : undefined,
    number: (value: unknown) => Number.isFinite(value) ? value : undefined,
    positive: (value: unknown) => Number.isFinite(value) && Number(value) > 0 ? value : undefined,
    count: (value: unknown) => isCount(value) ? value : undefined,
    pattern: (value: unknown) => typeof value === "string" && isExpression(value) ? value.toWellFormed() : undefined,
    type: (value: unknown) => {
      const known = [...new Set([value].flat())].filter((type) => types.has(type))
      return known.length > 1 ? known : known[0]
    },
    names: (value: unknown) => this.#namesIn(value),
    namesByName: (value: unknown) => this.#members(value, (names) => this.#namesIn(names)),
    schema: (value: unknown, depth: number) => this.#schema(value, depth + 1),
    // The usual form of these keywords is `false`.
    restriction: (value: unknown, depth: number) =>
      value === false ? false : value === true ? undefined : this.kinds.schema(value, depth),
    schemas: (value: unknown, depth: number) =>
      Array.isArray(value) && value.length > 0 ? value.map((one) => this.#schema(one, depth + 2)) : undefined,
    schemasByName: (value: unknown, depth: number) => this.#members(value, (one) => this.#schema(one, depth + 2)),
    schemasByPattern: (value: unknown, depth: number) =>
      this.#members(value, (one, name) => isExpression(name) ? this.#schema(one, depth + 2) : undefined),
    reference: (value: unknown) => this.#reference(value)
  }

  #spend(depth: number): void {
    if (depth >= max.levels) throw new TooLarge(`its input schema has more than ${max.levels} levels`)
    this.#values += 1
    if (this.#values > max.values) throw new TooLarge(`its input schema has more than ${max.values} values`)
  }

  #schema(schema: unknown, depth: number): JsonSchema {
    this.#spend(depth)
    if (schema === false) return { not: {} }
    if (!isObject(schema)) return {}
    const copy: { [keyword: string]: unknown } = {}
    for (const [keyword, value] of Object.entries(upgraded(this.#isOld ? withoutIgnored(schema) : schema))) {
      const kind = kinds.get(keyword)
      const read = kind === undefined || value === undefined ? undefined : this.kinds[kind](value, depth)
      if (read !== undefined) copy[keyword] = read
    }
    // Some providers reject an array without items.
    if ([copy["type"]].flat().includes("array") && copy["items"] === undefined) copy["items"] = {}
    return copy
  }

  #json(value: unknown, depth: number): unknown {
    this.#spend(typeof value === "object" ? depth : 0)
    if (typeof value === "string") return value.toWellFormed()
    if (Array.isArray(value)) return value.map((one) => this.#json(one, depth + 1))
    return isObject(value) ? this.#members(value, (one) => this.#json(one, depth + 1)) : value
  }

  #namesIn(value: unknown): ReadonlyArray<string> | undefined {
    if (!Array.isArray(value)) return undefined
    for (const _ of value) this.#spend(0)
    const names = value.filter((name) => typeof name === "string").map((name) => name.toWellFormed())
    return names.length === 0 ? undefined : [...new Set(names)]
  }

  #members<A>(
    value: unknown,
    read: (value: unknown, name: string) => A | undefined
  ): { readonly [name: string]: A } | undefined {
    if (!isObject(value)) return undefined
    const members: Array<readonly [string, A]> = []
    for (const [name, member] of Object.entries(value)) {
      const copy = read(member, name)
      if (copy !== undefined) members.push([name.toWellFormed(), copy])
    }
    return Object.fromEntries(members)
  }

  /** Returns a reference to a definition, which has a copy of the place that the given one leads to. */
  #reference(reference: unknown): string | undefined {
    const { $id } = this.#root
    const isOwn = typeof reference === "string" && typeof $id === "string" && reference.startsWith(`${$id}#`)
    const pointer = pointerOf(isOwn ? reference.slice($id.length) : reference)
    if (pointer === undefined) return undefined
    const key = JSON.stringify(pointer)
    const known = this.#names.get(key)
    if (known !== undefined) return `#/$defs/${known}`
    let target: unknown = this.#root
    for (const step of pointer) {
      if (typeof target !== "object" || target === null || !Object.hasOwn(target, step)) return undefined
      target = Reflect.get(target, step)
    }
    const [container, own = ""] = pointer
    const isDefinition = pointer.length === 2 && (container === "$defs" || container === "definitions")
    const name = this.#uniqueNames.make(isDefinition ? own : "Part")
    this.#names.set(key, name)
    this.#open.push([name, target])
    return `#/$defs/${name}`
  }
}

/**
 * Returns a copy of a schema in draft 2020-12. It accepts the same values, or more. Throws a {@link TooLarge} for a
 * schema that is too large.
 */
export const clean = (schema: JsonSchema): JsonSchema => new Copying(schema).copy()
