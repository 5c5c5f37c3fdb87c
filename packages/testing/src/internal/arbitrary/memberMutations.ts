/**
 * What can be done to a value of a schema so that it is none any more. It is read off the schema, not tried: a required member
 * can be missing, a literal can be another. Only where a schema is a choice of several are the others asked whether one of them
 * takes the changed value after all.
 */
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type { Invalidating, Mutation } from "../../arbitrary/Mutation.ts"
import { isMembers } from "./members.ts"
import { type Path, put, remove } from "./paths.ts"

type Change = Mutation<Invalidating>

/** A copy of a value to which this has been done. */
export const apply = (value: unknown, { _tag, path, value: replacement }: Mutation): unknown =>
  _tag === "MemberMissing" ? remove(value, path) : put(value, path, replacement)

/** One value of each type that JSON has but null. */
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

/** Values that are of the right type and break most rules that a member may have. */
const offenders: { readonly [type: string]: ReadonlyArray<unknown> } = {
  string: ["", "no rule"],
  number: [0.5, -1],
  array: [Array.from({ length: 101 }, () => "text")]
}

/** What JSON type the values of a schema have, where they have one. */
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

/** What else can stand where a value of this schema should. */
const replacements = (ast: SchemaAST.AST, path: Path): ReadonlyArray<Change> => {
  if (ast._tag === "Union") {
    const all = ast.types.flatMap((member) => replacements(member, path)).filter(({ value }) => !accepted(ast, value))
    // Each of several literals can be replaced by the same.
    return [...new Map(all.map((mutation) => [JSON.stringify([mutation._tag, mutation.value]), mutation])).values()]
  }
  if (ast._tag === "Suspend") return replacements(ast.thunk(), path)
  const type = jsonType(ast)
  // Anything is allowed.
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

/** What can be done to the parts of a value. */
const within = (ast: SchemaAST.AST, value: unknown, path: Path): ReadonlyArray<Change> => {
  switch (ast._tag) {
    case "Suspend":
      return within(ast.thunk(), value, path)
    case "Union": {
      const member = ast.types.find((member) => accepted(member, value))
      if (member === undefined) return []
      // Relative to this value, so that it can be tried.
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
    // What may be missing may still not be wrong.
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

/** All that can be done to a value of this schema, that stands at this place, to spoil it. */
const mutationsOf = (ast: SchemaAST.AST, value: unknown, path: Path): ReadonlyArray<Change> => [
  ...replacements(ast, path),
  ...within(ast, value, path)
]

/** All that can be done to the parts of an object of this schema so that it is none any more. */
export const invalidatingMutations = (
  schema: Schema.Codec<unknown>,
  value: unknown,
  path: Path
): ReadonlyArray<Change> => within(schema.ast, value, path)

/** Does an object of this schema have to have members? */
export const hasRequired = (schema: Schema.Codec<unknown>): boolean => !accepted(schema.ast, {})

/** The places in a value of this schema where an object has members with fixed names, and may have others beside them. */
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
