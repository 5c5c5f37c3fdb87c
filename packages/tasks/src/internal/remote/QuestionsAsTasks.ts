/** Questions of a server that become tasks of its client, in revision 2025-11-25. */

import { MethodTable } from "@effect-mcp/protocol"
import { OwnErrors, SemanticChecks, type TaskRequests } from "@effect-mcp/session/internalEngine"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as Effect from "effect/Effect"
import { trust } from "../trust.ts"
import type { QuestionTasks } from "./QuestionTasks.ts"
import * as RequestedTasks from "./RequestedTasks.ts"

const { "elicitation/create": elicitation, "sampling/createMessage": sampling } = MethodTable.requests

const elicitationRows = RequestedTasks.rowsOf(elicitation)
const samplingRows = RequestedTasks.rowsOf(sampling)

/** Checks an answer beyond the schema of its method, as that of a plain question. */
const checked = <A, R>(
  method: string,
  params: object,
  received: Effect.Effect<A, RequestError.RequestError, R>
): Effect.Effect<A, RequestError.RequestError, R> =>
  Effect.flatMap(received, (answer) => {
    const problem = SemanticChecks.validateResult(method, params, answer)
    return problem === undefined
      ? Effect.succeed(answer)
      : Effect.fail(RequestError.make(method, { _tag: "InvalidResult", problem }))
  })

/** Returns the tasks of a client. Their errors count as those of a handler, if the requests are those of one. */
export const make = (requests: TaskRequests.TaskRequests): QuestionTasks => {
  const { errors = new OwnErrors() } = requests
  const requested = new RequestedTasks.RequestedTasks({
    ...requests,
    request: (row, params, options) => errors.of(requests.request(row, params, options))
  })
  const checkedFor = <A>(method: string, params: object): RequestedTasks.Checked<A> => (received) =>
    errors.of(checked(method, params, received))
  const of = (id: string, method: "elicitation/create" | "sampling/createMessage") =>
    method === elicitation.name
      ? requested.of(elicitationRows, id, (received) => received)
      : requested.of(samplingRows, id, (received) => received)
  return {
    elicit: (params, options = {}) =>
      requested.create(elicitationRows, params, options, checkedFor(elicitation.name, params)),
    createMessage: (params, options = {}) =>
      requested.create(samplingRows, params, options, checkedFor(sampling.name, params)),
    // The rows have the types of the overloads.
    of: trust<QuestionTasks["of"]>(of)
  }
}
