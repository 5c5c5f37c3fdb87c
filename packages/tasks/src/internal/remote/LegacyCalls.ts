/** Calls that become tasks in revision 2025-11-25, in which the client decides. */

import { MethodTable } from "@effect-mcp/protocol"
import { type CallTaskRequests, Paging } from "@effect-mcp/session/internalEngine"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as Effect from "effect/Effect"
import type { CallTask, CallTaskOptions, CallTasks } from "./CallTasks.ts"
import * as RequestedTasks from "./RequestedTasks.ts"

const { requests } = MethodTable

const call = requests["tools/call"]

const rows = RequestedTasks.rowsOf(call)

/** Streams the tasks of a client. Fails in a revision without a list. */
export const listOf = (
  { receiver: { limits }, request }: Pick<CallTaskRequests, "receiver" | "request">
): CallTasks["list"] => Paging.list({ request }, limits, requests["tasks/list"], ({ tasks }) => tasks)

const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(call.name, reason))

/** Returns the tasks of a server. */
export const make = (calls: CallTaskRequests): CallTasks => {
  const { checked, support } = calls
  const requested = new RequestedTasks.RequestedTasks(calls)

  const callAsTask = <R = never>(
    tool: string,
    input: { readonly [name: string]: unknown } | undefined,
    options: CallTaskOptions<R> = {}
  ): Effect.Effect<CallTask<R>, RequestError.RequestError, R> =>
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
      return yield* requested.create(rows, params, options, (received) => checked(tool, received))
    })

  return {
    call: callAsTask,
    of: (id, { tool } = {}) =>
      requested.of(rows, id, (received) => tool === undefined ? received : checked(tool, received)),
    list: listOf(calls)
  }
}
