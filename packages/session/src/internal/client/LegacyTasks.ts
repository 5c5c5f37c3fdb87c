/** The tasks of a server, as a client of revision 2025-11-25 uses them. */

import { MethodTable, type Tool } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { ClientTasks, TaskCallOptions, TaskHandle } from "../../ClientTasks.ts"
import * as RequestError from "../../RequestError.ts"
import type { Sender } from "../engine/Sender.ts"
import type { AnySessionRuntime } from "../engine/SessionRuntime.ts"
import * as RequestedTasks from "../tasks/RequestedTasks.ts"
import type { OutputSchemas } from "./OutputSchemas.ts"
import * as Paging from "./Paging.ts"
import type { TaskSupport } from "./TaskSupport.ts"

const { requests } = MethodTable

const call = requests["tools/call"]

const rows = RequestedTasks.rowsOf(call)

/** The session of the tasks. */
export interface LegacyTasksDependencies {
  readonly runtime: AnySessionRuntime
  readonly sender: Sender
  /** The tools that run as tasks; `undefined` if the server has declared no tasks for calls of tools. */
  readonly support: TaskSupport | undefined
  readonly outputSchemas: OutputSchemas | undefined
}

/** Streams the tasks of a client. Fails in a revision without a list. */
export const listOf = ({ runtime, sender }: Pick<LegacyTasksDependencies, "runtime" | "sender">): ClientTasks["list"] =>
  Paging.list(sender, runtime.limits, requests["tasks/list"], ({ tasks }) => tasks)

const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(call.name, reason))

/** Returns the members of a session for tasks. */
export const make = (dependencies: LegacyTasksDependencies): ClientTasks => {
  const { outputSchemas, runtime, sender, support } = dependencies
  const requested = new RequestedTasks.RequestedTasks({
    closed: runtime.closed,
    receiver: runtime,
    request: (row, params, options) => sender.request(row, params, options)
  })
  const checkedAs = (tool: string | undefined): RequestedTasks.Checked<Tool.CallToolResult> => (received) =>
    tool === undefined || outputSchemas === undefined ? received : outputSchemas.checked(tool, received)

  const callAsTask = <R = never>(
    tool: string,
    input: { readonly [name: string]: unknown } | undefined,
    options: TaskCallOptions<R> = {}
  ): Effect.Effect<TaskHandle<R>, RequestError.RequestError, R> =>
    Effect.gen(function*() {
      // Such a server would call the tool at once.
      if (support === undefined) {
        return yield* fail({ _tag: "MissingCapability", capability: "tasks.requests.tools.call" })
      }
      if ((yield* support.of(tool)) === "forbidden") {
        const problem = `the tool ${JSON.stringify(tool)} does not run as a task; use callTool`
        return yield* fail({ _tag: "InvalidParams", problem })
      }
      const params = input === undefined ? { name: tool } : { name: tool, arguments: input }
      return yield* requested.create(rows, params, options, checkedAs(tool))
    })

  return {
    call: callAsTask,
    of: (id, { tool } = {}) => requested.of(rows, id, checkedAs(tool)),
    list: listOf(dependencies)
  }
}
