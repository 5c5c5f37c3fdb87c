/**
 * Calls of tools as tasks, which outlive the sessions of a supervised client.
 *
 * @stability unstable
 */
import type { Task, Tool } from "@effect-mcp/protocol"
import type { CallTaskOptions } from "@effect-mcp/tasks/RemoteTasks"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as McpCall from "./McpCall.ts"
import type { StartedTask, TaskIdsError } from "./TaskIds.ts"

/**
 * Options of a call that becomes a task.
 *
 * @category models
 */
export interface TaskOptions<R = never> extends CallTaskOptions<R> {
  /** The time that the call waits for a server that is down. Default: that of the client, 10 seconds. */
  readonly waitTimeout?: Duration.Input
}

/**
 * A task of the server. Its members use the present session, or wait for the next one.
 *
 * @category models
 */
export interface McpTask<R = never> {
  /** Identifies the task. `undefined` if the server has answered the call with its result, and made no task. */
  readonly id: string | undefined
  /** Returns the state of the task. */
  readonly state: Effect.Effect<Task.Task, McpCall.CallError>
  /** Streams the state of the task until it has ended, also over several sessions. */
  readonly states: Stream.Stream<Task.Task, McpCall.CallError>
  /**
   * Waits until the task has ended, and returns the result of the call. Asks again in the next session if one is lost.
   * Fails as `ServerUnavailableError` if the server is down for longer than the client's `waitTimeout`, and can be run
   * again. Meanwhile the answers and handlers of the client receive the questions of the task, which `states` does not
   * answer. The result removes the task from `started`, and an error does if the task has ended or expired.
   */
  readonly result: Effect.Effect<Tool.CallToolResult, McpCall.CallError, R>
  /** Cancels the task, and returns its state. */
  readonly cancel: Effect.Effect<Task.Task, McpCall.CallError>
}

/**
 * The tasks of a client: its member `tasks`.
 *
 * @example
 * ```ts
 * import type { McpClient } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * // Collects what an earlier process of this program has started.
 * export const collect = (client: McpClient.McpClientShape) =>
 *   Effect.gen(function*() {
 *     const started = yield* client.tasks.started
 *     return yield* Effect.forEach(started, ({ id, tool }) => Effect.exit(client.tasks.of(id, { tool }).result), {
 *       concurrency: 10
 *     })
 *   })
 * ```
 *
 * @category models
 */
export interface McpTasks {
  /**
   * Calls a tool as a task, waits until the server has created it, and stores its id in `TaskIds`. A call that was lost
   * with its session is not sent again. In revision 2026-07-28 the client has to declare the extension
   * (`RemoteTasks.CallTasks`).
   */
  readonly call: <R = never>(
    tool: string,
    input?: { readonly [name: string]: unknown },
    options?: TaskOptions<R>
  ) => Effect.Effect<McpTask<R>, McpCall.CallError, R>
  /** Returns a task by its id. With the name of its tool, structured content is checked. */
  readonly of: (id: string, options?: { readonly tool?: string }) => McpTask
  /** Returns the tasks whose results were not collected, also those of earlier processes (`TaskIds`). */
  readonly started: Effect.Effect<ReadonlyArray<StartedTask>, TaskIdsError>
}
