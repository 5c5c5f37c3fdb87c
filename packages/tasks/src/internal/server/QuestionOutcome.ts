/** The outcome of a question to a client. */

import { JsonRpc } from "@effect-mcp/protocol"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Result from "effect/Result"
import type * as StoredTask from "../../StoredTask.ts"

/** The answer, or the reason why there is none. */
export type QuestionOutcome = Pick<StoredTask.TaskQuestion, "answer" | "failure">

/** Returns the outcome that a response has. Its result is checked when the run takes it. */
export const ofResponse = (response: JsonRpc.Response): QuestionOutcome =>
  JsonRpc.isFailure(response)
    ? { failure: { _tag: "ErrorResponse", error: response.error } }
    : { answer: response.result }

/** Returns what becomes of a question after the client was asked; `undefined` if another client may be asked. */
export const of = (
  asked: Result.Result<unknown, RequestError>
): QuestionOutcome | undefined => {
  if (Result.isSuccess(asked)) return { answer: asked.success }
  const { reason } = asked.failure
  switch (reason._tag) {
    case "ErrorResponse": {
      const { code, data, message } = reason.error
      return {
        failure: { _tag: "ErrorResponse", error: data === undefined ? { code, message } : { code, message, data } }
      }
    }
    case "InvalidResult":
    case "MalformedResponse":
      return { failure: { _tag: "InvalidResult", problem: reason.problem } }
    default:
      return undefined
  }
}
