/**
 * The tasks of a client: answers to a server that outlive the requests of its questions.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { webCrypto } from "@effect-mcp/session/internal"
import type { GatedClientTasks } from "@effect-mcp/session/internalEngine"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as ClientTaskDispatch from "./internal/client/ClientTaskDispatch.ts"
import * as ClientTaskEndpoint from "./internal/client/ClientTaskEndpoint.ts"
import * as TaskSettings from "./internal/runs/TaskSettings.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import type { TaskOptions } from "./ServerTasks.ts"
import { TaskStore } from "./TaskStore.ts"

/**
 * Options of the tasks of a client.
 *
 * @category models
 */
export interface Options extends TaskOptions {
  /**
   * The name by which the store knows the server that asks. It must differ from those of other servers, and from the
   * ids of principals, if they share the store. Set it to find the tasks again after a restart of the program. Default:
   * a random name.
   */
  readonly server?: string
}

/**
 * The tasks of a client: the option `tasks` of its sessions with one server. They belong to the client and to this
 * server, and to no session: they go on when the session ends, and the next session with the server finds them. A
 * second server needs tasks of its own, because it would see those of the first.
 *
 * @category models
 */
export interface ClientTasksShape extends GatedClientTasks {
  /** The number of tasks that run in this process. */
  readonly running: Effect.Effect<number>
}

/**
 * The tasks of a client.
 *
 * @example
 * ```ts
 * import { ClientTasks } from "@effect-mcp/tasks"
 * import * as Effect from "effect/Effect"
 *
 * export const running = Effect.flatMap(ClientTasks.ClientTasks, (tasks) => tasks.running)
 * ```
 *
 * @category services
 */
export class ClientTasks extends Context.Service<ClientTasks, ClientTasksShape>()(
  "@effect-mcp/tasks/ClientTasks"
) {}

/**
 * Creates the tasks of a client with one server. When the scope closes, those that run are interrupted, and end as
 * failed. The handlers of the session answer, with its middleware: they need to know nothing of tasks.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { ClientTasks, TaskStore } from "@effect-mcp/tasks"
 * import * as Effect from "effect/Effect"
 *
 * // The user has an hour for each form, even if the connection is lost meanwhile.
 * export const session = Effect.gen(function*() {
 *   const tasks = yield* ClientTasks.make({ ttl: "1 hour" })
 *   return yield* ClientSession.make({
 *     info: { name: "desk", version: "1.0.0" },
 *     handlers: { "elicitation/create": () => Effect.succeed({ action: "decline" }) },
 *     tasks
 *   })
 * }).pipe(Effect.provide(TaskStore.layerMemory()))
 * ```
 *
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<ClientTasksShape, never, TaskStore | Scope.Scope> =>
  Effect.flatMap(TaskStore, (store) => {
    LoadedPackages.check(thisPackage)
    const { server = webCrypto.randomUUID(), ...times } = options
    const made = ClientTaskEndpoint.ClientTaskEndpoint.make(store, { ...TaskSettings.make(times), owner: server })
    return Effect.map(made, (endpoint) => ({
      running: endpoint.running,
      capabilities: ClientTaskEndpoint.capabilities,
      handlers: ClientTaskEndpoint.handlers(endpoint),
      gate: (dispatch, session) => ClientTaskDispatch.make(dispatch, endpoint, session)
    }))
  })

/**
 * Provides the tasks of a client with one server; see {@link make}.
 *
 * @example
 * ```ts
 * import { ClientTasks, TaskStore } from "@effect-mcp/tasks"
 * import * as Layer from "effect/Layer"
 *
 * export const tasks = Layer.provide(ClientTasks.layer({ maxTasks: 10 }), TaskStore.layerMemory())
 * ```
 *
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<ClientTasks, never, TaskStore> =>
  Layer.effect(ClientTasks, make(options))
