/**
 * A bridge from toolkits of `effect/ai`: their tools, with the handlers that `Toolkit.toLayer` provides. An entry point
 * of its own, because `effect/ai` is unstable.
 *
 * @stability unstable
 */
import * as AiError from "effect/ai/AiError"
import * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as GroupRegistration from "./internal/entries/GroupRegistration.ts"
import { ToolMessage } from "./internal/entries/ToolMessage.ts"
import * as LayerServices from "./internal/LayerServices.ts"
import { RegistrationError } from "./internal/registry/RegistrationError.ts"
import { trust } from "./internal/trust.ts"
import type * as McpGroup from "./McpGroup.ts"
import type * as McpMiddleware from "./McpMiddleware.ts"
import { McpServer } from "./McpServer.ts"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options<Name extends string, RV> {
  /** Decides for each request which tools its client sees, by their names. Tools without an effect are visible. */
  readonly visible?: {
    readonly [N in keyof RV]: N extends Name ? Effect.Effect<boolean, never, RV[N]> : "there is no such tool"
  }
}

/** Options after the types have checked them. */
interface AnyOptions {
  readonly visible?: { readonly [name: string]: Effect.Effect<boolean, never, unknown> | undefined }
}

/** A tool by its name, as toolkits have them. */
type ByName<T extends Tool.Any> = { readonly [Name in T["name"]]: Extract<T, { readonly name: Name }> }

type AnyGroup = Pick<McpGroup.AnyGroup, "id" | "middlewares"> & { readonly members: ReadonlyArray<Tool.Any> }

/** The handler of a tool, with the services of the toolkit's Layer. */
type ToolkitHandler = (
  params: unknown,
  context: unknown
) => Effect.Effect<unknown, unknown, unknown>

/**
 * Returns the text of an error of `effect/ai` as a failure for the model, if its tool returns failures. Otherwise such
 * an error is undeclared: its text may be that of a provider, so the client does not get it.
 */
const toMessage = ({ failureMode }: Tool.Any) => (error: unknown): unknown =>
  failureMode === "return" && (AiError.isAiError(error) || AiError.isAiErrorReason(error))
    ? new ToolMessage({ message: error.message })
    : error

/** Returns the handler of a tool, which the toolkit's Layer has put into the context. */
const handlerOf = (group: string, tool: Tool.Any, context: Context.Context<never>): ToolkitHandler => {
  const provided = context.mapUnsafe.get(tool.id)
  // Registering the group rejects a tool of a provider, which has no handler.
  if (Tool.isProviderDefined(tool)) return () => Effect.never
  if (provided === undefined) {
    const problem = `the tool "${tool.name}" has no handler; provide the Layer of its toolkit`
    throw new RegistrationError({ group, problem })
  }
  // The type of the Layer states that its context has the handlers of `Toolkit.toLayer`.
  const { context: own, handler } = trust<{
    readonly context: Context.Context<never>
    readonly handler: ToolkitHandler
  }>(provided)
  const services = LayerServices.insideGroup(own)
  return (params, call) =>
    Effect.updateContext(
      Effect.mapError(handler(params, call), toMessage(tool)),
      // The type of the Layer states that these are the services of the handler.
      (request: Context.Context<never>) => trust<Context.Context<unknown>>(services(request))
    )
}

/**
 * Serves the tools of a toolkit as they are. The Layer needs the handlers of the toolkit (`toolkit.toLayer`), and what
 * the tools themselves require (`dependencies`), except for the services of the request and those that the middleware
 * of a group provides.
 *
 * - Interim results (`preliminary`) are progress steps 1, 2, 3 with their text form.
 * - `needsApproval` is evaluated for each call, and asks the user by an elicitation.
 * - `toModelOutput` is the content of the result.
 * - Declared failures are results with `isError`, with either `failureMode`. An error of `effect/ai` is one with its
 *   message if the `failureMode` is `"return"`, and −32603 otherwise.
 *
 * The handlers of toolkits are found by the names of the tools. Provide the handlers of two toolkits with a tool of the
 * same name each to their own Layer, as the example does.
 *
 * @example
 * ```ts
 * import * as McpToolkit from "@effect-mcp/server/McpToolkit"
 * import * as Tool from "effect/ai/Tool"
 * import * as Toolkit from "effect/ai/Toolkit"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Schema from "effect/Schema"
 *
 * const Weather = Toolkit.make(
 *   Tool.make("forecast", { parameters: Schema.Struct({ city: Schema.String }), success: Schema.String })
 * )
 *
 * const handlers = Weather.toLayer({ forecast: ({ city }) => Effect.succeed(`Rain in ${city}`) })
 *
 * export const WeatherLive = McpToolkit.layer(Weather).pipe(Layer.provide(handlers))
 * ```
 *
 * @category layers
 */
export const layer: {
  <Tools extends Record<string, Tool.Any>, RV = {}>(
    toolkit: Toolkit.Toolkit<Tools>,
    options?: Options<Tools[keyof Tools]["name"], RV>
  ): Layer.Layer<
    never,
    never,
    | McpServer
    | Tool.HandlersFor<Tools>
    | McpGroup.Remaining<Tool.HandlerServices<Tools[keyof Tools]> | RV[keyof RV], readonly []>
  >
  <T extends Tool.Any, Middleware extends ReadonlyArray<McpMiddleware.AnyService>, RV = {}>(
    group: McpGroup.McpGroup<T, Middleware>,
    options?: Options<T["name"], RV>
  ): Layer.Layer<
    never,
    never,
    | McpServer
    | Middleware[number]["Identifier"]
    | Tool.HandlersFor<ByName<T>>
    | McpGroup.Remaining<Tool.HandlerServices<T> | RV[keyof RV], Middleware>
  >
} = (given: Toolkit.Any | AnyGroup, options: AnyOptions = {}): Layer.Layer<never, never, never> =>
  // The overloads state the services that the erased effect needs.
  trust(Layer.effectDiscard(Effect.gen(function*() {
    const server = yield* McpServer
    const context = yield* Effect.context<never>()
    const group: AnyGroup = "tools" in given
      ? { id: "toolkit", members: Object.values(given.tools), middlewares: [] }
      : given
    yield* server.register(GroupRegistration.make({
      ...group,
      mount: server.mount,
      context,
      handlers: group.members.map((tool) => {
        const visible = options.visible?.[tool.name]
        return {
          kind: "tool" as const,
          name: tool.name,
          handler: handlerOf(group.id, tool, context),
          ...(visible === undefined ? undefined : { visible })
        }
      })
    }))
  })))
