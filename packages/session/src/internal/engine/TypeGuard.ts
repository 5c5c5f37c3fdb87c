/** Type guards that are made from the schemas of the wire. */

import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import { trust } from "../trust.ts"

/** Returns whether a value has the type of a node. */
type TypeGuard = (value: unknown) => boolean

/**
 * Makes a type guard that accepts the same values as `Schema.is`, for a schema without transformations. `Schema.is`
 * decodes the value, and builds the decoded one; this took a quarter of the time of a call in memory (decision 063).
 * Nodes that the wire does not use are left to `Schema.is`. An optional member that is `undefined` counts as absent,
 * because JSON leaves it out; `Schema.is` rejects it, so that a result would be valid over every transport but one.
 */
export const make = <A>(schema: Schema.Codec<A>): (value: unknown) => value is A => trust(ofNode(schema.ast))

const guards = new WeakMap<SchemaAST.AST, TypeGuard>()

const ofNode = (ast: SchemaAST.AST): TypeGuard => {
  const known = guards.get(ast)
  if (known !== undefined) return known
  const made = (ast.encoding === undefined ? ofType(ast) : undefined) ?? Schema.is(Schema.make(ast))
  guards.set(ast, made)
  return made
}

const ofType = (ast: SchemaAST.AST): TypeGuard | undefined => {
  switch (ast._tag) {
    case "Unknown":
      return checked(ast, () => true)
    case "String":
      return checked(ast, (value) => typeof value === "string")
    case "Number":
      return checked(ast, (value) => typeof value === "number")
    case "Boolean":
      return checked(ast, (value) => typeof value === "boolean")
    case "Null":
      return checked(ast, (value) => value === null)
    case "Undefined":
      return checked(ast, (value) => value === undefined)
    case "ObjectKeyword":
      return checked(ast, (value) => (typeof value === "object" && value !== null) || typeof value === "function")
    case "Literal":
      return checked(ast, (value) => value === ast.literal)
    // The checks of the others examine the decoded value, which lacks unknown members.
    case "Arrays":
      return ast.checks === undefined ? ofArrays(ast) : undefined
    case "Objects":
      return ast.checks === undefined ? ofObjects(ast) : undefined
    case "Union":
      return ast.checks === undefined ? ofUnion(ast) : undefined
    default:
      return undefined
  }
}

const passes = (check: SchemaAST.Check<unknown>, value: unknown, ast: SchemaAST.AST): boolean =>
  check._tag === "Filter"
    ? check.run(value, ast, {}) === undefined
    : check.checks.every((part) => passes(part, value, ast))

const checked = (ast: SchemaAST.AST, guard: TypeGuard): TypeGuard => {
  const { checks } = ast
  if (checks === undefined) return guard
  const [first, ...others] = checks
  const passesFirst: TypeGuard = (value) => guard(value) && passes(first, value, ast)
  return others.length === 0
    ? passesFirst
    : (value) => passesFirst(value) && others.every((check) => passes(check, value, ast))
}

/** An array of items of one type. */
const ofArrays = ({ elements, rest: [item, ...others] }: SchemaAST.Arrays): TypeGuard | undefined => {
  if (elements.length > 0 || item === undefined || others.length > 0) return undefined
  const isItem = ofNode(item)
  // Every place is visited, unlike by `every`, because a hole is no item.
  return (value) => {
    if (!Array.isArray(value)) return false
    for (let index = 0; index < value.length; index++) if (!isItem(value[index])) return false
    return true
  }
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

interface Member {
  readonly name: string
  readonly isOptional: boolean
  readonly fits: TypeGuard
}

/** An object with known members, or with any members of one type. */
const ofObjects = ({ indexSignatures: [index, ...others], propertySignatures }: SchemaAST.Objects) => {
  const members: Array<Member> = []
  for (const { name, type } of propertySignatures) {
    // The prototype has a member of this name.
    if (typeof name !== "string" || name === "__proto__") return undefined
    members.push({ name, isOptional: type.context?.isOptional === true, fits: ofNode(type) })
  }
  if (others.length > 0) return undefined
  // An object without any known member may be an array, too.
  if (index === undefined) return members.length === 0 ? undefined : withMembers(members)
  if (index.parameter._tag !== "String" || index.parameter.checks !== undefined) return undefined
  return withIndex(members, ofNode(index.type), index.type._tag === "Unknown" && index.type.checks === undefined)
}

// The members of the schema are looked up, and not those of the value, because a peer decides how many those are.
const withMembers = (members: ReadonlyArray<Member>): TypeGuard => (value) => {
  if (!isObject(value)) return false
  for (const { fits, isOptional, name } of members) {
    const found = value[name]
    if (found === undefined && isOptional) continue
    if (!fits(found) || (found === undefined && !(name in value))) return false
  }
  return true
}

const withIndex = (members: ReadonlyArray<Member>, fits: TypeGuard, isAny: boolean): TypeGuard => {
  const hasMembers = members.length === 0 ? isObject : withMembers(members)
  return isAny ? hasMembers : (value) => {
    if (!isObject(value) || !hasMembers(value)) return false
    for (const name of Object.keys(value)) if (!fits(value[name])) return false
    return true
  }
}

/** A value of one of several types. */
const ofUnion = ({ options, types }: SchemaAST.Union): TypeGuard | undefined => {
  if (options?.mode === "oneOf") return undefined
  const alternatives = types.map(ofNode)
  return (value) => {
    for (const fits of alternatives) if (fits(value)) return true
    return false
  }
}
