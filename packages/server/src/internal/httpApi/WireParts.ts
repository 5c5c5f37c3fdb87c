/** The parts of a request to an endpoint, each with the schema of its arguments and its encoding for HTTP. */

import * as Effect from "effect/Effect"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpMethod from "effect/http/HttpMethod"
import * as UrlParams from "effect/http/UrlParams"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { isObject } from "../schema/JsonSchemaKeywords.ts"
import { trust } from "../trust.ts"
import { payloadEncodings } from "./ApiEndpoint.ts"
import { parse, patternsOf } from "./PathPattern.ts"

/** The parts of a request that have schemas. */
export type Place = "params" | "query" | "headers" | "payload"

/** A part of a request as HTTP carries it. */
export type Wire =
  | {
    readonly _tag: "params" | "query" | "headers"
    readonly fields: UrlParams.UrlParams
    /** The fields that are empty arrays. A URL cannot carry them. */
    readonly empty: ReadonlyArray<string>
  }
  | { readonly _tag: "body"; readonly body: HttpBody.HttpBody }

/** A part of a request. */
export interface WirePart {
  readonly place: Place
  /** The schema of the values, as tools decode and describe them. */
  readonly input: Schema.Top
  /** Encodes a value. Its services are those of the schema. */
  readonly encode: (value: unknown) => Effect.Effect<Wire, unknown, unknown>
}

/** A schema whose type the compiler no longer knows. */
type Erased = Schema.Codec<unknown, unknown, unknown, unknown>

const encoding = (schema: Schema.Top): (value: unknown) => Effect.Effect<unknown, unknown, unknown> =>
  Schema.encodeUnknownEffect(trust<Erased>(schema))

/**
 * Returns a schema of strings without the fields that are hidden, and with those optional that have a default: the
 * type of such a field is required, so a client would have to know the default.
 */
const withoutDefaults = (schema: Schema.Top, hidden: ReadonlySet<string>): Schema.Top => {
  const { ast } = schema
  if (ast._tag !== "Objects" || ast.encoding !== undefined || ast.indexSignatures.length > 0) return schema
  let isChanged = false
  const fields: Record<string, Schema.Top> = {}
  for (const { name, type } of ast.propertySignatures) {
    const field = Schema.make<Schema.Top>(type)
    if (typeof name !== "string") return schema
    if (hidden.has(name.toLowerCase())) {
      isChanged = true
    } else if (SchemaAST.isOptional(SchemaAST.toEncoded(type)) && !SchemaAST.isOptional(type)) {
      isChanged = true
      fields[name] = Schema.optionalKey(field)
    } else {
      fields[name] = field
    }
  }
  return isChanged ? Schema.Struct(fields) : schema
}

/** Returns a schema of path parameters whose texts match the patterns of the path. */
const withPatterns = (schema: Schema.Top, patterns: ReadonlyMap<string, RegExp>): Schema.Top => {
  const { ast } = schema
  if (patterns.size === 0 || ast._tag !== "Objects" || ast.encoding !== undefined || ast.indexSignatures.length > 0) {
    return schema
  }
  const fields: Record<string, Schema.Top> = {}
  for (const { name, type } of ast.propertySignatures) {
    if (typeof name !== "string") return schema
    const pattern = patterns.get(name)
    const isText = type._tag === "String" && type.encoding === undefined
    fields[name] = pattern === undefined || !isText
      ? Schema.make<Schema.Top>(type)
      : Schema.make<Schema.String>(type).check(Schema.isPattern(pattern))
  }
  return Schema.Struct(fields)
}

const noneHidden: ReadonlySet<string> = new Set()

/** Returns a part that is a record of strings in HTTP. */
const fields = (
  place: Place,
  tag: "params" | "query" | "headers",
  schema: Schema.Top,
  hidden: ReadonlySet<string> = noneHidden
): WirePart => {
  const wire = withoutDefaults(schema, hidden)
  const encode = encoding(wire)
  return {
    place,
    input: Schema.toType(wire),
    // A schema of such a part encodes to strings, because HTTP has no other values there.
    encode: (value) =>
      Effect.map(encode(value), (encoded) => ({
        _tag: tag,
        fields: UrlParams.fromInput(trust<UrlParams.Input>(encoded)),
        empty: isObject(encoded)
          ? Object.keys(encoded).filter((name) => Array.isArray(encoded[name]) && encoded[name].length === 0)
          : []
      }))
  }
}

const bodyOf = (tag: string, encoded: unknown, contentType: string): HttpBody.HttpBody => {
  // The schema of a form encodes to its fields.
  if (tag === "FormUrlEncoded") return HttpBody.urlParams(trust<UrlParams.Input>(encoded), contentType)
  const text = tag === "Text" ? String(encoded) : JSON.stringify(encoded)
  return text === undefined ? HttpBody.empty : HttpBody.text(text, contentType)
}

/** Returns the part of the payload, in the best of its encodings. */
const payload = ({ method, payload: payloads }: HttpApiEndpoint.Top): ReadonlyArray<WirePart> => {
  const all = [...payloads.values()]
  const best = payloadEncodings
    .flatMap((tag) => all.filter(({ encoding }) => encoding._tag === tag))
    .at(0)
  if (best === undefined) return []
  const [first, ...others] = best.schemas
  const schema: Schema.Top = others.length === 0 ? first : Schema.Union([first, ...others])
  if (!HttpMethod.hasBody(method)) return [fields("payload", "query", schema)]
  const { _tag: tag, contentType } = best.encoding
  const wire = tag === "FormUrlEncoded" ? withoutDefaults(schema, noneHidden) : schema
  const encode = encoding(wire)
  return [{
    place: "payload",
    // The encoded side of JSON is what clients send. That of the others has only strings.
    input: tag === "Json" ? wire : Schema.toType(wire),
    encode: (value) =>
      Effect.map(encode(value), (encoded) => ({ _tag: "body", body: bodyOf(tag, encoded, contentType) }))
  }]
}

/** Returns the parts of an endpoint. `hidden` has the names of the headers that are no arguments, in lower case. */
export const make = (endpoint: HttpApiEndpoint.Top, hidden: ReadonlySet<string>): ReadonlyArray<WirePart> => [
  ...(endpoint.params === undefined
    ? []
    : [fields("params", "params", withPatterns(endpoint.params, patternsOf(parse(endpoint.path))))]),
  ...(endpoint.query === undefined ? [] : [fields("query", "query", endpoint.query)]),
  ...(endpoint.headers === undefined ? [] : [fields("headers", "headers", endpoint.headers, hidden)]),
  ...payload(endpoint)
]
