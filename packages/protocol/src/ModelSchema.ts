/**
 * The input schemas of tools in the form that the interfaces of model providers accept. A provider rejects a whole
 * request if one tool in it has a schema that it does not accept.
 */
import * as Result from "effect/Result"
import * as SchemaCleaning from "./internal/models/SchemaCleaning.ts"
import * as SchemaFolding from "./internal/models/SchemaFolding.ts"
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

/** The names of arguments that all large providers accept. */
const allowed = /^[\w.-]{1,64}$/

/** Returns allowed names for all arguments, by their names. */
const namesFor = (names: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const used = new Set(names.filter((name) => allowed.test(name)))
  return new Map(names.map((name) => {
    if (allowed.test(name)) return [name, name]
    const readable = name.replace(/[^\w.-]+/g, "_").slice(0, 56)
    let given = readable
    for (let number = 2; given === "" || given === "__proto__" || used.has(given); number++) {
      given = `${readable}_${number}`
    }
    used.add(given)
    return [name, given]
  }))
}

/** Replaces names of arguments that a provider does not accept. */
const renamed = (schema: ObjectSchema): ModelSchema => {
  const properties = SchemaFolding.isObject(schema["properties"]) ? schema["properties"] : {}
  const names = namesFor(Object.keys(properties))
  const changed = [...names].filter(([name, given]) => name !== given)
  if (changed.length === 0) return { schema, names: new Map() }
  const given = (name: unknown): unknown => typeof name === "string" ? names.get(name) ?? name : name
  const all = (list: unknown): unknown => Array.isArray(list) ? list.map(given) : list
  const { dependentRequired, required } = schema
  return {
    schema: {
      ...schema,
      properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [given(name), part])),
      ...required === undefined ? undefined : { required: all(required) },
      ...SchemaFolding.isObject(dependentRequired)
        ? {
          dependentRequired: Object.fromEntries(
            Object.entries(dependentRequired).map(([name, others]) => [given(name), all(others)])
          )
        }
        : undefined
    },
    names: new Map(changed.map(([name, given]) => [given, name]))
  }
}

const bounded = (schema: ObjectSchema): ObjectSchema => {
  if (JSON.stringify(schema).length <= maxLength) return schema
  throw new SchemaCleaning.TooLarge(`its input schema has more than ${maxLength} characters`)
}

/**
 * Returns a schema whose root has `properties` and neither a reference nor a combinator: `anyOf`, `oneOf` and `allOf`
 * become one object with the properties of all members. Properties that some alternative does not need are optional,
 * and the description of the schema lists the alternatives. The schema accepts the same objects, or more.
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
export const fold = (schema: ObjectSchema): ObjectSchema => SchemaFolding.fold(schema)

/**
 * Returns a schema that all large providers accept, or the reason why there is none. It accepts the same arguments, or
 * more: the server still checks them.
 *
 * - Its root is that of {@link fold}.
 * - It has the keywords of draft 2020-12 only, each with a value that it may have. Keywords of older drafts are
 *   converted. References lead to its own definitions.
 * - The names of arguments consist of at most 64 letters, digits, `_`, `.` and `-`. `names` has the original ones.
 * - It has at most 64 levels and 65,536 characters.
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
    return Result.succeed(renamed(bounded(SchemaFolding.fold(cleaned))))
  } catch (error) {
    if (error instanceof SchemaCleaning.TooLarge) return Result.fail(error.message)
    throw error
  }
}
