/** The handlers of the tasks extension, in revision 2026-07-28. */

import { McpError, TaskExtension } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Extension from "../../Extension.ts"
import { RequestContext } from "../../RequestContext.ts"
import * as DeclaredExtension from "./DeclaredExtension.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"
import * as TaskState from "./TaskState.ts"

/** Runs an effect with the id of the principal, if the client has declared the extension (TKX-02). */
const declared = <A, R>(
  method: string,
  use: (principal: string | undefined) => Effect.Effect<A, McpError.McpError, R>
): Effect.Effect<A, McpError.McpError, R | RequestContext> =>
  Effect.flatMap(
    RequestContext,
    ({ principal, profile }) =>
      DeclaredExtension.isIn(profile) ? use(principal?.id) : Effect.fail(DeclaredExtension.missing(method))
  )

const answersTooLarge = McpError.invalidRequest(
  "The answers do not fit into the bytes that all tasks of a client may have together"
)

/** Returns the handlers. */
export const make = (
  { runs, tasks }: TaskEndpoint
): ReadonlyArray<Extension.Extension<"client", RequestContext>> => {
  const { requests } = TaskExtension
  return [
    Extension.request(
      requests["tasks/get"],
      ({ taskId }) =>
        declared("tasks/get", (principal) => Effect.map(tasks.load(taskId, principal), TaskState.extension))
    ),
    Extension.request(
      requests["tasks/update"],
      ({ inputResponses, taskId }) =>
        declared("tasks/update", (principal) =>
          Effect.flatMap(tasks.load(taskId, principal), () => {
            const answers = new Map(Object.entries(inputResponses))
            // Unknown keys and those of questions that have an answer are ignored (TKX-11).
            const answered = tasks.change(taskId, ({ outcome, questions }) =>
              outcome !== undefined || !questions.some((one) =>
                  TaskState.isOpen(one) && answers.has(one.key)
                )
                ? undefined
                : {
                  questions: questions.map((one) =>
                    TaskState.isOpen(one) && answers.has(one.key) ? { ...one, answer: answers.get(one.key) } : one
                  )
                })
            return Effect.flatMap(
              Effect.mapError(answered, () => McpError.internalError),
              ({ _tag }) => _tag === "TooLarge" ? Effect.fail(answersTooLarge) : Effect.succeed({})
            )
          }))
    ),
    Extension.request(
      requests["tasks/cancel"],
      ({ taskId }) => declared("tasks/cancel", (principal) => Effect.as(runs.cancel(taskId, principal), {}))
    )
  ]
}
