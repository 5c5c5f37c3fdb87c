/** The arguments of a tool that calls an endpoint: its path parameters, query, headers and payload as one object. */

import type { Tool } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isObject, type JsonSchema, mapParts } from "../schema/JsonSchemaKeywords.ts"
import * as Misfit from "../schema/Misfit.ts"
import { SchemaRejected } from "../schema/SchemaRejected.ts"
import * as ToolCodec from "../schema/ToolCodec.ts"
import type { ApiEndpoint } from "./ApiEndpoint.ts"
import type * as WireParts from "./WireParts.ts"

/** The decoded parts of a request. */
export interface Values {
  readonly [place: string]: unknown
}

/** The arguments of a tool. */
export interface Arguments {
  readonly jsonSchema: Tool.ObjectSchema
  readonly decode: (input: unknown) => Effect.Effect<Values, Misfit.Misfit, unknown>
}

type Decode = (input: unknown) => Effect.Effect<unknown, Misfit.Misfit, unknown>

/** A part of the arguments. Its JSON Schema describes the members of the input that it is made of. */
interface Part {
  readonly place: WireParts.Place
  readonly jsonSchema: Tool.ObjectSchema
  readonly decode: Decode
}

/** The keywords of a schema that can be merged with others. */
const mergeable: ReadonlySet<string> = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "$defs",
  "title",
  "description",
  "examples",
  "default"
])

/** Returns whether a schema says nothing but which properties an object has. */
const isPlain = (schema: JsonSchema): boolean =>
  Object.keys(schema).every((keyword) => mergeable.has(keyword)) &&
  (schema["additionalProperties"] === undefined || typeof schema["additionalProperties"] === "boolean")

const requiredOf = ({ required }: JsonSchema): ReadonlyArray<string> =>
  Array.isArray(required) ? required.filter((name) => typeof name === "string") : []

const entriesOf = (schema: JsonSchema, keyword: "properties" | "$defs"): ReadonlyArray<[string, unknown]> => {
  const members = schema[keyword]
  return isObject(members) ? Object.entries(members) : []
}

/** Returns the part whose members are members of the input, or the one that is a single member of it. */
const part = (
  { input: schema, place }: WireParts.WirePart,
  nested: boolean,
  subject: string
): Result.Result<Part, SchemaRejected> => {
  const direct = ToolCodec.input(schema, { subject: `the ${place} of ${subject}`, isPart: true })
  if (!nested && Result.isSuccess(direct) && isPlain(direct.success.jsonSchema)) {
    return Result.succeed({ place, ...direct.success })
  }
  // A part whose members are all optional may be left out as a whole.
  const optional = Result.isSuccess(direct) && isPlain(direct.success.jsonSchema) &&
      requiredOf(direct.success.jsonSchema).length === 0
    ? direct.success.decode
    : undefined
  const member = Schema.Struct({ [place]: optional === undefined ? schema : Schema.optionalKey(schema) })
  return Result.map(ToolCodec.input(member, { subject: `the ${place} of ${subject}` }), ({ decode, jsonSchema }) => ({
    place,
    jsonSchema,
    decode: (input) => {
      if (optional !== undefined && isObject(input) && !Object.hasOwn(input, place)) return optional({})
      const valueOf = (decoded: unknown) => isObject(decoded) ? decoded[place] : undefined
      const decoded = decode(input)
      return Exit.isExit(decoded) && Exit.isSuccess(decoded)
        ? Exit.succeed(valueOf(decoded.value))
        : Effect.map(decoded, valueOf)
    }
  }))
}

/** Adds definitions to others. Returns the schema with references to the names that they have there. */
const addDefinitions = (into: Map<string, string>, schema: JsonSchema): JsonSchema => {
  const names = new Map<string, string>()
  for (const [name, definition] of entriesOf(schema, "$defs")) {
    const text = JSON.stringify(definition)
    let free = name
    for (let count = 1; into.has(free) && into.get(free) !== text; count++) free = `${name}_${count}`
    into.set(free, text)
    if (free !== name) names.set(`#/$defs/${name}`, `#/$defs/${free}`)
  }
  if (names.size === 0) return schema
  const renamed = (one: JsonSchema): JsonSchema => {
    const changed = mapParts(one, renamed)
    const target = typeof changed["$ref"] === "string" ? names.get(changed["$ref"]) : undefined
    return target === undefined ? changed : { ...changed, $ref: target }
  }
  for (const [name] of entriesOf(schema, "$defs")) {
    const free = names.get(`#/$defs/${name}`)?.slice("#/$defs/".length) ?? name
    const definition: unknown = JSON.parse(into.get(free) ?? "{}")
    if (isObject(definition)) into.set(free, JSON.stringify(renamed(definition)))
  }
  return renamed(schema)
}

/** Merges the schemas of the parts. Fails if two have a member of the same name. */
const merge = (parts: ReadonlyArray<Part>, subject: string): Result.Result<Tool.ObjectSchema, SchemaRejected> => {
  const owners = new Map<string, WireParts.Place>()
  const properties: Array<[string, unknown]> = []
  const definitions = new Map<string, string>()
  for (const { jsonSchema, place } of parts) {
    const schema = addDefinitions(definitions, jsonSchema)
    for (const [name, property] of entriesOf(schema, "properties")) {
      const owner = owners.get(name)
      if (owner !== undefined) {
        const problem = `the field "${name}" is in its ${owner} and in its ${place}, and a tool has one object of ` +
          `arguments; set the option arguments to "nested", at least for this endpoint`
        return Result.fail(new SchemaRejected({ subject, path: "", problem }))
      }
      owners.set(name, place)
      properties.push([name, property])
    }
  }
  const required = parts.flatMap(({ jsonSchema }) => requiredOf(jsonSchema))
  return Result.succeed({
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? undefined : { required }),
    ...(definitions.size === 0
      ? undefined
      : { $defs: Object.fromEntries([...definitions].map(([name, text]) => [name, JSON.parse(text)])) })
  })
}

/** Returns whether a path can carry the value, as UTF-8, and the value addresses no other resource. */
const isSegment = (value: unknown): boolean =>
  value !== "" && value !== "." && value !== ".." && !(typeof value === "string" && !value.isWellFormed())

/** Returns the misfit of values that a path cannot carry, or that would address another resource. */
const pathMisfit = (params: unknown): Misfit.Misfit | undefined => {
  const found = isObject(params)
    ? Object.entries(params).find(([, value]) => !isSegment(value))
    : undefined
  return found === undefined
    ? undefined
    : Misfit.ofProblem(`${found[0]}: Expected a segment of a path, got ${JSON.stringify(found[1])}`)
}

/** Combines the decoded parts, or their misfits. */
const combine = (
  parts: ReadonlyArray<Part>,
  decoded: ReadonlyArray<Effect.Effect<unknown, Misfit.Misfit, unknown>>
): Effect.Effect<Values, Misfit.Misfit, unknown> => {
  const settle = (results: ReadonlyArray<Result.Result<unknown, Misfit.Misfit>>): Exit.Exit<Values, Misfit.Misfit> => {
    const values: Record<string, unknown> = {}
    const problems: Array<string> = []
    for (const [index, { place }] of parts.entries()) {
      const result = results[index]
      if (result === undefined || Result.isSuccess(result)) values[place] = result?.success
      else problems.push(result.failure.problem)
    }
    const path = pathMisfit(values["params"])
    if (path !== undefined) problems.push(path.problem)
    return problems.length === 0
      ? Exit.succeed(values)
      : Exit.fail(new Misfit.Misfit({ problem: Excerpt.of(problems.join("\n"), Misfit.maxBytes) }))
  }
  // Most schemas decode at once, without a fiber.
  const done = decoded.flatMap((one) => Exit.isExit(one) && Exit.isSuccess(one) ? [Result.succeed(one.value)] : [])
  return done.length === decoded.length
    ? settle(done)
    : Effect.flatMap(Effect.forEach(decoded, Effect.result), settle)
}

/** Prepares the arguments of an endpoint. Fails if its schemas are not suitable, or their fields clash. */
export const make = (
  endpoint: ApiEndpoint,
  wire: ReadonlyArray<WireParts.WirePart>,
  nested: boolean
): Result.Result<Arguments, SchemaRejected> =>
  Result.gen(function*() {
    const subject = `the endpoint "${endpoint.name}"`
    const parts: Array<Part> = []
    for (const one of wire) parts.push(yield* part(one, nested, subject))
    const jsonSchema = yield* merge(parts, subject)
    return {
      jsonSchema,
      decode: (input) => {
        if (!isObject(input)) return Exit.fail(Misfit.ofProblem("the arguments: Expected an object"))
        return combine(parts, parts.map(({ decode }) => decode(input)))
      }
    }
  })
