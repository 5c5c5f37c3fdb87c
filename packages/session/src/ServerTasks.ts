/**
 * The tasks of a server: calls of tools that outlive their requests.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { TaskEndpoint, type TaskPlan, type Tasks, type TaskSupport as Support } from "./internal/tasks/TaskEndpoint.ts"
import * as NumericOption from "./NumericOption.ts"
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
}

/**
 * Options of the tasks of a server.
 *
 * @category models
 */
export interface Options {
  /**
   * The tools that run as tasks. All other ones are `"forbidden"`. A function is called at each call of a tool, with
   * the name that the client has sent, which may be that of no tool. Its exception is a defect of the call.
   */
  readonly tools: { readonly [name: string]: TaskSupport | ToolTasks } | ((name: string) => TaskSupport | ToolTasks)
  /** The time that clients are told to wait between two requests for the state of a task. Default 1 second. */
  readonly pollInterval?: Duration.Input
  /** The lifetime of a task whose client wishes none, from its creation. Default 1 hour. */
  readonly ttl?: Duration.Input
  /** The longest lifetime that a client can wish. Default 1 day. */
  readonly maxTtl?: Duration.Input
  /**
   * The time after which another process ends a task, because the process that runs it has not renewed its lease. It
   * does so three times in this time. Default 30 seconds.
   */
  readonly lease?: Duration.Input
  /** The number of tasks that a principal may have in the store, ended ones included. Default 100 (TSK-28). */
  readonly maxTasks?: number
  /** The bytes of all tasks of a principal, as `StoredTask.bytesOf` counts them. Default 16 MiB. */
  readonly maxBytes?: number
}

/**
 * The tasks of a server: the option `tasks` of its sessions. They belong to the server and to a principal, and to no
 * session: they go on when the session ends, and each session of the same principal finds them.
 *
 * @category models
 */
export interface ServerTasksShape extends Tasks {}

/**
 * The tasks of a server.
 *
 * @example
 * ```ts
 * import { ServerTasks } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const running = Effect.flatMap(ServerTasks.ServerTasks, (tasks) => tasks.running)
 * ```
 *
 * @category services
 */
export class ServerTasks extends Context.Service<ServerTasks, ServerTasksShape>()(
  "@effect-mcp/session/ServerTasks"
) {}

const { count, duration, interval } = NumericOption

const rules: NumericOption.Rules<Options> = {
  pollInterval: interval,
  ttl: duration,
  maxTtl: duration,
  lease: interval,
  maxTasks: count,
  maxBytes: count
}

/** The time after which a call becomes a task, in milliseconds. */
const defaultAfterMillis = 5_000

const planOf = (given: TaskSupport | ToolTasks): TaskPlan => {
  const { begins, support }: ToolTasks = typeof given === "string" ? { support: given } : given
  if (begins === undefined) return { support, begins: support === "required" ? "atOnce" : defaultAfterMillis }
  if (begins === "atOnce" || begins === "explicitly") return { support, begins }
  NumericOption.check({ begins }, { begins: duration })
  return { support, begins: Duration.toMillis(begins) }
}

const forbidden = planOf("forbidden")

const plansOf = (tools: Options["tools"]): (tool: string) => TaskPlan => {
  if (typeof tools === "function") return (name) => planOf(tools(name))
  // A map, because a lookup in a record would find `constructor`.
  const byName = new Map(Object.entries(tools).map(([name, given]) => [name, planOf(given)]))
  return (name) => byName.get(name) ?? forbidden
}

/**
 * Creates the tasks of a server. When the scope closes, those that run are interrupted, and end as failed. The scope
 * must therefore be inside of the scopes of the services that handlers of tools use.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { RequestContext, ServerSession, ServerTasks, TaskStore } from "@effect-mcp/session"
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
  Effect.flatMap(TaskStore, (store) => {
    NumericOption.check(options, rules)
    const {
      lease = "30 seconds",
      maxBytes = 16 * 1024 * 1024,
      maxTasks = 100,
      maxTtl = "1 day",
      pollInterval = "1 second",
      tools,
      ttl = "1 hour"
    } = options
    const longest = Duration.toMillis(maxTtl)
    return TaskEndpoint.make(store, {
      planOf: plansOf(tools),
      limits: { maxTasks, maxBytes },
      pollMillis: Duration.toMillis(pollInterval),
      ttlMillis: { default: Math.min(Duration.toMillis(ttl), longest), longest },
      leaseMillis: Duration.toMillis(lease)
    })
  })

/**
 * Provides the tasks of a server; see {@link make}.
 *
 * @example
 * ```ts
 * import { ServerTasks, TaskStore } from "@effect-mcp/session"
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
