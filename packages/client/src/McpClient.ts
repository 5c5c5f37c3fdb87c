/**
 * Supervised clients: a client connects to its server in the background, connects again after it has lost it, and keeps
 * its lists current.
 *
 * @stability unstable
 */
import type * as Handlers from "@effect-mcp/session/Handlers"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as ListChanges from "./internal/lists/ListChanges.ts"
import * as SupervisedClient from "./internal/supervision/SupervisedClient.ts"
import { trust } from "./internal/trust.ts"
import type * as McpAnswers from "./McpAnswers.ts"
import type { McpTarget } from "./McpTarget.ts"

/**
 * A list of a server.
 *
 * @category models
 */
export type ListName = ListChanges.ListName

/**
 * Options of a client.
 *
 * @category models
 */
export interface Options<H = Handlers.Handlers<"server">, R = never, A = McpAnswers.Answers>
  extends SupervisedClient.Options<H, R, A>
{}

/**
 * A client of one server.
 *
 * @category models
 */
export interface McpClientShape extends SupervisedClient.McpClientShape {}

/**
 * The client of one server, for programs with one server.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * export const uris = Effect.gen(function*() {
 *   const { resources } = yield* McpClient.McpClient
 *   return (yield* resources).map(({ uri }) => uri)
 * })
 * ```
 *
 * @category services
 */
export class McpClient extends Context.Service<McpClient, McpClientShape>()("@effect-mcp/client/McpClient") {}

/**
 * The name of the client whose handler runs: the name that the program gave to its server. A server may give itself any
 * name, so `profile` of the request does not tell servers apart.
 *
 * @example
 * ```ts
 * import { McpClient, McpClients, McpTarget } from "@effect-mcp/client/node"
 * import * as Console from "effect/Console"
 * import * as Effect from "effect/Effect"
 *
 * export const servers = McpClients.layer({ files: McpTarget.command("node", ["files.mjs"]) }, {
 *   info: { name: "app", version: "1.0.0" },
 *   handlers: {
 *     "notifications/elicitation/complete": ({ elicitationId }) =>
 *       Effect.flatMap(McpClient.ServerName, (server) => Console.log(`${server}: the page ${elicitationId} is done`))
 *   }
 * })
 * ```
 *
 * @category references
 */
export const ServerName: Context.Reference<string> = SupervisedClient.ServerName

/**
 * Creates a client that is supervised until the scope closes. It connects in the background, so that this neither waits
 * nor fails: calls wait for the server, up to `waitTimeout`. Dies with an `InvalidOptionError` if a duration or a limit
 * of the options makes no sense.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget } from "@effect-mcp/client"
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const server = ServerSession.layerMemory({
 *   "tools/call": ({ name }) => Effect.succeed({ content: [Content.text(`called ${name}`)] })
 * }, { info })
 *
 * export const content = Effect.gen(function*() {
 *   const client = yield* McpClient.make(McpTarget.transport(server), { info })
 *   return (yield* client.callTool("greet")).content
 * }).pipe(Effect.scoped) // => [{ type: "text", text: "called greet" }]
 * ```
 *
 * @category constructors
 */
export const make = <
  E,
  RT,
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never,
  const A extends McpAnswers.Answers<unknown> = McpAnswers.Answers
>(
  target: McpTarget<E, RT>,
  options: Options<H, R, A> & McpAnswers.Checked<H, A>
): Effect.Effect<
  McpClientShape,
  never,
  Scope.Scope | RT | Handlers.ServicesOf<H, "server"> | McpAnswers.ServicesOf<A> | R
> =>
  // The services of the target and of the handlers are in the context of the caller, as the type of the result demands.
  trust(Effect.map(SupervisedClient.make(trust(target), trust(options)), ({ client }) => client))

/**
 * Provides a client under the key of one server. Every build of this Layer makes a new client.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget } from "@effect-mcp/client/node"
 * import * as Context from "effect/Context"
 *
 * class Files extends Context.Service<Files, McpClient.McpClientShape>()("app/Files") {}
 *
 * export const files = McpClient.layerAs(Files, McpTarget.command("node", ["files.mjs"]), {
 *   info: { name: "app", version: "1.0.0" }
 * })
 * ```
 *
 * @category layers
 */
export const layerAs = <
  Self,
  E,
  RT,
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never,
  const A extends McpAnswers.Answers<unknown> = McpAnswers.Answers
>(
  key: Context.Key<Self, McpClientShape>,
  target: McpTarget<E, RT>,
  options: Options<H, R, A> & McpAnswers.Checked<H, A>
): Layer.Layer<
  Self,
  never,
  Exclude<RT | Handlers.ServicesOf<H, "server"> | McpAnswers.ServicesOf<A> | R, Scope.Scope>
> => Layer.fresh(Layer.effect(key, make(target, options)))

/**
 * Provides the client of one server. Every build of this Layer makes a new client.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget } from "@effect-mcp/client/node"
 * import * as Effect from "effect/Effect"
 *
 * const client = McpClient.layer(McpTarget.url("https://example.com/mcp"), { info: { name: "app", version: "1.0.0" } })
 *
 * export const toolNames = Effect.gen(function*() {
 *   const { tools } = yield* McpClient.McpClient
 *   return (yield* tools).map(({ name }) => name)
 * }).pipe(Effect.provide(client))
 * ```
 *
 * @category layers
 */
export const layer = <
  E,
  RT,
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never,
  const A extends McpAnswers.Answers<unknown> = McpAnswers.Answers
>(
  target: McpTarget<E, RT>,
  options: Options<H, R, A> & McpAnswers.Checked<H, A>
): Layer.Layer<
  McpClient,
  never,
  Exclude<RT | Handlers.ServicesOf<H, "server"> | McpAnswers.ServicesOf<A> | R, Scope.Scope>
> => layerAs(McpClient, target, options)
