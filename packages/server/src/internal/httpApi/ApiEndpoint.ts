/** The endpoints of an `HttpApi`, with the reason why some cannot be tools. */

import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/** An endpoint of an api. */
export interface ApiEndpoint {
  /** The names of its group and of itself, joined by a dot; without the group, if that is at the top level. */
  readonly name: string
  readonly group: HttpApiGroup.Top
  readonly endpoint: HttpApiEndpoint.Top
  /** The annotations of the endpoint over those of its group and of the api. */
  readonly annotations: Context.Context<never>
  readonly success: Schema.Top
  /** The declared errors, those of middleware included. */
  readonly errors: ReadonlyArray<Schema.Top>
  /** The reason why the endpoint cannot be a tool. */
  readonly obstacle: string | undefined
}

type Encoding = { readonly _tag: string }

/** The encodings of a payload that can be made of arguments, the best first. */
export const payloadEncodings: ReadonlyArray<string> = ["Json", "FormUrlEncoded", "Text"]

/** Returns the schema of a body, without that of its headers. */
const bodyOf = (schema: Schema.Top): Schema.Top => HttpApiSchema.isWithHeaders(schema) ? schema.schema : schema

/** Returns the encoding of a response; `undefined` is JSON. */
const encodingOf = SchemaAST.resolveAt<Encoding>("~httpApiEncoding")

const isBinary = (schema: Schema.Top): boolean =>
  (encodingOf(schema.ast) ?? encodingOf(bodyOf(schema).ast))?._tag === "Uint8Array"

/** Returns the schema of a body that has a JSON form: a body without content is described by what it stands for. */
const jsonOf = (schema: Schema.Top): Schema.Top => {
  const body = bodyOf(schema)
  return HttpApiSchema.isNoContent(body.ast) && !SchemaAST.isVoid(body.ast) ? Schema.toType(body) : body
}

const obstacleOf = (
  { payload, success }: HttpApiEndpoint.Top,
  successes: ReadonlyArray<Schema.Top>
): string | undefined => {
  const encodings = [...payload.values()].map(({ encoding }): string => encoding._tag)
  if (encodings.length > 0 && !encodings.some((tag) => payloadEncodings.includes(tag))) {
    return `its payload is ${encodings.includes("Multipart") ? "multipart" : "a stream or bytes"}`
  }
  // An endpoint without a success schema has the one of no content.
  if (success.size > successes.length) return "it answers with a stream or an upgrade"
  return successes.some(isBinary) ? "it answers with bytes" : undefined
}

/** Lists the endpoints of an api, in its order. */
export const list = (api: HttpApi.Top): ReadonlyArray<ApiEndpoint> => {
  const found: Array<ApiEndpoint> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors, group, mergedAnnotations, successes }) => {
      const all = [...successes.values()].flat()
      const [first = Schema.Void, ...others] = all.map(jsonOf)
      found.push({
        name: group.topLevel ? endpoint.identifier : `${group.identifier}.${endpoint.identifier}`,
        group,
        endpoint,
        annotations: mergedAnnotations,
        success: others.length === 0 ? first : Schema.Union([first, ...others]),
        errors: [...errors.values()].flat().map(jsonOf),
        obstacle: obstacleOf(endpoint, all)
      })
    }
  })
  return found
}

/** Returns whether the documentation of the api leaves the endpoint out. */
export const isExcluded = ({ annotations }: ApiEndpoint): boolean => Context.get(annotations, OpenApi.Exclude)

const safe: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"])

/** Returns the hints that follow from the semantics of a method (RFC 9110, section 9.2). */
const hintsOf = (method: string): Context.Context<never> => {
  const isSafe = safe.has(method)
  let hints = Context.makeUnsafe<never>(new Map())
  if (isSafe) hints = Context.add(hints, Tool.Readonly, true)
  if (isSafe || method === "PUT" || method === "DELETE") hints = Context.add(hints, Tool.Idempotent, true)
  return method === "DELETE" ? Context.add(hints, Tool.Destructive, true) : hints
}

const textOf = <I>(annotations: Context.Context<never>, key: Context.Key<I, string>): string | undefined =>
  Context.getOrUndefined(annotations, key)

/** Returns the definition of the tool without its arguments. */
export const toTool = (
  { annotations, endpoint, errors, success }: ApiEndpoint,
  name: string,
  failure: Schema.Top
): Tool.Any => {
  const summary = textOf(endpoint.annotations, OpenApi.Summary)
  const description = textOf(endpoint.annotations, OpenApi.Description) ?? summary
  const tool = Tool.make(name, {
    success,
    failure: Schema.Union([...errors, failure]),
    ...(description === undefined ? undefined : { description })
  })
  const titled = summary === undefined ? tool : tool.annotate(Tool.Title, summary)
  // Annotations of the endpoint, such as `Tool.Destructive`, come last, because they know more than the method.
  return titled.annotateMerge(hintsOf(endpoint.method)).annotateMerge(annotations)
}
