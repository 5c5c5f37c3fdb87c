/**
 * Clients that are typed by the definitions of a group: calls with the values of its schemas, and with the failures
 * that it declares.
 *
 * @stability unstable
 */
import type { Completion, Prompt, Resource } from "@effect-mcp/protocol"
import type * as McpGroup from "@effect-mcp/server/McpGroup"
import type * as McpMiddleware from "@effect-mcp/server/McpMiddleware"
import * as McpMount from "@effect-mcp/server/McpMount"
import type * as McpPrompt from "@effect-mcp/server/McpPrompt"
import type * as McpResource from "@effect-mcp/server/McpResource"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as Tool from "effect/ai/Tool"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { trust } from "./internal/trust.ts"
import * as TypedGroup from "./internal/typed/TypedGroup.ts"
import type { CallError, CallOptions } from "./McpCall.ts"
import type { InvalidArgumentsError, ToolFailedError, UnexpectedResultError } from "./TypedCallError.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Arguments and results
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The arguments of a function. The first one may be left out if it has no required property. It is of any kind if the
 * definition has a JSON Schema in place of parameters.
 *
 * @category models
 */
export type Given<Input, Rest extends ReadonlyArray<unknown>> = unknown extends Input
  ? readonly [input?: { readonly [name: string]: unknown }, ...Rest]
  : {} extends Input ? readonly [input?: Input, ...Rest]
  : readonly [input: Input, ...Rest]

/**
 * The contents of a resource: a value of its schema, or the whole result if it has none.
 *
 * @category models
 */
export type ContentOf<Content> = Content extends Schema.Constraint ? Content["Type"] : Resource.ReadResourceResult

/**
 * The services that the schema of contents needs to decode them.
 *
 * @category models
 */
export type ContentServices<Content> = Content extends Schema.Constraint ? Content["DecodingServices"] : never

/**
 * The errors of reading a resource. Contents without a schema always fit.
 *
 * @category models
 */
export type ReadError<Content> = CallError | (Content extends Schema.Constraint ? UnexpectedResultError : never)

/**
 * Completes an argument: `typed` is its text so far, and `others` are the texts of arguments that have a value.
 *
 * @category models
 */
export type Complete<Arguments> = <R = never>(
  argument: Extract<keyof Arguments, string>,
  typed: string,
  others?: { readonly [Name in keyof Arguments]?: string },
  options?: CallOptions<R>
) => Effect.Effect<Completion.CompleteResult["completion"], CallError, R>

// ---------------------------------------------------------------------------------------------------------------------
// Members
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Calls a tool. Fails with a failure that its definition declares, and with `ToolFailedError` if the tool fails
 * otherwise.
 *
 * @category models
 */
export type ToolCall<T> = <R = never>(
  ...given: Given<Tool.Parameters<T>, readonly [options?: CallOptions<R>]>
) => Effect.Effect<
  Tool.Success<T>,
  Tool.Failure<T> | ToolFailedError | InvalidArgumentsError | UnexpectedResultError | CallError,
  R | Tool.ParametersEncodingServices<T> | Tool.ResultDecodingServices<T>
>

/**
 * Reads a resource.
 *
 * @category models
 */
export interface ResourceRead<Content> {
  <R = never>(
    options?: CallOptions<R>
  ): Effect.Effect<ContentOf<Content>, ReadError<Content>, R | ContentServices<Content>>
  /** The URI under which the server has the resource. */
  readonly uri: string
  /** Streams the contents: those now, and those after each update. */
  readonly watch: Stream.Stream<ContentOf<Content>, ReadError<Content>, ContentServices<Content>>
}

/**
 * Reads a resource of a template.
 *
 * @category models
 */
export interface TemplateRead<Parameters extends Schema.Struct.Fields, Content> {
  <R = never>(
    ...given: Given<Schema.Struct.Type<Parameters>, readonly [options?: CallOptions<R>]>
  ): Effect.Effect<
    ContentOf<Content>,
    InvalidArgumentsError | ReadError<Content>,
    R | Schema.Struct.EncodingServices<Parameters> | ContentServices<Content>
  >
  /** Returns the URI under which the server has the resource. */
  readonly uri: (
    ...given: Given<Schema.Struct.Type<Parameters>, readonly []>
  ) => Effect.Effect<string, InvalidArgumentsError, Schema.Struct.EncodingServices<Parameters>>
  /** Streams the contents: those now, and those after each update. */
  readonly watch: (
    ...given: Given<Schema.Struct.Type<Parameters>, readonly []>
  ) => Stream.Stream<
    ContentOf<Content>,
    InvalidArgumentsError | ReadError<Content>,
    Schema.Struct.EncodingServices<Parameters> | ContentServices<Content>
  >
  readonly complete: Complete<Parameters>
}

/**
 * Gets the messages of a prompt.
 *
 * @category models
 */
export interface PromptGet<Arguments extends Schema.Struct.Fields> {
  <R = never>(
    ...given: Given<Schema.Struct.Type<Arguments>, readonly [options?: CallOptions<R>]>
  ): Effect.Effect<
    Prompt.GetPromptResult,
    InvalidArgumentsError | CallError,
    R | Schema.Struct.EncodingServices<Arguments>
  >
  readonly complete: Complete<Arguments>
}

/**
 * The members of a group as functions, by their names.
 *
 * @category models
 */
export interface McpTypedClient<M extends McpGroup.Member> {
  readonly tools: { readonly [T in Extract<M, Tool.Any> as T["name"]]: ToolCall<T> }
  readonly resources: { readonly [T in Extract<M, McpResource.AnyResource> as T["name"]]: ResourceRead<T["content"]> }
  readonly templates: {
    readonly [T in Extract<M, McpResource.AnyTemplate> as T["name"]]: TemplateRead<T["parameters"], T["content"]>
  }
  readonly prompts: { readonly [T in Extract<M, McpPrompt.AnyPrompt> as T["name"]]: PromptGet<T["arguments"]> }
}

// ---------------------------------------------------------------------------------------------------------------------
// Constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Options of {@link Of}: those of `McpMount.prefixed`, if the server mounts the group under a prefix.
 *
 * @category models
 */
export interface Options extends McpMount.Options {
  /** The prefix of the mount, or the prefixes of nested mounts, from the outermost to the innermost. Default: none. */
  readonly prefix?: string | ReadonlyArray<string>
}

/**
 * Types a client by a group. The codecs of a group are derived once, when they are used first.
 *
 * @category models
 */
export type Of = <M extends McpGroup.Member, Middleware extends ReadonlyArray<McpMiddleware.AnyService>>(
  group: McpGroup.McpGroup<M, Middleware>,
  options?: Options
) => McpTypedClient<M>

const namingOf = ({ prefix = [], ...options }: Options): McpMount.Naming =>
  [prefix].flat().reduceRight<McpMount.Naming>(
    (inner, next) => {
      const outer = McpMount.naming(next, options)
      return { name: (name) => outer.name(inner.name(name)), uri: (uri) => outer.uri(inner.uri(uri)) }
    },
    { name: (name) => name, uri: (uri) => uri }
  )

/**
 * Returns the function that types a client. `McpClient.make` gives it to each client as its member `of`.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget } from "@effect-mcp/client"
 * import { McpGroup, McpServer } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {}
 *
 * const Tasks = McpGroup.make(
 *   "tasks",
 *   Tool.make("due", { parameters: Schema.Struct({ id: Schema.Int }), success: Schema.Date, failure: NoSuchTask })
 * )
 *
 * const TasksLive = Tasks.toLayer((handlers) =>
 *   handlers.tool("due", ({ id }) => id === 1 ? Effect.succeed(new Date(0)) : Effect.fail(new NoSuchTask({ id })))
 * )
 *
 * const info = { name: "example", version: "1.0.0" }
 * const target = McpTarget.transport(McpServer.layerMemory(TasksLive, { info }))
 *
 * export const years = Effect.gen(function*() {
 *   const client = yield* McpClient.make(target, { info })
 *   const { due } = client.of(Tasks).tools
 *   const known = yield* due({ id: 1 })
 *   const unknown = yield* due({ id: 2 }).pipe(Effect.catchTag("NoSuchTask", ({ id }) => Effect.succeed(id)))
 *   return [known.getUTCFullYear(), unknown]
 * }).pipe(Effect.scoped) // => [1970, 2]
 * ```
 *
 * @category constructors
 */
export const make = (client: TypedGroup.Client): Of => {
  const bound = new WeakMap<McpGroup.AnyGroup, Map<string, TypedGroup.Members>>()
  const of = (group: McpGroup.AnyGroup, options: Options = {}): TypedGroup.Members => {
    const key = JSON.stringify([options.prefix, options.separator, options.uris])
    const known = bound.get(group) ?? new Map<string, TypedGroup.Members>()
    bound.set(group, known)
    const members = known.get(key) ?? TypedGroup.bind(client, group, namingOf(options))
    known.set(key, members)
    return members
  }
  // The functions of a member have the types of its definition.
  return trust<Of>(of)
}

/**
 * Types the calls of a session that the program has, such as that of a `TestSession` or of a `Simulation`. A session
 * watches no resources, so that it has the tools and the prompts of a group.
 *
 * @example
 * ```ts
 * import { McpTypedClient } from "@effect-mcp/client"
 * import { McpGroup, McpServer } from "@effect-mcp/server"
 * import { ClientSession } from "@effect-mcp/session"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Schema from "effect/Schema"
 *
 * const Clock = McpGroup.make("clock", Tool.make("now", { success: Schema.Date }))
 * const ClockLive = Clock.toLayer((handlers) => handlers.tool("now", () => Effect.succeed(new Date(0))))
 * const info = { name: "example", version: "1.0.0" }
 *
 * export const year = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   const now = yield* McpTypedClient.ofSession(session, Clock).tools.now()
 *   return now.getUTCFullYear()
 * }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), McpServer.layerMemory(ClockLive, { info }))))
 * // => 1970
 * ```
 *
 * @category constructors
 */
export const ofSession = <M extends McpGroup.Member, Middleware extends ReadonlyArray<McpMiddleware.AnyService>>(
  session: Pick<ClientSession.ClientSessionShape, "callTool" | "complete" | "getPrompt" | "readResource">,
  group: McpGroup.McpGroup<M, Middleware>,
  options: Options = {}
): Pick<McpTypedClient<M>, "tools" | "prompts"> => {
  const { prompts, tools } = TypedGroup.bind(
    {
      callTool: (name, input, options) => session.callTool(name, input, options),
      complete: (params, options) => session.complete(params, options),
      getPrompt: (name, input, options) => session.getPrompt(name, input, options),
      readResource: (uri, options) => session.readResource(uri, options),
      watch: () => Stream.die(new Error("a session watches no resources"))
    },
    group,
    namingOf(options)
  )
  // The functions of a member have the types of its definition.
  return trust({ tools, prompts })
}
