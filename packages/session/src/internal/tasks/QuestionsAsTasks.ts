/** Questions of a server that become tasks of its client, in revision 2025-11-25. */

import { MethodTable, type Profile, Revision } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { QuestionTasks } from "../../QuestionTasks.ts"
import * as RequestError from "../../RequestError.ts"
import { OwnErrors } from "../engine/OwnErrors.ts"
import * as SemanticChecks from "../engine/SemanticChecks.ts"
import { trust } from "../trust.ts"
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

/** The tasks of the client of one session. Their errors count as those of a context, if they are of one. */
export const make = (
  dependencies: RequestedTasks.RequestedTasksDependencies,
  errors: OwnErrors = new OwnErrors()
): QuestionTasks => {
  const requested = new RequestedTasks.RequestedTasks({
    ...dependencies,
    request: (row, params, options) => errors.of(dependencies.request(row, params, options))
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

/** Questions that cannot become tasks of this client, because it has no session of revision 2025-11-25. */
export const none = ({ revision }: Profile.ClientProfile): QuestionTasks => {
  const reason: RequestError.RequestErrorReason = Revision.isModern(revision)
    ? { _tag: "NotInRevision", revision, since: Revision.latestLegacy, until: Revision.latestLegacy }
    : { _tag: "StatelessModeNotSupported" }
  return make({
    request: (row) => Effect.fail(RequestError.make(row.name, reason)),
    closed: Effect.never,
    receiver: undefined
  })
}
