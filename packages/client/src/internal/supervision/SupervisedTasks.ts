/** The tasks of a supervised client, over all of its sessions. */

import { ErrorCode, type Task, type Tool } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import { ForeignCall } from "@effect-mcp/session/internal"
import { ResendPolicy } from "@effect-mcp/session/internalEngine"
import type * as RequestError from "@effect-mcp/session/RequestError"
import * as RemoteTasks from "@effect-mcp/tasks/RemoteTasks"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type * as McpCall from "../../McpCall.ts"
import type { McpTask, McpTasks } from "../../McpTasks.ts"
import { type StartedTask, type TaskIds, TaskIdsError } from "../../TaskIds.ts"

type Session = ClientSession.ClientSessionShape

/** The client of the tasks. */
export interface SupervisedTasksDependencies {
  /** The name of the server. */
  readonly server: string
  readonly ids: TaskIds["Service"]
  /** Waits for a session. */
  readonly session: Effect.Effect<Session, McpCall.CallError>
  /** Sends a request in the present session or the next one. One that was lost is sent again if it only reads. */
  readonly send: <A, R>(
    options: McpCall.CallOptions<R>,
    reads: boolean,
    request: (session: Session) => Effect.Effect<A, RequestError.RequestError, R>
  ) => Effect.Effect<A, McpCall.CallError, R>
}

/** The deadline of each call of the store of ids, in milliseconds. */
const idsMillis = 5_000

/** The most characters of an id that is stored. The server makes the ids, and the client stores a thousand. */
const maxIdCharacters = 4_096

/** The pause before a task is asked for again, after a session was lost. */
const again = Schedule.spaced("1 second")

/** Returns whether an error leaves the task as it is, so that another session may ask for it. */
const isLost = (error: McpCall.CallError): boolean =>
  error._tag === "RequestError" && ResendPolicy.outcomeOf(error) !== "Final"

/** Returns whether the server does not know a task, which may have expired. */
const isUnknown = (error: McpCall.CallError): boolean =>
  error._tag === "RequestError" && error.reason._tag === "ErrorResponse" &&
  error.reason.error.code === ErrorCode.InvalidParams

const isEnded = ({ status }: Task.Task): boolean =>
  status === "completed" || status === "failed" || status === "cancelled"

export const make = ({ ids, send, server, session }: SupervisedTasksDependencies): McpTasks => {
  /** Calls the store of ids, whose failures are no failures of the task. */
  const withIds = (operation: string, call: () => Effect.Effect<void, TaskIdsError>): Effect.Effect<void> =>
    Effect.catchCause(
      ForeignCall.within(`TaskIds.${operation}`, idsMillis, call),
      (cause) => Effect.logWarning(`TaskIds.${operation} failed; the task of the server goes on`, cause)
    )
  const forget = (id: string) => withIds("remove", () => ids.remove(server, id))

  /** Follows a task by what each session knows of it. `first` is its handle in the session that has started it. */
  const task = <R>(id: string, tool: string | undefined, first?: RemoteTasks.CallTask<R>): McpTask<R> => {
    const handleIn = (session: Session) => RemoteTasks.of(session).of(id, tool === undefined ? {} : { tool })
    const ifUnknown = (error: McpCall.CallError) => isUnknown(error) ? forget(id) : Effect.void
    const state = Effect.tapError(send({}, true, (session) => handleIn(session).state), ifUnknown)
    // An error may be the outcome of the task, or a trouble of the server or of this client while the task goes on.
    const ifEnded = Effect.matchEffect(state, {
      onFailure: () => Effect.void,
      onSuccess: (state) => isEnded(state) ? forget(id) : Effect.void
    })
    // Not a call in flight: while one is, the health of the server is not checked, and this may take days.
    const asked: Effect.Effect<Tool.CallToolResult, McpCall.CallError> = Effect.flatMap(
      session,
      (session) => handleIn(session).result
    )
    const later = Effect.retry(asked, { while: isLost, schedule: again })
    const states: McpTask["states"] = Stream.catchIf(
      Stream.unwrap(Effect.map(session, (session) => handleIn(session).states)),
      isLost,
      () => Stream.unwrap(Effect.as(Effect.sleep("1 second"), states))
    ).pipe(Stream.tapError(ifUnknown))
    const result = first === undefined
      ? later
      : Effect.catchIf(first.result, isLost, () => later)
    return {
      id,
      state,
      states,
      result: Effect.tap(
        Effect.tapError(
          result,
          (error) => isLost(error) || error._tag === "ServerUnavailableError" ? Effect.void : ifEnded
        ),
        () => forget(id)
      ),
      cancel: Effect.tap(send({}, true, (session) => handleIn(session).cancel), () => forget(id))
    }
  }

  return {
    call: (tool, input, options = {}) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(
          restore(send(options, false, (session) => RemoteTasks.of(session).call(tool, input, options))),
          (handle) => {
            const { id } = handle
            if (id === undefined) return Effect.succeed({ ...handle, id })
            const added = Effect.flatMap(Clock.currentTimeMillis, (startedAt) => {
              const started: StartedTask = { id, tool, startedAt }
              return withIds("add", () => ids.add(server, started))
            })
            const stored = id.length <= maxIdCharacters
              ? added
              : Effect.logWarning(`an id of ${id.length} characters is not stored; at most ${maxIdCharacters} are`)
            return Effect.as(stored, task(id, tool, handle))
          }
        )
      ),
    of: (id, { tool } = {}) => task(id, tool),
    started: Effect.catchCause(
      ForeignCall.within("TaskIds.list", idsMillis, () => ids.list(server)),
      (cause) => Effect.fail(new TaskIdsError({ cause }))
    )
  }
}
