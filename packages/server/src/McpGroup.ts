/**
 * Groups of tools, resources, resource templates and prompts.
 *
 * A group is a value without handlers: a server implements it, a client is typed by it, and a test reads it. Its method
 * `toLayer` takes the handlers, one by one, in the idiom of `HttpApiBuilder.group`.
 *
 * @stability unstable
 */
import type { Completion, McpError } from "@effect-mcp/protocol"
import type { RequestError } from "@effect-mcp/session"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { ElicitationError } from "./ElicitationError.ts"
import type * as Shapes from "./internal/entries/Definition.ts"
import * as GroupRegistration from "./internal/entries/GroupRegistration.ts"
import * as HandlerRecord from "./internal/entries/HandlerRecord.ts"
import * as Demands from "./internal/registry/Demands.ts"
import { trust } from "./internal/trust.ts"
import type * as McpMiddleware from "./McpMiddleware.ts"
import type * as McpPrompt from "./McpPrompt.ts"
import type * as McpResource from "./McpResource.ts"
import { McpServer } from "./McpServer.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Definitions
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A member of a group. Tools are those of `effect/ai/Tool`.
 *
 * @category models
 */
export type Member = Shapes.Member

/**
 * An argument of {@link make}: a member, or a toolkit of `effect/ai` with all its tools.
 *
 * @category models
 */
export type Definition = Member | Toolkit.Any

/**
 * The members that a definition stands for.
 *
 * @category models
 */
export type MembersOf<D> = D extends Toolkit.Toolkit<infer Tools> ? Tools[keyof Tools] : D extends Member ? D : never

/**
 * The scopes that the members of a group need.
 *
 * @category models
 */
export interface Demand {
  readonly scopes: ReadonlyArray<string>
  /** Whether the members are hidden from principals that lack one of their scopes. */
  readonly isHiding: boolean
}

/**
 * Options of the scopes of groups.
 *
 * @category options
 */
export interface ScopeOptions {
  /**
   * Hides the members from principals that lack one of their scopes: they are in no list, and using one fails as if it
   * did not exist, without a challenge. Default: every client sees them, and a client that uses one learns from the
   * challenge which scopes it needs.
   */
  readonly hidden?: boolean
}

/**
 * A group of members, with its middleware.
 *
 * @category models
 */
export interface McpGroup<
  in out Members extends Member,
  in out Middleware extends ReadonlyArray<McpMiddleware.AnyService> = readonly []
> {
  /** The name of the group in errors and events. Clients do not see it. */
  readonly id: string
  readonly members: ReadonlyArray<Members>
  /** The middleware of all handlers of the group, from the innermost to the outermost. */
  readonly middlewares: Middleware
  /** The scopes that a principal needs to use any member, beside those of the member. */
  readonly demand: Demand
  /** Returns a group with further members. */
  add<const More extends ReadonlyArray<Definition>>(
    ...more: More
  ): McpGroup<Members | MembersOf<More[number]>, Middleware>
  /**
   * Returns a group whose members all need these scopes, beside those that they need already. A request without them is
   * rejected before middleware and handlers: with 403 and a challenge over HTTP (AUT-46), or else with the error −31012
   * `InsufficientScope`. `McpScopes.layer` adds scopes to groups of other kinds.
   */
  scopes(scopes: ReadonlyArray<string>, options?: ScopeOptions): McpGroup<Members, Middleware>
  /** Returns a group with this middleware around that which it has already. */
  middleware<M extends McpMiddleware.AnyService>(middleware: M): McpGroup<Members, readonly [...Middleware, M]>
  /**
   * Implements the group: a Layer that registers its members with the server that is provided to it. Closing the scope
   * of the Layer removes them. `build` gives each member its handler, and may be an effect that first gets services.
   *
   * The Layer needs the services of the handlers, except for those of the request and those that the middleware
   * provides. A member that another group of the server also has, or a definition that cannot be served, is a defect of
   * the Layer that names both groups, or the member.
   */
  toLayer<Return>(
    build: (handlers: Handlers<Members>) => Complete<Return, Members>
  ): Layer.Layer<
    never,
    ErrorOf<Return>,
    | McpServer
    | Middleware[number]["Identifier"]
    | Remaining<HandlerServices<Return>, Middleware>
    | Exclude<ContextOf<Return>, Scope.Scope>
  >
}

/**
 * Any group.
 *
 * @category models
 */
export interface AnyGroup extends Pick<McpGroup<never>, "demand" | "id"> {
  readonly members: ReadonlyArray<Member>
  readonly middlewares: ReadonlyArray<McpMiddleware.AnyService>
}

// ---------------------------------------------------------------------------------------------------------------------
// Handlers
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The failures that the handler of any tool may have beside those that its definition declares. The tool then returns
 * their message with `isError`, and the model reads it (TOOL-04).
 *
 * @category models
 */
export type ToolFailure = RequestError.RequestError | ElicitationError

/**
 * The second argument of a tool's handler.
 *
 * @category models
 */
export interface ToolContext<Success> extends Shapes.ToolContext<Success> {}

/**
 * Options of any member.
 *
 * @category models
 */
export interface Options<R> {
  /**
   * Decides for each request whether its client sees the member. A hidden member is in no list, and using it fails like
   * using one that does not exist. It runs inside of the group's middleware. If it dies, takes more than 5 seconds, or
   * the middleware fails, the member is hidden.
   */
  readonly visible?: Effect.Effect<boolean, never, R>
}

/**
 * Completes an argument (CMP-01). `typed` is the text so far; `others` are the arguments that already have a value. Of
 * an array, the client gets the values that begin with `typed`, whatever their case, at most 100. Return an object to
 * choose the values yourself.
 *
 * @category models
 */
export type Completer<R> = (
  typed: string,
  others: { readonly [argument: string]: string }
) => Effect.Effect<ReadonlyArray<string> | Completion.CompleteResult["completion"], McpError.McpError, R>

/**
 * Options of a member with arguments.
 *
 * @category models
 */
export interface CompletingOptions<Arguments, RC, RV> extends Options<RV> {
  /** The completers of its arguments. Arguments with a schema of literals need none. */
  readonly complete?: {
    readonly [A in keyof RC]: A extends keyof Arguments ? Completer<RC[A]> : "the member has no such argument"
  }
}

/**
 * A resource of a template in the list of resources. Its URI follows from its parameters.
 *
 * @category models
 */
export interface ListedResource<Parameters extends Schema.Struct.Fields> extends McpResource.ResourceDescription {
  readonly name: string
  readonly parameters: Schema.Struct.Type<Parameters>
  /** The size of the contents in bytes. */
  readonly size?: number
}

/**
 * Options of a template.
 *
 * @category models
 */
export interface TemplateHandlerOptions<Parameters extends Schema.Struct.Fields, RC, RV, RS, RL>
  extends CompletingOptions<Parameters, RC, RV>
{
  /**
   * Returns the resources of the template for the list of resources (RES-02). It runs for each list, inside of the
   * group's middleware, so each client can have its own. If it fails or dies, they are missing from the list, and the
   * cause is logged. Call `listChanged` of the server when they change. Default: none is listed.
   */
  readonly list?: Effect.Effect<ReadonlyArray<ListedResource<Parameters>>, McpError.McpError, RL>
  /**
   * Decides whether the client may subscribe to a resource of the template (RES-03). It runs inside of the group's
   * middleware. `false` and an error reject the subscription as one to an unknown resource. Default: a client that sees
   * the template may subscribe to every URI that fits it, so resources of users need this option.
   */
  readonly subscribable?: (
    parameters: Schema.Struct.Type<Parameters>,
    uri: string
  ) => Effect.Effect<boolean, McpError.McpError, RS>
}

/**
 * The handler of a tool.
 *
 * @category models
 */
export type ToolHandler<T, R> = (
  params: Tool.Parameters<T>,
  context: ToolContext<Tool.Success<T>>
) => Effect.Effect<Tool.Success<T>, Tool.Failure<T> | ToolFailure | McpError.McpError, R>

/**
 * The messages of a prompt. A text is one message of the user. A whole result (`{ messages, description, _meta }`) has
 * metadata of its own, and replaces the description of the definition.
 *
 * @category models
 */
export type PromptMessages = Shapes.PromptMessages

type ToolsOf<M> = M extends Tool.Any ? M : never
type ResourcesOf<M> = M extends McpResource.AnyResource ? M : never
type TemplatesOf<M> = M extends McpResource.AnyTemplate ? M : never
type PromptsOf<M> = M extends McpPrompt.AnyPrompt ? M : never
type ValuesOf<R> = R[keyof R]

/** Members by their names. The compiler computes it once for a group. Each handler finds its member by name. */
type ByName<M extends Member> = { readonly [T in M as T["name"]]: T }

type Tools<M> = ByName<ToolsOf<M>>
type Resources<M> = ByName<ResourcesOf<M>>
type Templates<M> = ByName<TemplatesOf<M>>
type Prompts<M> = ByName<PromptsOf<M>>

type ResourceNamed<M, Name extends keyof Resources<M>> = ResourcesOf<Resources<M>[Name]>
type TemplateNamed<M, Name extends keyof Templates<M>> = TemplatesOf<Templates<M>[Name]>
type PromptNamed<M, Name extends keyof Prompts<M>> = PromptsOf<Prompts<M>[Name]>

/** A type that a name with a handler does not satisfy. */
type Unhandled<Kind extends string, Name extends string, Done> = `${Kind} ${Name}` extends Done
  ? { readonly duplicate: `the ${Kind} ${Name} already has a handler` }
  : unknown

/** The members of a group, the names that have handlers so far, and the services that these need. */
interface Given<in out M, in out Done extends string, out R> {
  readonly "~Members": (members: M) => M
  readonly "~R": R
  readonly "~Done": Done
}

/**
 * The methods of the handlers. They infer the handlers so far from `this`. If these were parameters of the interface,
 * the compiler would instantiate the types of all members again after each handler.
 */
interface Methods {
  /** Gives a tool its handler. */
  tool<M, Done extends string, R, const Name extends keyof Tools<M> & string, R1, RV = never>(
    this: Given<M, Done, R>,
    name: Name & Unhandled<"tool", Name, Done>,
    handler: ToolHandler<Tools<M>[Name], R1>,
    options?: Options<RV>
  ): Handlers<M, Done | `tool ${Name}`, R | R1 | RV | Tool.SchemaServices<Tools<M>[Name]>>

  /** Gives a resource the effect that reads it. */
  resource<M, Done extends string, R, const Name extends keyof Resources<M> & string, R1, RV = never>(
    this: Given<M, Done, R>,
    name: Name & Unhandled<"resource", Name, Done>,
    read: Effect.Effect<McpResource.ContentOf<ResourceNamed<M, Name>["content"]>, McpError.McpError, R1>,
    options?: Options<RV>
  ): Handlers<
    M,
    Done | `resource ${Name}`,
    R | R1 | RV | McpResource.ServicesOf<ResourceNamed<M, Name>["content"]>
  >

  /** Gives a template the function that reads its resources. It gets the decoded parameters, and the URI. */
  template<
    M,
    Done extends string,
    R,
    const Name extends keyof Templates<M> & string,
    R1,
    RC = {},
    RV = never,
    RS = never,
    RL = never
  >(
    this: Given<M, Done, R>,
    name: Name & Unhandled<"template", Name, Done>,
    read: (
      parameters: Schema.Struct.Type<TemplateNamed<M, Name>["parameters"]>,
      uri: string
    ) => Effect.Effect<McpResource.ContentOf<TemplateNamed<M, Name>["content"]>, McpError.McpError, R1>,
    options?: TemplateHandlerOptions<TemplateNamed<M, Name>["parameters"], RC, RV, RS, RL>
  ): Handlers<
    M,
    Done | `template ${Name}`,
    | R
    | R1
    | ValuesOf<RC>
    | RV
    | RS
    | RL
    | McpResource.ServicesOf<TemplateNamed<M, Name>["content"]>
    | Schema.Struct.DecodingServices<TemplateNamed<M, Name>["parameters"]>
    | Schema.Struct.EncodingServices<TemplateNamed<M, Name>["parameters"]>
  >

  /** Gives a prompt the function that writes its messages. */
  prompt<M, Done extends string, R, const Name extends keyof Prompts<M> & string, R1, RC = {}, RV = never>(
    this: Given<M, Done, R>,
    name: Name & Unhandled<"prompt", Name, Done>,
    get: (
      input: Schema.Struct.Type<PromptNamed<M, Name>["arguments"]>
    ) => Effect.Effect<PromptMessages, McpError.McpError, R1>,
    options?: CompletingOptions<PromptNamed<M, Name>["arguments"], RC, RV>
  ): Handlers<
    M,
    Done | `prompt ${Name}`,
    | R
    | R1
    | ValuesOf<RC>
    | RV
    | Schema.Struct.DecodingServices<PromptNamed<M, Name>["arguments"]>
  >
}

/**
 * The handlers so far, and the services that they need. Each method returns the handlers with one more.
 *
 * @category models
 */
export interface Handlers<in out M, in out Done extends string = never, out R = never>
  extends Methods, Given<M, Done, R>
{}

/** The handlers that the members of a group need. */
type Wanted<M> =
  | `tool ${ToolsOf<M>["name"]}`
  | `resource ${ResourcesOf<M>["name"]}`
  | `template ${TemplatesOf<M>["name"]}`
  | `prompt ${PromptsOf<M>["name"]}`

type HandlersIn<Return> = Return extends Effect.Effect<infer A, infer _E, infer _R> ? A : Return
type ErrorOf<Return> = Return extends Effect.Effect<infer _A, infer E, infer _R> ? E : never
type ContextOf<Return> = Return extends Effect.Effect<infer _A, infer _E, infer R> ? R : never
type HandlerServices<Return> = HandlersIn<Return> extends { readonly "~R": infer R } ? R : never

/**
 * The type of what `build` returns. If a member has no handler, it is a message that names the member, which nothing
 * satisfies.
 *
 * @category models
 */
export type Complete<Return, M> = HandlersIn<Return> extends { readonly "~Done": infer Done }
  ? [Exclude<Wanted<M>, Done>] extends [never] ? Return
  : `the ${Exclude<Wanted<M>, Done>} has no handler`
  : "build does not return the handlers"

/**
 * The services that remain to be provided, after the request and the middleware have provided theirs. The innermost
 * middleware is applied first, so a middleware cannot require a service of one that is inside of it.
 *
 * @category models
 */
export type Remaining<R, Middleware extends ReadonlyArray<McpMiddleware.AnyService>> = Middleware extends readonly [
  infer First extends McpMiddleware.AnyService,
  ...infer Rest extends ReadonlyArray<McpMiddleware.AnyService>
] ?
  Remaining<Exclude<R, McpMiddleware.Provides<First["Identifier"]>> | McpMiddleware.Requires<First["Identifier"]>, Rest>
  : Exclude<R, McpMiddleware.RequestServices>

// ---------------------------------------------------------------------------------------------------------------------
// Constructors
// ---------------------------------------------------------------------------------------------------------------------

const members = (definitions: ReadonlyArray<Definition>): ReadonlyArray<Member> =>
  definitions.flatMap((definition): ReadonlyArray<Member> =>
    "tools" in definition ? Object.values(definition.tools) : [definition]
  )

const group = (
  id: string,
  all: ReadonlyArray<Member>,
  middlewares: ReadonlyArray<McpMiddleware.AnyService>,
  demand: Demand
): unknown => ({
  id,
  members: all,
  middlewares,
  demand,
  add: (...more: ReadonlyArray<Definition>) => group(id, [...all, ...members(more)], middlewares, demand),
  middleware: (middleware: McpMiddleware.AnyService) => group(id, all, [...middlewares, middleware], demand),
  scopes: (scopes: ReadonlyArray<string>, options?: ScopeOptions) =>
    group(id, all, middlewares, Demands.joined(demand, { scopes, isHiding: options?.hidden === true })),
  toLayer: (build: (handlers: unknown) => unknown) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const server = yield* McpServer
      const built = build(HandlerRecord.empty)
      const handlers = HandlerRecord.handlersIn(Effect.isEffect(built) ? yield* built : built)
      yield* server.register(
        GroupRegistration.make({
          id,
          mount: server.mount,
          members: all,
          middlewares,
          demand,
          handlers,
          context: yield* Effect.context()
        })
      )
    }))
})

/**
 * Defines a group.
 *
 * @example
 * ```ts
 * import { McpGroup, McpResource } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const Add = Tool.make("add", {
 *   description: "Adds two numbers",
 *   parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
 *   success: Schema.Struct({ sum: Schema.Finite })
 * })
 *
 * export const Calculator = McpGroup.make("calculator", Add, McpResource.make("pi", { uri: "constants://pi" }))
 *
 * export const CalculatorLive = Calculator.toLayer((handlers) =>
 *   handlers
 *     .tool("add", ({ a, b }) => Effect.succeed({ sum: a + b }))
 *     .resource("pi", Effect.succeed(String(Math.PI)))
 * )
 * ```
 *
 * @category constructors
 */
export const make = <const Definitions extends ReadonlyArray<Definition>>(
  id: string,
  ...definitions: Definitions
): McpGroup<MembersOf<Definitions[number]>> =>
  // The interface types its methods by the members, which at run time are erased.
  trust(group(id, members(definitions), [], Demands.none))
