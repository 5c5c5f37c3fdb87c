/**
 * The port for the ids of tasks that clients have started, so that they find the tasks again after a restart.
 *
 * @stability unstable
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as StartedTasks from "./internal/StartedTasks.ts"

/**
 * A task that a client has started, and whose result it has not collected.
 *
 * @category models
 */
export interface StartedTask {
  readonly id: string
  readonly tool: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/**
 * The error of a store whose operation failed.
 *
 * @example
 * ```ts
 * import { TaskIds } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * // Runs an operation of a store over a database.
 * export const query = <A>(run: () => Promise<A>) =>
 *   Effect.tryPromise({ try: run, catch: (cause) => new TaskIds.TaskIdsError({ cause }) })
 * ```
 *
 * @category errors
 */
export class TaskIdsError extends Data.TaggedError("TaskIdsError")<{
  readonly cause: unknown
}> {}

/**
 * The ids of the tasks of a program, by the names of its servers. Revision 2026-07-28 has no list of tasks, so that a
 * client that does not store an id cannot find its task again (TKX-05). Each operation has 5 seconds. If one fails or
 * hangs, the client logs that and goes on. A store keeps at least the newest 1,000 tasks of a server.
 *
 * @example
 * ```ts
 * import { TaskIds } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * export const count = (server: string) =>
 *   Effect.gen(function*() {
 *     const ids = yield* TaskIds.TaskIds
 *     return (yield* ids.list(server)).length
 *   })
 * ```
 *
 * @category services
 */
export class TaskIds extends Context.Service<TaskIds, {
  /** Stores a task of a server, in place of one with the same id. */
  readonly add: (server: string, task: StartedTask) => Effect.Effect<void, TaskIdsError>
  /** Removes a task. Does nothing for an unknown id. */
  readonly remove: (server: string, id: string) => Effect.Effect<void, TaskIdsError>
  /** Returns the tasks of a server, the oldest first. */
  readonly list: (server: string) => Effect.Effect<ReadonlyArray<StartedTask>, TaskIdsError>
}>()("@effect-mcp/client/TaskIds") {}

/**
 * Makes a store in memory, which ends with its process. A client without a store has one of its own.
 *
 * @example
 * ```ts
 * import { TaskIds } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * export const stored = Effect.gen(function*() {
 *   const ids = yield* TaskIds.makeMemory
 *   yield* ids.add("reports", { id: "t", tool: "report", startedAt: 0 })
 *   return yield* ids.list("reports")
 * }) // => [{ id: "t", tool: "report", startedAt: 0 }]
 * ```
 *
 * @category constructors
 */
export const makeMemory: Effect.Effect<TaskIds["Service"]> = Effect.sync(() => {
  const byServer = new Map<string, ReadonlyArray<StartedTask>>()
  const tasksOf = (server: string) => byServer.get(server) ?? []
  return {
    add: (server, task) =>
      Effect.sync(() => {
        byServer.set(server, StartedTasks.added(tasksOf(server), task))
      }),
    remove: (server, id) =>
      Effect.sync(() => {
        byServer.set(server, StartedTasks.removed(tasksOf(server), id))
      }),
    list: (server) => Effect.sync(() => tasksOf(server))
  }
})

/**
 * Provides a store in memory; see {@link makeMemory}.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget, TaskIds } from "@effect-mcp/client/node"
 * import * as Layer from "effect/Layer"
 *
 * // Clients that are built one after the other find the tasks of each other.
 * export const reports = Layer.provideMerge(
 *   McpClient.layer(McpTarget.command("node", ["reports.mjs"]), { info: { name: "app", version: "1.0.0" } }),
 *   TaskIds.layerMemory
 * )
 * ```
 *
 * @category layers
 */
export const layerMemory: Layer.Layer<TaskIds> = Layer.effect(TaskIds, makeMemory)
