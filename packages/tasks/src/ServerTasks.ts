/**
 * The tasks of a server: calls of tools that outlive their requests.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import type { GatedServerTasks } from "@effect-mcp/session/internalEngine"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { TaskOptions as EndpointOptions } from "./internal/runs/TaskSettings.ts"
import * as TaskSettings from "./internal/runs/TaskSettings.ts"
import { TaskDispatch } from "./internal/server/TaskDispatch.ts"
import { TaskEndpoint, type TaskPlan, type TaskSupport as Support } from "./internal/server/TaskEndpoint.ts"
import * as TaskExtensionHandlers from "./internal/server/TaskExtensionHandlers.ts"
import * as TaskHandlers from "./internal/server/TaskHandlers.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import { TaskStore } from "./TaskStore.ts"

/**
 * Whether a tool runs as a task: never, if the client wishes, or always (TSK-04, TSK-05). A tool declares it as
 * `execution.taskSupport` in its definition.
 *
 * @category models
 */
export type TaskSupport = Support

/**
 * Options of one tool: whether its calls become tasks, and when.
 *
 * @category models
 */
export interface ToolTasks {
  readonly support: TaskSupport
  /**
   * When a call becomes a task in revision 2026-07-28, in which the server decides: as soon as it arrives, at
   * `RequestContext.becomeTask` in its handler, or after a time, and then at `becomeTask` if that is earlier. A client
   * that has not declared tasks cannot call a tool that requires them, and gets the result of any other one.
   * Default: as soon as it arrives if `support` is `"required"`, otherwise after 5 seconds.
   */
  readonly begins?: "atOnce" | "explicitly" | Duration.Input
  /**
   * Whether a task of the tool is run again if the process that runs it ends: by another process on the same store, or
   * by the same one after its restart. The handler starts from its beginning. Questions that were answered are not
   * asked again, and steps of `RequestContext.once` do not run again. Everything else does, so that it must be harmless
   * to do it twice. The task is started at most 5 times, and then ends as failed. The handler of a later run has no
   * session. Stops of its process do not count. Default: no, the task ends as failed.
   *
   * A call of the tool that is no task is run again as well, if processes share the sessions, their events and the
   * tasks: by the process that takes its session over, with its session and on its stream. Such a *durable call* costs
   * two writes. It counts in the limits of its principal, and no client learns its id.
   *
   * `"untilAsked"`: only a call that is no task, and only until it asks its client a question.
   */
  readonly resumable?: boolean | "untilAsked"
}

/**
 * The times and limits of tasks.
 *
 * @category models
 */
export interface TaskOptions extends EndpointOptions {}

/**
 * Options of the tasks of a server.
 *
 * @category models
 */
export interface Options extends TaskOptions {
  /**
   * The tools that run as tasks. All other ones are `"forbidden"`. A function is called at each call of a tool, with
   * the name that the client has sent, which may be that of no tool. Its exception is a defect of the call.
   */
  readonly tools: { readonly [name: string]: TaskSupport | ToolTasks } | ((name: string) => TaskSupport | ToolTasks)
}

/**
 * The tasks of a server: the option `tasks` of its sessions. They belong to the server and to a principal, and to no
 * session: they go on when the session ends, and each session of the same principal finds them.
 *
 * @category models
 */
export interface ServerTasksShape extends GatedServerTasks {
  /** The number of tasks that run in this process. */
  readonly running: Effect.Effect<number>
}

/**
 * The tasks of a server.
 *
 * @example
 * ```ts
 * import { ServerTasks } from "@effect-mcp/tasks"
 * import * as Effect from "effect/Effect"
 *
 * export const running = Effect.flatMap(ServerTasks.ServerTasks, (tasks) => tasks.running)
 * ```
 *
 * @category services
 */
export class ServerTasks extends Context.Service<ServerTasks, ServerTasksShape>()(
  "@effect-mcp/tasks/ServerTasks"
) {}

/** The time after which a call becomes a task, in milliseconds. */
const defaultAfterMillis = 5_000

const planOf = (given: TaskSupport | ToolTasks): TaskPlan => {
  const { begins, resumable = false, support }: ToolTasks = typeof given === "string" ? { support: given } : given
  const plan = {
    support,
    isResumable: resumable === true,
    durable: resumable === true ? "always" : resumable === false ? "never" : resumable
  } as const
  if (begins === undefined) return { ...plan, begins: support === "required" ? "atOnce" : defaultAfterMillis }
  if (begins === "atOnce" || begins === "explicitly") return { ...plan, begins }
  NumericOption.check({ begins }, { begins: NumericOption.duration })
  return { ...plan, begins: Duration.toMillis(begins) }
}

const forbidden = planOf("forbidden")

const plansOf = (tools: Options["tools"]): (tool: string) => TaskPlan => {
  if (typeof tools === "function") return (name) => planOf(tools(name))
  // A map, because a lookup in a record would find `constructor`.
  const byName = new Map(Object.entries(tools).map(([name, given]) => [name, planOf(given)]))
  return (name) => byName.get(name) ?? forbidden
}

/**
 * Creates the tasks of a server. When the scope closes, those that run are interrupted. They end as failed, or another
 * process runs them again if their tools are resumable. The scope must therefore be inside of the scopes of the
 * services that handlers of tools use.
 *
 * The params of a task that runs are charged to the `MemoryBudget` until its handler has ended. When all running tasks
 * take a quarter of the budget, or those of a principal as much as is still free for others, a call that would become
 * one more is rejected as `Overloaded`.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { RequestContext, ServerSession } from "@effect-mcp/session"
 * import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
 * import * as Effect from "effect/Effect"
 *
 * const report = Effect.gen(function*() {
 *   yield* RequestContext.progress({ progress: 1, message: "collecting" })
 *   yield* Effect.sleep("1 minute")
 *   return { content: [Content.text("the report")] }
 * })
 *
 * export const main = Effect.gen(function*() {
 *   const tasks = yield* ServerTasks.make({ tools: { report: "optional" } })
 *   return yield* ServerSession.serve({
 *     "tools/list": () =>
 *       Effect.succeed({
 *         tools: [{ name: "report", inputSchema: { type: "object" }, execution: { taskSupport: "optional" } }]
 *       }),
 *     "tools/call": () => report
 *   }, { info: { name: "reports", version: "1.0.0" }, tasks })
 * }).pipe(Effect.scoped, Effect.provide(TaskStore.layerMemory()))
 * ```
 *
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<ServerTasksShape, never, TaskStore | Scope.Scope> =>
  Effect.gen(function*() {
    LoadedPackages.check(thisPackage)
    const store = yield* TaskStore
    const endpoint = yield* TaskEndpoint.make(store, {
      ...TaskSettings.make(options),
      planOf: plansOf(options.tools)
    })
    return {
      running: endpoint.running,
      capabilities: TaskHandlers.capabilities,
      handlers: (options) => TaskHandlers.make(endpoint, options),
      extensions: TaskExtensionHandlers.make(endpoint),
      gate: (dispatch, server) => new TaskDispatch(dispatch, endpoint, server)
    }
  })

/**
 * Provides the tasks of a server; see {@link make}.
 *
 * @example
 * ```ts
 * import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
 * import * as Layer from "effect/Layer"
 *
 * export const tasks = Layer.provide(
 *   ServerTasks.layer({ tools: { report: "required" }, maxTtl: "7 days" }),
 *   TaskStore.layerMemory()
 * )
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<ServerTasks, never, TaskStore> =>
  Layer.effect(ServerTasks, make(options))
