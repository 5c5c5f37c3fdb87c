/** Calls of an endpoint in this process: its middleware and its handler run as for a request over a socket. */

import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import { HttpApiSchemaError } from "effect/http-api/HttpApiError"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { RegistrationError } from "../registry/RegistrationError.ts"
import { isObject } from "../schema/JsonSchemaKeywords.ts"
import * as Misfit from "../schema/Misfit.ts"
import { trust } from "../trust.ts"
import type { ApiEndpoint } from "./ApiEndpoint.ts"
import type { Values } from "./Arguments.ts"
import * as PathPattern from "./PathPattern.ts"
import type { WirePart } from "./WireParts.ts"

/** The headers that the program adds to the requests of one call. */
export type Headers = ReadonlyArray<readonly [name: string, value: string]>

/** Calls an endpoint. Fails with its declared errors, a `Misfit`, or an error of `tooLarge`; others are defects. */
export type Call = (values: Values, headers: Headers) => Effect.Effect<unknown, unknown, unknown>

/** Options of a call. */
export interface Options {
  /** The names of headers that arguments never set, in lower case. */
  readonly hidden: ReadonlySet<string>
  readonly maxResponseBytes: number
  /** Makes the error of a response of this size. */
  readonly tooLarge: (bytes: number) => unknown
}

type Route = HttpRouter.Route<unknown, unknown>

/** The service that `HttpApiBuilder.group` provides: a route for each handler, in the same order. */
interface GroupService {
  readonly routes: ReadonlyArray<Route>
  readonly handlers: ReadonlyMap<string, unknown>
}

/** Returns the route of an endpoint: its handler inside of its middleware, with the services of its Layer. */
const routeOf = (api: HttpApi.Top, { endpoint, group, name }: ApiEndpoint, layer: Context.Context<never>): Route => {
  // The type of the Layer states that its context has the service.
  const service = trust<GroupService | undefined>(layer.mapUnsafe.get(group.key))
  const index = [...service?.handlers.keys() ?? []].indexOf(endpoint.identifier)
  const route = service?.routes[index]
  if (route === undefined || route.method !== endpoint.method) {
    const problem = `the endpoint "${name}" has no handler; provide HttpApiBuilder.group(api, "${group.identifier}", …)`
    throw new RegistrationError({ group: api.identifier, problem })
  }
  return route
}

/**
 * Runs a route with the services of the Layer and of its own request. Of the MCP request it gets only the span: other
 * services have the token of the client.
 */
const isolated = (
  route: Route,
  layer: Context.Context<never>,
  services: ReadonlyMap<string, unknown>
): Effect.Effect<HttpServerResponse.HttpServerResponse, unknown> =>
  // The context has the services of the Layer, and those that a router provides to a route.
  trust<Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>>(
    Effect.updateContext(
      route.uninterruptible ? Effect.uninterruptible(route.handler) : route.handler,
      (outer: Context.Context<never>) => {
        const all = new Map(layer.mapUnsafe)
        for (const [key, service] of services) all.set(key, service)
        const span = Context.getOrUndefined(outer, Tracer.ParentSpan)
        if (span !== undefined) all.set(Tracer.ParentSpan.key, span)
        // As above: all services that the handler needs.
        return trust<Context.Context<unknown>>(Context.makeUnsafe(all))
      }
    )
  )

/** Returns the last value of each field. */
const recordOf = (fields: UrlParams.UrlParams): Record<string, string> =>
  Object.fromEntries(
    Object.entries(UrlParams.toRecord(fields)).map((
      [name, value]
    ) => [name, typeof value === "string" ? value : value.join(", ")])
  )

/** The parts of a request, as errors of the api name them, that are made of arguments. */
const ofArguments: ReadonlyMap<string, string> = new Map([
  ["Params", "params"],
  ["Query", "query"],
  ["Payload", "payload"]
])

/**
 * Returns the misfit of arguments that the api rejects although they fit the schema of the tool: HTTP cannot carry
 * every value, such as an empty array in a form. Every other error is a defect, because a route responds to the
 * declared ones.
 */
const failing = (cause: Cause.Cause<unknown>): Effect.Effect<never, Misfit.Misfit> => {
  const error = Cause.squash(cause)
  const place = HttpApiSchemaError.is(error) ? ofArguments.get(error.kind) : undefined
  return HttpApiSchemaError.is(error) && place !== undefined
    ? Effect.fail(Misfit.ofProblem(`${place}: ${error.cause.message}`))
    : Effect.orDie(Effect.failCause(cause))
}

/** The characters that RFC 9110, section 5.5, forbids in the value of a header. */
const notInHeaders = /[\0\r\n]/

type Decode = (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<unknown, unknown, unknown>

/** Returns whether an error of decoding says that the response is none of those that the endpoint declares. */
const isUndeclared = (error: unknown): boolean =>
  HttpClientError.isHttpClientError(error) || Schema.isSchemaError(error)

/** Prepares the calls of an endpoint. Throws a `RegistrationError` if it has no handler. */
export const make = (
  api: HttpApi.Top,
  one: ApiEndpoint,
  parts: ReadonlyArray<WirePart>,
  layer: Context.Context<never>,
  { hidden, maxResponseBytes, tooLarge }: Options
): Call => {
  const { endpoint, group } = one
  const route = routeOf(api, one, layer)
  const path = PathPattern.parse(endpoint.path)
  const patterns = PathPattern.patternsOf(path)
  // The function is typed by the api, whose type is erased here.
  const decode = trust<Decode>(
    HttpApiClient.decodeResponse(api, trust({ group: group.identifier, endpoint: endpoint.identifier }))
  )

  const respond = Effect.fnUntraced(function*(values: Values, headers: Headers, scope: Scope.Scope) {
    let params: Record<string, string> = {}
    let query = UrlParams.empty
    const empty: Record<string, ReadonlyArray<string>> = {}
    let body: HttpBody.HttpBody = HttpBody.empty
    const sent: Record<string, string> = {}
    for (const { encode, place } of parts) {
      // The values are decoded by the same schema, so only a defect of the schema can prevent their encoding.
      const wire = yield* Effect.orDie(encode(values[place]))
      if (wire._tag === "body") body = wire.body
      else if (wire._tag === "params") params = recordOf(wire.fields)
      else if (wire._tag === "query") {
        query = UrlParams.appendAll(query, wire.fields)
        for (const name of wire.empty) empty[name] = []
      } else {
        for (const [name, value] of Object.entries(recordOf(wire.fields))) {
          // A handler may pass the header on, where a line break would begin another header.
          if (notInHeaders.test(value)) {
            return yield* Effect.fail(Misfit.ofProblem(`${name}: Expected a header without line breaks`))
          }
          if (!hidden.has(name.toLowerCase())) sent[name.toLowerCase()] = value
        }
      }
    }
    for (const [name, pattern] of patterns) {
      const value = params[name]
      if (value !== undefined && !pattern.test(value)) {
        return yield* Effect.fail(Misfit.ofProblem(`${name}: Expected a string matching the RegExp ${pattern.source}`))
      }
    }
    for (const [name, value] of headers) sent[name.toLowerCase()] = value
    const request = HttpClientRequest.make(endpoint.method)(`http://localhost${PathPattern.write(path, params)}`).pipe(
      HttpClientRequest.setUrlParams(query),
      HttpClientRequest.setBody(body),
      HttpClientRequest.setHeaders(sent)
    )
    const services = new Map<string, unknown>([
      [HttpServerRequest.HttpServerRequest.key, HttpServerRequest.fromClientRequest(request)],
      [HttpServerRequest.ParsedSearchParams.key, { ...UrlParams.toRecord(query), ...empty }],
      [HttpRouter.RouteContext.key, { route, params }],
      [Scope.Scope.key, scope]
    ])
    const response = yield* Effect.catchCause(isolated(route, layer, services), failing)
    const kind = response.body._tag
    if (kind !== "Empty" && kind !== "Uint8Array") {
      return yield* Effect.die(
        new Error(`the endpoint "${one.name}" returned a body of the kind ${kind}, which a tool cannot return`)
      )
    }
    if (response.body._tag === "Uint8Array" && response.body.contentLength > maxResponseBytes) {
      return yield* Effect.fail(tooLarge(response.body.contentLength))
    }
    return yield* Effect.catch(
      decode(HttpServerResponse.toClientResponse(response, { request })),
      (error) => isUndeclared(error) ? Effect.die(error) : Effect.fail(error)
    )
  })

  const bodyOf = (value: unknown): unknown =>
    isObject(value) && HttpApiSchema.WithHeadersValueTypeId in value ? value["body"] : value
  return (values, headers) =>
    Effect.scopedWith((scope) => respond(values, headers, scope)).pipe(
      Effect.map(bodyOf),
      Effect.mapError(bodyOf)
    )
}
