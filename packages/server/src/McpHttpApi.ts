/**
 * The endpoints of an `HttpApi` as tools. They are called in this process, without a socket: the api's own middleware,
 * security, decoding and handlers run as for a request over HTTP.
 *
 * @stability unstable
 */
import type { McpError } from "@effect-mcp/protocol"
import { ForeignCall } from "@effect-mcp/session/internal"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import type { HttpMethod } from "effect/http/HttpMethod"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as GroupRegistration from "./internal/entries/GroupRegistration.ts"
import { GroupRuntime } from "./internal/entries/GroupRuntime.ts"
import type { Handled } from "./internal/entries/HandlerRecord.ts"
import * as ToolEntry from "./internal/entries/ToolEntry.ts"
import * as ApiEndpoint from "./internal/httpApi/ApiEndpoint.ts"
import * as Arguments from "./internal/httpApi/Arguments.ts"
import * as EndpointCall from "./internal/httpApi/EndpointCall.ts"
import * as WireParts from "./internal/httpApi/WireParts.ts"
import type { ToolEntry as Entry } from "./internal/registry/Entry.ts"
import { RegistrationError } from "./internal/registry/RegistrationError.ts"
import { trust } from "./internal/trust.ts"
import type { RequestServices } from "./McpMiddleware.ts"
import { McpServer } from "./McpServer.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The names of the endpoints of groups: `group.endpoint`, or the name of the endpoint alone if the group is at the top
 * level.
 *
 * @category models
 */
export type EndpointName<Groups> = Groups extends HttpApiGroup.HttpApiGroup<infer Id, infer Endpoints, infer TopLevel>
  ? TopLevel extends true ? HttpApiEndpoint.Identifier<Endpoints> : `${Id}.${HttpApiEndpoint.Identifier<Endpoints>}`
  : never

/** The groups of an api that have one of these endpoints. */
type GroupsOf<Groups, Name extends string> = Groups extends HttpApiGroup.Constraint
  ? [Extract<EndpointName<Groups>, Name>] extends [never] ? never : Groups
  : never

/**
 * The services that the Layer of an api needs: the handlers of the groups with the chosen endpoints, and the services
 * of their schemas. The Layers of the handlers need the middleware of the api.
 *
 * @category models
 */
export type ApiServices<Id extends string, Groups extends HttpApiGroup.Constraint, Name extends string> =
  | HttpApiGroup.ToService<Id, GroupsOf<Groups, Name>>
  | HttpApiGroup.ClientServices<GroupsOf<Groups, Name>>
  | HttpApiEndpoint.ServerServices<HttpApiGroup.Endpoints<GroupsOf<Groups, Name>>>

/**
 * An endpoint, as the functions of {@link Options} get it.
 *
 * @category models
 */
export interface Endpoint {
  /** `group.endpoint`, or the name of the endpoint alone if the group is at the top level. */
  readonly name: string
  /** The identifier of the group. */
  readonly group: string
  /** The identifier of the endpoint in its group. */
  readonly identifier: string
  readonly method: HttpMethod
  /** The path, such as `/notes/:id`. */
  readonly path: string
  /** The annotations of the endpoint over those of its group and of the api. */
  readonly annotations: Context.Context<never>
}

/**
 * The headers of a request to the api.
 *
 * @category models
 */
export interface RequestHeaders {
  readonly [name: string]: string | Redacted.Redacted | undefined
}

/**
 * The form of the arguments of a tool. `merged`: the fields of path parameters, query, headers and payload are members
 * of one object. `nested`: the object has a member `params`, `query`, `headers` and `payload` for each part.
 *
 * @category models
 */
export type ArgumentForm = "merged" | "nested"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options<Name extends string = string, R = never, RV = never> {
  /**
   * The endpoints that are tools. One that cannot be a tool is then a defect of the Layer. By default all endpoints are
   * tools, except for those that the annotation `OpenApi.Exclude` hides, and those that cannot be tools: their payload
   * is multipart, a stream or bytes, or they answer with a stream, bytes or an upgrade.
   */
  readonly only?: ReadonlyArray<Name>
  /** Leaves out the endpoints for which it returns `false`. */
  readonly filter?: (endpoint: Endpoint) => boolean
  /** Returns the name of the tool of an endpoint. Default: the name of the endpoint, such as `notes.create`. */
  readonly rename?: (endpoint: Endpoint) => string
  /**
   * The form of the arguments. Default `merged`. Two parts of an endpoint that have a field of the same name are then a
   * defect of the Layer that names both; choose `nested` for that endpoint. A part that is not a struct, such as an
   * array as payload, is always nested.
   */
  readonly arguments?: ArgumentForm | ((endpoint: Endpoint) => ArgumentForm)
  /**
   * Returns the effect that decides for each request whether its client sees the tool, as `visible` of a group's member
   * does. By default, and for endpoints for which it returns `undefined`, every client sees the tool.
   */
  readonly visible?: (endpoint: Endpoint) => Effect.Effect<boolean, never, RV> | undefined
  /**
   * Makes headers for each request to the api, such as an `Authorization` of the principal in `McpRequest`. They
   * replace arguments of the same name. No header of the MCP client's own request reaches the api: the specification
   * forbids to pass its token on. An effect that takes more than 30 seconds, or dies, fails the call with −32603.
   */
  readonly headers?: Effect.Effect<RequestHeaders, McpError.McpError, R>
  /**
   * The names of headers that endpoints declare, but that are no arguments of tools, because `headers` sets them.
   * `authorization`, `proxy-authorization` and `cookie` never are arguments.
   */
  readonly hiddenHeaders?: ReadonlyArray<string>
  /**
   * The size of a response in bytes up to which its tool returns it. For a larger one, the tool returns a
   * `ResponseTooLargeError` with `isError`. Default 4 MiB.
   */
  readonly maxResponseBytes?: number
}

/**
 * The failure of a tool whose endpoint responded with more than `maxResponseBytes`. The endpoint has done its work.
 *
 * @example
 * ```ts
 * import * as McpHttpApi from "@effect-mcp/server/McpHttpApi"
 *
 * export const message = new McpHttpApi.ResponseTooLargeError({ bytes: 3000, limit: 2000 }).message
 * // => "the response has 3000 bytes, more than the limit of 2000; request less"
 * ```
 *
 * @category errors
 */
export class ResponseTooLargeError extends Schema.TaggedError<ResponseTooLargeError>()("ResponseTooLargeError", {
  bytes: Schema.Finite,
  limit: Schema.Finite
}) {
  override get message(): string {
    return `the response has ${this.bytes} bytes, more than the limit of ${this.limit}; request less`
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Registration
// ---------------------------------------------------------------------------------------------------------------------

type AnyOptions = Options<string, unknown, unknown>

/** Headers that carry the identity of a client. */
const credentials: ReadonlyArray<string> = ["authorization", "proxy-authorization", "cookie"]

/** The time that the effect of `headers` has. */
const headersMillis = 30_000

const publicEndpoint = ({ annotations, endpoint, group, name }: ApiEndpoint.ApiEndpoint): Endpoint => ({
  name,
  group: group.identifier,
  identifier: endpoint.identifier,
  method: endpoint.method,
  path: endpoint.path,
  annotations
})

/** Returns the endpoints that are tools. Throws a `RegistrationError` if one of `only` cannot be. */
const chosen = (
  api: HttpApi.Top,
  { filter = () => true, only }: AnyOptions
): ReadonlyArray<ApiEndpoint.ApiEndpoint> => {
  const all = ApiEndpoint.list(api)
  const fail = (problem: string) => {
    throw new RegistrationError({ group: api.identifier, problem })
  }
  for (const name of only ?? []) {
    const found = all.find((endpoint) => endpoint.name === name)
    if (found === undefined) fail(`it has no endpoint "${name}", which the option only names`)
    else if (found.obstacle !== undefined) {
      fail(`the endpoint "${name}" cannot be a tool: ${found.obstacle}; remove it from the option only`)
    }
  }
  return all.filter((endpoint) =>
    (only === undefined
      ? endpoint.obstacle === undefined && !ApiEndpoint.isExcluded(endpoint)
      : only.includes(endpoint.name)) && filter(publicEndpoint(endpoint))
  )
}

/** Returns the headers that the program adds to a request. */
const headersOf = (
  { headers }: AnyOptions
): Effect.Effect<EndpointCall.Headers, McpError.McpError, unknown> => {
  if (headers === undefined) return Effect.succeed([])
  // The services of the effect are in the context in which it runs.
  const made = ForeignCall.within(
    "headers",
    headersMillis,
    () => trust<Effect.Effect<RequestHeaders, McpError.McpError>>(headers)
  )
  return Effect.map(
    Effect.catchTag(made, "TimedOut", Effect.die),
    (record) =>
      Object.entries(record).flatMap(([name, value]) =>
        value === undefined
          ? []
          : [[name, Redacted.isRedacted(value) ? String(Redacted.value(value)) : value] as const]
      )
  )
}

/** Prepares the tool of an endpoint. Throws a `RegistrationError` that names the endpoint if it cannot be served. */
const prepare = (
  api: HttpApi.Top,
  one: ApiEndpoint.ApiEndpoint,
  runtime: GroupRuntime,
  options: AnyOptions
): { readonly entry: Entry; readonly handled: Handled } => {
  const endpoint = publicEndpoint(one)
  const { arguments: form = "merged", hiddenHeaders = [], maxResponseBytes = 4 * 1024 * 1024 } = options
  const hidden = new Set([...credentials, ...hiddenHeaders].map((name) => name.toLowerCase()))
  const parts = WireParts.make(one.endpoint, hidden)
  const prepared = Arguments.make(one, parts, (typeof form === "string" ? form : form(endpoint)) === "nested")
  if (Result.isFailure(prepared)) {
    throw new RegistrationError({ group: api.identifier, problem: prepared.failure.message })
  }
  const call = EndpointCall.make(api, one, parts, runtime.layer, {
    hidden,
    maxResponseBytes,
    tooLarge: (bytes) => new ResponseTooLargeError({ bytes, limit: maxResponseBytes })
  })
  const name = options.rename?.(endpoint) ?? one.name
  const headers = headersOf(options)
  const visible = options.visible?.(endpoint)
  const handler = (values: Arguments.Values) => Effect.flatMap(headers, (made) => call(values, made))
  const handled = { kind: "tool", name, handler, ...(visible === undefined ? undefined : { visible }) } as const
  try {
    return {
      handled,
      entry: ToolEntry.make(
        runtime,
        ApiEndpoint.toTool(one, name, ResponseTooLargeError),
        handled,
        prepared.success
      )
    }
  } catch (error) {
    if (!(error instanceof RegistrationError)) throw error
    throw new RegistrationError({ group: error.group, problem: `the endpoint "${one.name}": ${error.problem}` })
  }
}

/**
 * Registers the endpoints of an api as tools with the server that is provided to it. Closing the scope of the Layer
 * removes them. The Layer needs the handlers of the api's groups.
 *
 * A tool has the name of its endpoint, such as `notes.create`, the title of `OpenApi.Summary`, the description of
 * `OpenApi.Description`, and the hints that follow from the method. Annotations of `effect/ai/Tool` on the endpoint,
 * such as `Tool.Destructive`, replace those hints. Errors that the endpoint or its middleware declares are results with
 * `isError`. Any other error response, and a defect, is −32603 without details.
 *
 * An endpoint that cannot be served is a defect of the Layer that names it: two parts with a field of the same name, a
 * schema that is not suitable for tools, or a name that the specification does not allow (TOOL-10).
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import * as McpHttpApi from "@effect-mcp/server/McpHttpApi"
 * import { ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as HttpApi from "effect/http-api/HttpApi"
 * import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
 * import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
 * import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
 * import * as Layer from "effect/Layer"
 * import * as Schema from "effect/Schema"
 *
 * const Api = HttpApi.make("api").add(
 *   HttpApiGroup.make("notes").add(
 *     HttpApiEndpoint.get("read", "/notes/:id", {
 *       params: { id: Schema.Int },
 *       success: Schema.Struct({ id: Schema.Int, title: Schema.String })
 *     })
 *   )
 * )
 * const NotesLive = HttpApiBuilder.group(Api, "notes", (handlers) =>
 *   handlers.handle("read", ({ params: { id } }) => Effect.succeed({ id, title: "Bees" })))
 *
 * const ToolsLive = McpHttpApi.layer(Api, { only: ["notes.read"] }).pipe(Layer.provide(NotesLive))
 * const info = { name: "notes", version: "1.0.0" }
 *
 * export const note = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   const { structuredContent } = yield* session.callTool("notes.read", { id: 7 })
 *   return structuredContent
 * }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), McpServer.layerMemory(ToolsLive, { info }))))
 * // => { id: 7, title: "Bees" }
 * ```
 *
 * @category layers
 */
export const layer = <
  Id extends string,
  Groups extends HttpApiGroup.Constraint,
  const Only extends EndpointName<Groups> = EndpointName<Groups>,
  R = never,
  RV = never
>(
  api: HttpApi.HttpApi<Id, Groups>,
  options: Options<Only, R, RV> = {}
): Layer.Layer<never, never, McpServer | ApiServices<Id, Groups, Only> | Exclude<R | RV, RequestServices>> =>
  Layer.effectDiscard(Effect.gen(function*() {
    const server = yield* McpServer
    const context = yield* Effect.context<ApiServices<Id, Groups, Only> | Exclude<R | RV, RequestServices>>()
    // The bridge reads the api without its types.
    const erased = trust<HttpApi.Top>(api)
    const runtime = new GroupRuntime(api.identifier, server.mount, [], trust<Context.Context<never>>(context))
    const tools = chosen(erased, options).map((endpoint) => prepare(erased, endpoint, runtime, options))
    const entries = tools.map(({ entry }) => entry)
    const visible = GroupRegistration.visibility(runtime, entries, tools.map(({ handled }) => handled))
    yield* server.register({ group: api.identifier, entries, visible })
  }))
