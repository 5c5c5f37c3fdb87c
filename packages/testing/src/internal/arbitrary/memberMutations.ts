/**
 * Changes of a value after which it no longer fits its schema.
 *
 * They are derived from the schema: a required member is removed, a literal is replaced. Only for a union they are
 * tried, because another member of the union may accept the changed value.
 */
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import { isMembers, type Path, put, remove } from "./jsonValues.ts"

/** Mutations that make a message invalid. `Mutation` of the package documents them. */
export type Invalidating =
  | "MemberMissing"
  | "MemberNull"
  | "MemberOfWrongType"
  | "LiteralUnknown"
  | "RuleBroken"
  | "MemberUnwanted"
  | "MethodUnknown"
  | "MethodNewer"

/** Mutations that a receiver must tolerate. */
export type Harmless = "MemberUnknown" | "MemberNewer" | "ParamsNull"

/** A change, and its place. */
export interface Mutation<out Tag extends Invalidating | Harmless = Invalidating | Harmless> {
  readonly _tag: Tag
  /** The place: names of members, and indexes of elements. */
  readonly path: ReadonlyArray<string | number>
  /** The value after the change; `undefined` if the member is gone. */
  readonly value: unknown
}

type Change = Mutation<Invalidating>

/** Returns a copy of a value with this change. */
export const apply = (value: unknown, { _tag, path, value: replacement }: Mutation): unknown =>
  _tag === "MemberMissing" ? remove(value, path) : put(value, path, replacement)

/** One value of each JSON type except null. */
const ofEachType: ReadonlyArray<unknown> = ["text", 1, true, [], {}]

const typeOf = (value: unknown): string => Array.isArray(value) ? "array" : typeof value

const accepts = new WeakMap<SchemaAST.AST, (value: unknown) => boolean>()

const accepted = (ast: SchemaAST.AST, value: unknown): boolean => {
  const known = accepts.get(ast)
  if (known !== undefined) return known(value)
  const fresh = Schema.is(Schema.make(ast))
  accepts.set(ast, fresh)
  return fresh(value)
}

/** Values of the right type that break most rules of members. */
const offenders: { readonly [type: string]: ReadonlyArray<unknown> } = {
  string: ["", "no rule"],
  number: [0.5, -1],
  array: [Array.from({ length: 101 }, () => "text")]
}

/** Returns the JSON type of a schema's values, if they have one. */
const jsonType = (ast: SchemaAST.AST): string | undefined => {
  switch (ast._tag) {
    case "String":
      return "string"
    case "Number":
      return "number"
    case "Boolean":
      return "boolean"
    case "Literal":
      return typeof ast.literal
    case "Arrays":
      return "array"
    case "Objects":
    case "ObjectKeyword":
      return "object"
    default:
      return undefined
  }
}

/** Returns the changes that replace a value of this schema. */
const replacements = (ast: SchemaAST.AST, path: Path): ReadonlyArray<Change> => {
  if (ast._tag === "Union") {
    const all = ast.types.flatMap((member) => replacements(member, path)).filter(({ value }) => !accepted(ast, value))
    // Several literals can have the same replacement.
    return [...new Map(all.map((mutation) => [JSON.stringify([mutation._tag, mutation.value]), mutation])).values()]
  }
  if (ast._tag === "Suspend") return replacements(ast.thunk(), path)
  const type = jsonType(ast)
  // Any value fits.
  if (type === undefined) return []
  const others = ofEachType.filter((value) => typeOf(value) !== type)
  const rules = ast.checks === undefined ? [] : offenders[type] ?? []
  return [
    { _tag: "MemberNull", path, value: null },
    ...others.map((value): Change => ({ _tag: "MemberOfWrongType", path, value })),
    ...ast._tag === "Literal" ? [{ _tag: "LiteralUnknown", path, value: "no literal" } as const] : [],
    ...rules.filter((value) => !accepted(ast, value)).map((value): Change => ({ _tag: "RuleBroken", path, value }))
  ]
}

/** Returns the changes of the parts of a value. */
const within = (ast: SchemaAST.AST, value: unknown, path: Path): ReadonlyArray<Change> => {
  switch (ast._tag) {
    case "Suspend":
      return within(ast.thunk(), value, path)
    case "Union": {
      const member = ast.types.find((member) => accepted(member, value))
      if (member === undefined) return []
      // The path is relative to this value, so that the change can be tried.
      return within(member, value, []).flatMap((mutation) =>
        accepted(ast, apply(value, mutation)) ? [] : [{ ...mutation, path: [...path, ...mutation.path] }]
      )
    }
    case "Arrays": {
      const [item] = ast.rest
      return item === undefined || !Array.isArray(value)
        ? []
        : value.flatMap((element, index) => mutationsOf(item, element, [...path, index]))
    }
    case "Objects":
      return isMembers(value) ? withinMembers(ast, value, path) : []
    default:
      return []
  }
}

const withinMembers = (
  ast: SchemaAST.Objects,
  value: { readonly [name: string]: unknown },
  path: Path
): ReadonlyArray<Change> => {
  const signatures = ast.propertySignatures.flatMap(({ name, type }): ReadonlyArray<Change> => {
    if (typeof name !== "string") return []
    const at = [...path, name]
    // An optional member may be absent, but it may not be wrong.
    if (!Object.hasOwn(value, name)) return replacements(type, at)
    const mutations = mutationsOf(type, value[name], at)
    return isRequired(type) ? [{ _tag: "MemberMissing", path: at, value: undefined }, ...mutations] : mutations
  })
  const [signature] = ast.indexSignatures
  if (signature === undefined) return signatures
  const known = new Set(ast.propertySignatures.map(({ name }) => name))
  return [
    ...signatures,
    ...Object.keys(value).filter((name) => !known.has(name)).flatMap((name) =>
      mutationsOf(signature.type, value[name], [...path, name])
    )
  ]
}

const isRequired = (ast: SchemaAST.AST): boolean => ast.context?.isOptional !== true

/** Returns all changes that make a value of this schema invalid, at this place. */
const mutationsOf = (ast: SchemaAST.AST, value: unknown, path: Path): ReadonlyArray<Change> => [
  ...replacements(ast, path),
  ...within(ast, value, path)
]

/** Returns all changes of the members of an object that make it invalid for this schema. */
export const invalidatingMutations = (
  schema: Schema.Codec<unknown>,
  value: unknown,
  path: Path
): ReadonlyArray<Change> => within(schema.ast, value, path)

/** Returns whether the objects of this schema have required members. */
export const hasRequired = (schema: Schema.Codec<unknown>): boolean => !accepted(schema.ast, {})

/** Returns the places in a value of this schema where an object has members with fixed names and permits others. */
export const extensible = (schema: Schema.Codec<unknown>, value: unknown, path: Path): ReadonlyArray<Path> => {
  const walk = (ast: SchemaAST.AST, value: unknown, path: Path): ReadonlyArray<Path> => {
    switch (ast._tag) {
      case "Suspend":
        return walk(ast.thunk(), value, path)
      case "Union": {
        const member = ast.types.find((member) => accepted(member, value))
        return member === undefined ? [] : walk(member, value, path)
      }
      case "Arrays": {
        const [item] = ast.rest
        return item === undefined || !Array.isArray(value)
          ? []
          : value.flatMap((element, index) => walk(item, element, [...path, index]))
      }
      case "Objects":
        if (!isMembers(value)) return []
        return [
          ...ast.indexSignatures.length === 0 ? [path] : [],
          ...ast.propertySignatures.flatMap(({ name, type }) =>
            typeof name === "string" && Object.hasOwn(value, name) ? walk(type, value[name], [...path, name]) : []
          )
        ]
      default:
        return []
    }
  }
  return walk(schema.ast, value, path)
}
