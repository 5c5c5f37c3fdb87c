/**
 * The input schemas of tools in the form that the interfaces of model providers accept. A provider rejects a whole
 * request if one tool in it has a schema that it does not accept.
 *
 * @stability unstable
 */
import * as Result from "effect/Result"
import * as SchemaCleaning from "./internal/models/SchemaCleaning.ts"
import * as SchemaFolding from "./internal/models/SchemaFolding.ts"
import { UniqueNames } from "./internal/models/UniqueNames.ts"
import type { ObjectSchema } from "./Tool.ts"

/**
 * A schema for a model.
 *
 * @category models
 */
export interface ModelSchema {
  readonly schema: ObjectSchema
  /** The names that the tool has for arguments, by the names that the schema gives them. Only names that differ. */
  readonly names: ReadonlyMap<string, string>
}

/** The greatest length of a schema as JSON. A request contains the schemas of all tools. */
const maxLength = 65_536

/** The greatest number of names that are copied from the alternatives at the root. */
const maxNames = 65_536

/** The names of arguments that all large providers accept. */
const allowed = /^[\w.-]{1,64}$/

/** Replaces names of arguments that a provider does not accept. */
const renamed = (schema: ObjectSchema): ModelSchema => {
  const { dependentRequired, patternProperties, properties, propertyNames: _, required, ...rest } = schema
  const given = Object.keys(SchemaFolding.membersOf(properties))
  const rejected = given.filter((name) => !allowed.test(name))
  if (rejected.length === 0) return { schema, names: new Map() }
  const unique = new UniqueNames(given.filter((name) => allowed.test(name)))
  const names = new Map(rejected.map((name) => [name, unique.make(name)]))
  const nameOf = (name: unknown) => names.get(String(name)) ?? name
  const namesIn = (list: unknown) => Array.isArray(list) ? list.map(nameOf) : list
  const membersIn = (members: unknown, read: (value: unknown) => unknown) =>
    Object.fromEntries(
      Object.entries(SchemaFolding.membersOf(members)).map(([name, value]) => [nameOf(name), read(value)])
    )
  return {
    schema: {
      ...rest,
      // Patterns would judge the new names.
      ...patternProperties === undefined ? undefined : { additionalProperties: {} },
      properties: membersIn(properties, (part) => part),
      ...required === undefined ? undefined : { required: namesIn(required) },
      ...dependentRequired === undefined ? undefined : { dependentRequired: membersIn(dependentRequired, namesIn) }
    },
    names: new Map(Array.from(names, ([name, given]) => [given, name]))
  }
}

const bounded = (schema: ObjectSchema): ObjectSchema => {
  if (JSON.stringify(schema).length <= maxLength) return schema
  throw new SchemaFolding.TooLarge(`its input schema has more than ${maxLength} characters`)
}

/**
 * Returns a schema whose root has `properties` and neither a reference nor a combinator: `anyOf`, `oneOf` and `allOf`
 * become one object with the properties of all members. Properties that some alternative does not need are optional,
 * and the description of the schema lists the alternatives. The schema accepts the same objects, or more: a property
 * that only some of the alternatives restrict accepts any value (`anyOf: [schema, {}]`), and of several restrictions
 * that apply at once, the first one remains. It is for schemas of the program itself: one with thousands of levels ends
 * the stack. {@link of} rejects such a schema.
 *
 * @example
 * ```ts
 * import { ModelSchema } from "@effect-mcp/protocol"
 *
 * export const folded = ModelSchema.fold({
 *   type: "object",
 *   properties: { id: { type: "string" }, url: { type: "string" } },
 *   oneOf: [{ required: ["id"] }, { required: ["url"] }]
 * })
 *
 * export const description = folded["description"]
 * // => "Give one of these sets of arguments: (id), (url)."
 * ```
 *
 * @category conversions
 */
export const fold = (schema: ObjectSchema): ObjectSchema => SchemaFolding.fold(schema, { maxNames: Infinity })

/**
 * Returns a schema that all large providers accept, or the reason why there is none. It accepts the same arguments, or
 * more: the server still checks them.
 *
 * - Its root is that of {@link fold}.
 * - It has keywords of draft 2020-12 only, each with a value that it may have. Keywords of older drafts are converted,
 *   and those beside a reference, which drafts 03 to 07 ignore, are left out. Conditions become alternatives,
 *   and `not` is left out. References lead to its own definitions.
 * - The names of arguments consist of at most 64 letters, digits, `_`, `.` and `-`. `names` has the original ones.
 * - It has at most 64 levels and 65,536 characters, and at most 65,536 names are copied from the members of its root.
 *
 * @example
 * ```ts
 * import { ModelSchema } from "@effect-mcp/protocol"
 * import * as Result from "effect/Result"
 *
 * export const schema = ModelSchema.of({ type: "object", properties: { "filter[id]": { type: "string" } } }).pipe(
 *   Result.map(({ names, schema }) => [schema["properties"], names.get("filter_id_")]),
 *   Result.getOrThrow
 * ) // => [{ filter_id_: { type: "string" } }, "filter[id]"]
 * ```
 *
 * @category conversions
 */
export const of = (schema: ObjectSchema): Result.Result<ModelSchema, string> => {
  try {
    const cleaned = bounded({ ...SchemaCleaning.clean(schema), type: "object" })
    return Result.succeed(renamed(bounded(SchemaFolding.fold(cleaned, { maxNames }))))
  } catch (error) {
    if (error instanceof SchemaFolding.TooLarge) return Result.fail(error.message)
    throw error
  }
}
