/** The root of a schema as one object schema: without references, alternatives and conditions. */

import type { ObjectSchema } from "../../Tool.ts"
import * as Excerpt from "../text/Excerpt.ts"

/** A JSON Schema that is an object. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** Returns whether a value is an object that is no array. */
export const isObject = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns the steps to the place that a reference leads to, if it is in the same schema. */
export const pointerOf = (reference: unknown): ReadonlyArray<string> | undefined => {
  if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) return undefined
  try {
    return reference.split("/").slice(1).map((step) =>
      decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~")
    )
  } catch {
    return undefined
  }
}

/** Returns the name of the definition that a reference leads to. */
export const definitionOf = (reference: unknown): string | undefined => {
  const [container, name, ...rest] = pointerOf(reference) ?? []
  return container === "$defs" && rest.length === 0 ? name : undefined
}

/** The error of a schema that is too large or too deep. */
export class TooLarge extends Error {}

/** The keywords that providers reject at the root. */
const folded = ["$ref", "allOf", "anyOf", "const", "dependentSchemas", "else", "enum", "if", "not", "oneOf", "then"]

/** The keywords that a {@link Shape} does not have in `rest`. `unevaluatedProperties` depends on the rejected ones. */
const dropped = new Set([...folded, "$defs", "dependencies", "properties", "required", "type", "unevaluatedProperties"])

/** An object schema without a combinator. */
interface Shape {
  /** The schemas of each property. Its values are those that one of these schemas accepts. */
  readonly properties: ReadonlyMap<string, ReadonlySet<unknown>>
  readonly required: ReadonlySet<string>
  /** All other keywords. */
  readonly rest: JsonSchema
}

/** The schema of all values. */
const any: JsonSchema = {}

/** The shape of all objects. */
const everything: Shape = { properties: new Map(), required: new Set(), rest: {} }

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** Returns a value if it is an object, and otherwise an empty object. */
export const membersOf = (value: unknown): JsonSchema => isObject(value) ? value : {}

const isClosed = ({ rest }: Shape): boolean =>
  rest["additionalProperties"] === false && rest["patternProperties"] === undefined

/** Returns the shape of a schema without its combinators. */
const ownShape = (schema: JsonSchema): Shape => ({
  properties: new Map(Object.entries(membersOf(schema["properties"])).map(([name, part]) => [name, new Set([part])])),
  required: new Set(listOf(schema["required"]).filter((name) => typeof name === "string")),
  rest: Object.fromEntries(Object.entries(schema).filter(([keyword]) => !dropped.has(keyword)))
})

/** The greatest number of references that follow each other. */
const maxReferences = 64

/** The greatest length of what the description lists. */
const maxNotes = 2_048

/** Folds one schema. */
class Folding {
  /** The lists of alternatives. */
  readonly notes = new Set<string>()
  readonly #definitions: JsonSchema
  /** The shapes of definitions. A definition within itself accepts every object. */
  readonly #shapes = new Map<string, Shape | undefined>()
  /** The JSON of values that were compared. */
  readonly #texts = new Map<unknown, string | undefined>()
  readonly #maxNames: number
  #names = 0
  #references = 0

  constructor(definitions: JsonSchema, maxNames: number) {
    this.#definitions = definitions
    this.#maxNames = maxNames
  }

  /** Returns the shape of the objects that a schema accepts; `undefined` if it accepts none. */
  shapeOf(schema: unknown): Shape | undefined {
    if (!isObject(schema)) return schema === false ? undefined : everything
    const { $ref, allOf, anyOf, oneOf, type = "object" } = schema
    if (![type].flat().includes("object")) return undefined
    const members = [
      this.#referred($ref),
      ...listOf(allOf).map((member) => this.shapeOf(member)),
      ...[anyOf, oneOf].map((list) => this.#alternatives(listOf(list)))
    ]
    const shapes = members.filter((member) => member !== undefined)
    return shapes.length < members.length ? undefined : this.#intersection([ownShape(schema), ...shapes])
  }

  #referred(reference: unknown): Shape | undefined {
    const name = definitionOf(reference)
    if (name === undefined || !Object.hasOwn(this.#definitions, name)) return everything
    if (!this.#shapes.has(name)) {
      if (this.#references === maxReferences) return everything
      this.#shapes.set(name, everything)
      this.#references += 1
      this.#shapes.set(name, this.shapeOf(this.#definitions[name]))
      this.#references -= 1
    }
    return this.#shapes.get(name)
  }

  #alternatives(schemas: ReadonlyArray<unknown>): Shape | undefined {
    if (schemas.length === 0) return everything
    const shapes = schemas.map((schema) => this.shapeOf(schema)).filter((shape) => shape !== undefined)
    if (shapes.length === 0) return undefined
    const sets = new Set(shapes.map(({ required }) => `(${[...required].join(", ")})`))
    if (sets.size > 1 && !sets.has("()")) {
      this.notes.add(`Give one of these sets of arguments: ${[...sets].join(", ")}.`)
    }
    return this.#union([...new Set(shapes)])
  }

  /** Returns a shape that accepts what all shapes accept, or more. Of several schemas, the first one counts. */
  #intersection(shapes: ReadonlyArray<Shape>): Shape {
    const properties = new Map<string, ReadonlySet<unknown>>()
    const required = new Set<string>()
    const patterns: Array<ReadonlyArray<readonly [pattern: string, schema: unknown]>> = []
    for (const shape of shapes) {
      const own = Object.entries(membersOf(shape.rest["patternProperties"]))
      this.#spend(shape.properties.size + shape.required.size + own.length)
      for (const [name, schemas] of shape.properties) if (!properties.has(name)) properties.set(name, schemas)
      for (const name of shape.required) required.add(name)
      if (own.length > 0) patterns.unshift(own)
    }
    const rest = Object.assign({}, ...shapes.map(({ rest }) => rest).toReversed())
    return {
      properties,
      required,
      // Additional properties are those that no pattern matches.
      rest: patterns.length === 0 ? rest : { ...rest, patternProperties: Object.fromEntries(patterns.flat()) }
    }
  }

  /** Returns a shape that accepts what one of the shapes accepts, or more. */
  #union([first = everything, ...others]: ReadonlyArray<Shape>): Shape {
    if (others.length === 0) return first
    const shapes = [first, ...others]
    const open = shapes.filter((shape) => !isClosed(shape)).length
    const properties = new Map<string, { readonly schemas: Set<unknown>; open: number }>()
    for (const shape of shapes) {
      for (const [name, schemas] of shape.properties) {
        this.#spend(schemas.size)
        const all = properties.get(name) ?? { schemas: new Set(), open: 0 }
        properties.set(name, all)
        for (const schema of schemas) all.schemas.add(schema)
        if (!isClosed(shape)) all.open += 1
      }
    }
    // An alternative without the property accepts any value of it, unless it is closed.
    for (const all of properties.values()) if (all.open < open) all.schemas.add(any)
    const isCommon = ([keyword, value]: readonly [string, unknown]): boolean =>
      keyword === "additionalProperties"
        ? open === 0
        : others.every(({ rest }) => this.#textOf(rest[keyword]) === this.#textOf(value))
    return {
      properties: new Map(Array.from(properties, ([name, { schemas }]) => [name, schemas])),
      required: new Set([...first.required].filter((name) => others.every(({ required }) => required.has(name)))),
      rest: Object.fromEntries(Object.entries(first.rest).filter(isCommon))
    }
  }

  /** Counts names that are copied. Many alternatives could refer to one definition with many names. */
  #spend(names: number): void {
    this.#names += names
    if (this.#names > this.#maxNames) {
      throw new TooLarge(`the alternatives of its input schema have more than ${this.#maxNames} names`)
    }
  }

  #textOf(value: unknown): string | undefined {
    if (!this.#texts.has(value)) this.#texts.set(value, JSON.stringify(value))
    return this.#texts.get(value)
  }
}

/** Returns the definitions that a schema refers to, directly or by other definitions. */
const reachable = (schema: JsonSchema, definitions: JsonSchema): JsonSchema => {
  const used = new Set<string>()
  const parts: Array<unknown> = [schema]
  // The loop reads the parts that it adds as well.
  for (const part of parts) {
    JSON.stringify(part, (keyword, value: unknown) => {
      const name = keyword === "$ref" ? definitionOf(value) : undefined
      if (name !== undefined && !used.has(name)) {
        used.add(name)
        parts.push(definitions[name])
      }
      return value
    })
  }
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => used.has(name)))
}

/** Returns one schema for the values that one of the schemas accepts. */
const oneOf = (schemas: ReadonlySet<unknown>): unknown => {
  const different = [...new Map(Array.from(schemas, (schema) => [JSON.stringify(schema), schema])).values()]
  return different.length === 1 ? different[0] : { anyOf: different }
}

/**
 * Returns a schema of the same objects, or of more, whose root has `properties` and no combinator. Throws a
 * {@link TooLarge} if it would copy more than `maxNames` names of the members.
 */
export const fold = (schema: ObjectSchema, { maxNames }: { readonly maxNames: number }): ObjectSchema => {
  const own = membersOf(schema["properties"])
  const isPlain = !folded.some((keyword) => keyword in schema) &&
    listOf(schema["required"]).every((name) => typeof name === "string" && Object.hasOwn(own, name))
  if (isPlain) return { ...schema, properties: own }
  const definitions = membersOf(schema["$defs"])
  const folding = new Folding(definitions, maxNames)
  // A schema that accepts no object is kept without what makes it so. Its tool can be seen, and rejects each call.
  const { properties, required, rest } = folding.shapeOf(schema) ?? ownShape(schema)
  const missing = [...required].filter((name) => !properties.has(name)).map((name) => [name, any] as const)
  const { description, ...annotations } = rest
  const notes = folding.notes.size === 0 ? [] : [Excerpt.of([...folding.notes].join("\n"), maxNotes)]
  const texts = [...typeof description === "string" ? [description] : [], ...notes]
  const root: ObjectSchema = {
    type: "object",
    ...annotations,
    ...texts.length === 0 ? undefined : { description: texts.join("\n\n") },
    properties: Object.fromEntries([
      ...Array.from(properties, ([name, schemas]) => [name, oneOf(schemas)] as const),
      ...missing
    ]),
    ...required.size === 0 ? undefined : { required: [...required] }
  }
  const used = reachable(root, definitions)
  return Object.keys(used).length === 0 ? root : { ...root, $defs: used }
}
