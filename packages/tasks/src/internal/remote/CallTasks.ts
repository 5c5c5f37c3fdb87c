/** The tasks of a server, as its client uses them: calls of tools that outlive their requests. */

import type { Task, Tool } from "@effect-mcp/protocol"
import type { RequestError } from "@effect-mcp/session/RequestError"
import type { RequestOptions } from "@effect-mcp/session/RequestOptions"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"

/** Options of a call that becomes a task. The timeouts are those until the server has answered with the task. */
export interface CallTaskOptions<R = never> extends RequestOptions<R> {
  /** The lifetime that the client wishes for the task, from its creation. The server decides, and has a default. */
  readonly ttl?: Duration.Input
}

/** A task of the server, for one session. The task belongs to no session: another one asks for it by its id. */
export interface CallTask<R = never> {
  /**
   * Identifies the task. Keep it to find the task again in another session or another process: revision 2026-07-28 has
   * no list. `undefined` if a server of that revision has answered the call with its result, and made no task (TKX-03).
   */
  readonly id: string | undefined
  /** Returns the state of the task. */
  readonly state: Effect.Effect<Task.Task, RequestError>
  /**
   * Streams the state of the task until it has ended. Between two requests it waits as long as the server wishes, and
   * at least 100 ms and at most 1 hour (TSK-13). It relies on no notification (TSK-21).
   */
  readonly states: Stream.Stream<Task.Task, RequestError>
  /**
   * Waits until the task has ended, and returns the result of the call. Meanwhile the handlers of the session receive
   * the questions of the task (TSK-20). In revision 2025-11-25 they receive its log messages as well, and `onProgress`
   * of the call its progress; if the stream of the request is lost, it asks again. An interruption ends nothing but the
   * waiting.
   */
  readonly result: Effect.Effect<Tool.CallToolResult, RequestError, R>
  /** Cancels the task, and returns its state. Fails with the server's error −32602 if it has ended. */
  readonly cancel: Effect.Effect<Task.Task, RequestError>
}

/** The calls of a client that become tasks of its server. */
export interface CallTasks {
  /**
   * Calls a tool as a task, and waits until the server has created it. Nothing is sent if the server has not declared
   * tasks (TSK-02, TSK-03), or if the tool does not run as one: the tools are listed for that, unless they were. If the
   * caller is interrupted before it has the id, the task is cancelled.
   *
   * In revision 2026-07-28 the server decides, and `ttl` has no effect. The client declares the extension by
   * `capabilities: { extensions: { [TaskExtension.name]: {} } }`. Then also `callTool` waits for the result of a call
   * that becomes a task.
   */
  readonly call: <R = never>(
    tool: string,
    input?: { readonly [name: string]: unknown },
    options?: CallTaskOptions<R>
  ) => Effect.Effect<CallTask<R>, RequestError, R>
  /**
   * Returns a task by its id, for example one that another process has started. With the name of its tool, a session
   * with a validator checks structured content.
   */
  readonly of: (id: string, options?: { readonly tool?: string }) => CallTask
  /** Streams the tasks of the client, and requests each page on demand. Needs the server's capability `tasks.list`. */
  readonly list: Stream.Stream<Task.Task, RequestError>
}
