/** The root of a schema as one object schema: without references, alternatives and conditions. */

import type { ObjectSchema } from "../../Tool.ts"

/** A JSON Schema that is an object. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** Returns whether a value is an object that is no array. */
export const isObject = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const prefix = "#/$defs/"

/** Returns the name of the definition that a schema refers to. */
const definitionOf = ({ $ref }: JsonSchema): string | undefined =>
  typeof $ref === "string" && $ref.startsWith(prefix) ? $ref.slice(prefix.length) : undefined

/** The keywords that providers reject at the root, and those whose meaning depends on such keywords. */
const folded = [
  "$ref",
  "allOf",
  "anyOf",
  "const",
  "dependentSchemas",
  "else",
  "enum",
  "if",
  "not",
  "oneOf",
  "then"
] as const

/** Those whose meaning is lost. */
const lossy = ["const", "dependentSchemas", "enum", "if", "not"] as const

/** The keywords of an object that are merged. All others are kept if the merged schemas agree. */
const merged: ReadonlySet<string> = new Set([
  ...folded,
  "$defs",
  "additionalProperties",
  "properties",
  "required",
  "type",
  "unevaluatedProperties"
])

/** The properties of an object, and what is known of them. */
interface Shape {
  readonly properties: ReadonlyMap<string, unknown>
  readonly required: ReadonlySet<string>
  /** The schema of additional properties; `undefined` if there may be any. */
  readonly additional: unknown
  readonly others: JsonSchema
}

const empty: Shape = { properties: new Map(), required: new Set(), additional: undefined, others: {} }

/** The texts of schemas, which several alternatives may share. */
const texts = new WeakMap<object, string>()

/** Returns a text that equal schemas have in common. */
const textOf = (schema: unknown): string | undefined => {
  if (typeof schema !== "object" || schema === null) return JSON.stringify(schema)
  const text = texts.get(schema) ?? JSON.stringify(schema)
  texts.set(schema, text)
  return text
}

const unique = (values: ReadonlyArray<unknown>): ReadonlyArray<unknown> => [
  ...new Map(values.map((value) => [textOf(value), value])).values()
]

const isUnrestricted = (schema: unknown): boolean =>
  schema === true || (isObject(schema) && Object.keys(schema).length === 0)

/** Returns the values that a schema lists, if it is nothing but a list of values. */
const listed = (schema: unknown): ReadonlyArray<unknown> | undefined => {
  if (!isObject(schema)) return undefined
  const { const: only, description: _, enum: values, title: __, type: ___, ...rest } = schema
  if (Object.keys(rest).length > 0) return undefined
  return "const" in schema ? [only] : Array.isArray(values) ? values : undefined
}

/** Returns a schema of the values that all schemas accept. */
const every = (schemas: ReadonlyArray<unknown>): unknown => {
  const restricting = unique(schemas).filter((schema) => !isUnrestricted(schema))
  // A branch often repeats a property in order to name the value that selects it.
  const lists = restricting.map((schema) => JSON.stringify(listed(schema)))
  const different = restricting.filter((_, index) =>
    lists[index] === undefined || lists.indexOf(lists[index]) === index
  )
  return different.length === 0 ? {} : different.length === 1 ? different[0] : { allOf: different }
}

/** Returns a schema of the values that some of the schemas accept. */
const some = (schemas: ReadonlyArray<unknown>): unknown => {
  const different = unique(schemas)
  if (different.length < 2) return different[0]
  if (different.some(isUnrestricted)) return {}
  const lists = different.map(listed)
  const types = unique(different.map((schema) => isObject(schema) ? schema["type"] ?? null : null))
  if (types.length === 1 && lists.every((list) => list !== undefined)) {
    return { ...types[0] === null ? undefined : { type: types[0] }, enum: unique(lists.flat()) }
  }
  return { anyOf: different }
}

/** Returns the properties of several shapes; `merge` makes one schema of those that a property has. */
const propertiesOf = (
  shapes: ReadonlyArray<Shape>,
  merge: (schemas: ReadonlyArray<unknown>) => unknown
): ReadonlyMap<string, unknown> => {
  const found = new Map<string, Array<unknown>>()
  for (const { properties } of shapes) {
    for (const [name, schema] of properties) {
      const schemas = found.get(name)
      if (schemas === undefined) found.set(name, [schema])
      else schemas.push(schema)
    }
  }
  return new Map(Array.from(found, ([name, schemas]) => [name, merge(schemas)]))
}

const intersection = (shapes: ReadonlyArray<Shape>): Shape => ({
  properties: propertiesOf(shapes, every),
  required: new Set(shapes.flatMap(({ required }) => [...required])),
  // The properties of all members are listed now, which is what the author of a closed member meant.
  additional: shapes.find(({ additional }) => additional !== undefined)?.additional,
  others: Object.fromEntries(shapes.toReversed().flatMap(({ others }) => Object.entries(others)))
})

const union = (shapes: ReadonlyArray<Shape>): Shape => {
  const [first = empty, ...rest] = shapes
  return {
    properties: propertiesOf(shapes, some),
    required: new Set([...first.required].filter((name) => rest.every(({ required }) => required.has(name)))),
    additional: unique(shapes.map(({ additional }) => additional)).length === 1 ? first.additional : undefined,
    others: Object.fromEntries(
      Object.entries(first.others).filter(([keyword, value]) =>
        rest.every(({ others }) => textOf(others[keyword]) === textOf(value))
      )
    )
  }
}

/** The greatest number of alternatives that a description lists. */
const maxAlternatives = 16

/** The greatest length of the description of an alternative. */
const maxLength = 256

const shown = (name: string): string => /^[\w.-]+$/.test(name) ? name : JSON.stringify(name)

/** Returns the arguments of an alternative as a text. A property with one value selects the alternative. */
const alternative = ({ properties, required }: Shape): string => {
  const names = required.size === 0 ? [...properties.keys()] : [...required]
  const texts = names.map((name) => {
    const values = listed(properties.get(name))
    return values?.length === 1 ? `${shown(name)}: ${JSON.stringify(values[0])}` : shown(name)
  })
  const text = texts.join(", ")
  return `(${text.length > maxLength ? `${text.slice(0, maxLength)}…`.replace(/\p{Surrogate}/gu, "") : text})`
}

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** Folds one schema, and collects what its description has to say. */
class Folding {
  readonly notes = new Set<string>()
  readonly #definitions: JsonSchema
  /** The shapes of definitions. A definition that is a part of itself adds nothing. */
  readonly #shapes = new Map<string, Shape | undefined>()

  constructor(definitions: JsonSchema) {
    this.#definitions = definitions
  }

  /** Returns the shape of the objects that a schema accepts; `undefined` if it accepts none. */
  shapeOf(schema: unknown): Shape | undefined {
    if (schema === true) return empty
    if (!isObject(schema)) return undefined
    const { type = "object" } = schema
    if (type !== "object" && !(Array.isArray(type) && type.includes("object"))) return undefined
    const { additionalProperties, properties, required, unevaluatedProperties } = schema
    const additional = additionalProperties ?? unevaluatedProperties
    if (lossy.some((keyword) => keyword in schema)) this.#lose()
    const own: Shape = {
      properties: new Map(Object.entries(isObject(properties) ? properties : {})),
      required: new Set(listOf(required).filter((name) => typeof name === "string")),
      additional: additional === true ? undefined : additional,
      others: Object.fromEntries(Object.entries(schema).filter(([keyword]) => !merged.has(keyword)))
    }
    const shapes: Array<Shape> = [own]
    for (const member of [...this.#referred(schema), ...this.#members(schema)]) {
      if (member === undefined) return undefined
      shapes.push(member)
    }
    return shapes.length === 1 ? own : intersection(shapes)
  }

  #lose(): void {
    this.notes.add("The server rejects some combinations of arguments.")
  }

  /** Returns the shape of the definition that a schema refers to. */
  #referred(schema: JsonSchema): ReadonlyArray<Shape | undefined> {
    const name = definitionOf(schema)
    if (name === undefined || !Object.hasOwn(this.#definitions, name)) return []
    if (!this.#shapes.has(name)) {
      this.#shapes.set(name, empty)
      this.#shapes.set(name, this.shapeOf(this.#definitions[name]))
    }
    return [this.#shapes.get(name)]
  }

  /** Returns the shapes of the parts that apply at once. */
  #members(
    { allOf, anyOf, dependentSchemas, else: otherwise, oneOf, then }: JsonSchema
  ): ReadonlyArray<Shape | undefined> {
    const conditional = [then, otherwise, ...isObject(dependentSchemas) ? Object.values(dependentSchemas) : []]
    return [
      ...listOf(allOf).map((member) => this.shapeOf(member)),
      ...[anyOf, oneOf].map(listOf).filter((list) => list.length > 0).map((list) => this.#alternatives(list)),
      ...conditional.map((part) => ({ ...empty, properties: this.shapeOf(part)?.properties ?? empty.properties }))
    ]
  }

  #alternatives(schemas: ReadonlyArray<unknown>): Shape | undefined {
    const shapes = schemas.map((schema) => this.shapeOf(schema)).filter((shape) => shape !== undefined)
    if (shapes.length === 0) return undefined
    const alternatives = [...new Set(shapes.map(alternative))]
    if (alternatives.length > 1) {
      const rest = alternatives.length > maxAlternatives ? ", or another one" : ""
      const shown = alternatives.slice(0, maxAlternatives).join(", ")
      this.notes.add(`Give one of these sets of arguments: ${shown}${rest}.`)
    }
    return union(shapes)
  }
}

/** Returns the definitions that a schema refers to, directly or by other definitions. */
const reachable = (schema: JsonSchema, definitions: JsonSchema): JsonSchema => {
  const used = new Set<string>()
  const open: Array<unknown> = [schema]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) open.push(...next.filter((part) => typeof part === "object"))
    else if (isObject(next)) {
      const name = definitionOf(next)
      if (name !== undefined && !used.has(name)) {
        used.add(name)
        open.push(definitions[name])
      }
      open.push(...Object.values(next).filter((part) => typeof part === "object" && part !== null))
    }
  }
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => used.has(name)))
}

const withoutFolded = (schema: JsonSchema): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => !folded.some((one) => one === keyword)))

/** Returns a schema of the same objects, or of more, whose root has `properties` and no combinator. */
export const fold = (schema: ObjectSchema): ObjectSchema => {
  const own = isObject(schema["properties"]) ? schema["properties"] : {}
  const isPlain = !folded.some((keyword) => keyword in schema) &&
    listOf(schema["required"]).every((name) => typeof name === "string" && Object.hasOwn(own, name))
  if (isPlain) return { ...schema, properties: own }
  const definitions = isObject(schema["$defs"]) ? schema["$defs"] : {}
  const folding = new Folding(definitions)
  // A schema that accepts no object is kept without what makes it so. Its tool can be seen, and rejects each call.
  const { additional, others, properties, required } = folding.shapeOf(schema) ??
    folding.shapeOf(withoutFolded(schema)) ?? empty
  const missing = [...required].filter((name) => !properties.has(name)).map((name) => [name, {}] as const)
  const { description, ...annotations } = others
  const texts = [...typeof description === "string" ? [description] : [], ...folding.notes]
  const root: ObjectSchema = {
    type: "object",
    ...annotations,
    ...texts.length === 0 ? undefined : { description: texts.join("\n\n") },
    properties: Object.fromEntries([...properties, ...missing]),
    ...required.size === 0 ? undefined : { required: [...required] },
    ...additional === undefined ? undefined : { additionalProperties: additional }
  }
  const used = reachable(root, definitions)
  return Object.keys(used).length === 0 ? root : { ...root, $defs: used }
}
