/** Calls of tools that become tasks of the server: the access of `RemoteTasks` to a client's session. */

import type { Tool } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type { RequestError } from "../../RequestError.ts"
import type { ProgressReceiver, TaskRequests } from "../engine/TaskRequests.ts"
import type { TaskResults } from "./TaskResults.ts"
import type { TaskSupport } from "./TaskSupport.ts"

/** Sends calls that become tasks, and reads their results. */
export interface CallTaskRequests extends TaskRequests {
  readonly receiver: ProgressReceiver
  /**
   * The results of tasks in revision 2026-07-28, in which the server decides that a call becomes one. `undefined` in a
   * session with a handshake.
   */
  readonly results: TaskResults | undefined
  /** The tools that run as tasks in 2025-11-25; `undefined` if the server has declared no tasks for calls of tools. */
  readonly support: TaskSupport | undefined
  /** Checks the result of a tool against its output schema. */
  readonly checked: <R>(
    tool: string,
    result: Effect.Effect<Tool.CallToolResult, RequestError, R>
  ) => Effect.Effect<Tool.CallToolResult, RequestError, R>
}
