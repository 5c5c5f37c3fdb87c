/** The handlers of the tasks extension, in revision 2026-07-28. */

import { McpError, TaskExtension } from "@effect-mcp/protocol"
import * as Extension from "@effect-mcp/session/Extension"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as TaskRate from "../runs/TaskRate.ts"
import * as TaskState from "../runs/TaskState.ts"
import * as DeclaredExtension from "./DeclaredExtension.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"

type Limit = <A, E, R>(
  client: TaskRate.TaskClient,
  request: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | McpError.McpError, R>

/**
 * Runs an effect with the id of the principal, if the client has declared the extension (TKX-02), and has not sent too
 * many requests.
 */
const declared = <A, R>(
  limit: Limit,
  method: string,
  use: (principal: string | undefined) => Effect.Effect<A, McpError.McpError, R>
): Effect.Effect<A, McpError.McpError, R | RequestContext> =>
  Effect.flatMap(
    RequestContext,
    (context) =>
      TaskExtension.isDeclared(context.profile.capabilities)
        ? limit(TaskRate.clientOf(context), Effect.suspend(() => use(context.principal?.id)))
        : Effect.fail(DeclaredExtension.missing(method))
  )

const answersTooLarge = McpError.invalidRequest(
  "The answers do not fit into the bytes that all tasks of a client may have together"
)

/** Returns the handlers. */
export const make = (
  { rate, runs, tasks }: TaskEndpoint
): ReadonlyArray<Extension.Extension<"client", RequestContext>> => {
  const { requests } = TaskExtension
  const read: Limit = (client, request) => rate.limitRead(client, request)
  const change: Limit = (client, request) => rate.limitChange(client, request)
  return [
    Extension.request(
      requests["tasks/get"],
      ({ taskId }) =>
        declared(
          read,
          "tasks/get",
          (principal) =>
            Effect.flatMap(tasks.load(taskId, principal), (state) =>
              state.ending === undefined
                ? Effect.succeed(TaskState.extension(state))
                : Effect.map(tasks.ended(state), (outcome) => TaskState.extension(state, outcome)))
        )
    ),
    Extension.request(
      requests["tasks/update"],
      ({ inputResponses, taskId }) =>
        declared(
          change,
          "tasks/update",
          (principal) =>
            Effect.flatMap(tasks.load(taskId, principal), ({ openQuestions }) => {
              const answers = new Map(Object.entries(inputResponses))
              if (!openQuestions.some(({ key }) => answers.has(key))) return Effect.succeed({})
              // Unknown keys and those of questions that have an answer are ignored (TKX-11).
              const answered = tasks.change(taskId, ({ outcome, questions }) =>
                outcome !== undefined || !questions.some((one) => TaskState.isOpen(one) && answers.has(one.key))
                  ? undefined
                  : {
                    questions: questions.map((one) =>
                      TaskState.isOpen(one) && answers.has(one.key) ? { ...one, answer: answers.get(one.key) } : one
                    )
                  })
              return Effect.flatMap(
                Effect.mapError(answered, () =>
                  McpError.internalError),
                ({ _tag }) => _tag === "TooLarge" ? Effect.fail(answersTooLarge) : Effect.succeed({})
              )
            })
        )
    ),
    Extension.request(
      requests["tasks/cancel"],
      ({ taskId }) => declared(change, "tasks/cancel", (principal) => Effect.as(runs.cancel(taskId, principal), {}))
    )
  ]
}
