/**
 * Calls of a proxied server of revision 2026-07-28, whose questions are passed on to the client of the call.
 *
 * The proxy asks them as a handler of its own asks, so that clients of both eras can answer. Each answer of the server
 * is a step of the handler: a client of the same revision repeats its call, and the server is not asked again for what
 * it has said. Its state travels in the state of the proxy.
 */

import { InputRequired, McpError, type MethodTable } from "@effect-mcp/protocol"
import type { RequestError, RequestOptions } from "@effect-mcp/session"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ServedRequest } from "./Askers.ts"
import type { Send } from "./ClientSessions.ts"
import type { ForwardedMethod } from "./RemoteEntries.ts"
import * as RemoteErrors from "./RemoteErrors.ts"

/** The pauses before a call is sent again only with a state, in milliseconds. They double from round to round. */
const pause = { first: 100, longest: 5_000 }

/** The call has a result, which is not a step: it may be large, and nothing follows it. */
class Completed<A> extends Data.TaggedClass("Completed")<{ readonly result: A }> {}

/** The call of a client, and the function that forwards it to the server. */
export interface PassedCall<Name extends ForwardedMethod> {
  readonly server: string
  readonly send: Send
  readonly request: ServedRequest
  readonly name: Name
  readonly params: MethodTable.ParamsOf<Name>
  readonly options: RequestOptions.RequestOptions
  readonly maxRounds: number
}

/** Asks the client one question of the server. */
const ask = (
  { options: { timeout }, request, server }: PassedCall<ForwardedMethod>,
  key: string,
  question: InputRequired.InputRequest
): Effect.Effect<object, McpError.McpError> => {
  const options = timeout === undefined ? {} : { timeout }
  const asked: Effect.Effect<object, RequestError.RequestError> = question.method === "elicitation/create"
    ? request.request(
      question.method,
      // Revisions with a handshake give a page an id.
      "url" in question.params ? { ...question.params, elicitationId: key } : question.params,
      options
    )
    : question.method === "sampling/createMessage"
    ? request.request(question.method, question.params, options)
    : request.request(question.method, question.params ?? {}, options)
  return Effect.catch(asked, RemoteErrors.failing(`client of ${server}`))
}

/** Makes what the call is repeated with: the answers of the client, and the state of the server. */
const answer = (
  call: PassedCall<ForwardedMethod>,
  { inputRequests = {}, requestState }: InputRequired.InputRequiredResult,
  round: number
): Effect.Effect<InputRequired.Retry, McpError.McpError> => {
  const state = requestState === undefined ? {} : { requestState }
  const questions = Object.entries(inputRequests)
  if (questions.length === 0) {
    const millis = Math.min(pause.first * 2 ** (round - 1), pause.longest)
    return Effect.as(Effect.sleep(Duration.millis(millis)), state)
  }
  return Effect.map(
    Effect.forEach(
      questions,
      ([key, question]) => Effect.map(ask(call, key, question), (answer) => [key, { ...answer }] as const),
      { concurrency: "unbounded" }
    ),
    (answers) => ({ inputResponses: Object.fromEntries(answers), ...state })
  )
}

const roundsFrom = <Name extends ForwardedMethod>(
  call: PassedCall<Name>,
  round: number,
  retry: InputRequired.Retry
): Effect.Effect<never, McpError.McpError | Completed<MethodTable.ResultOf<Name>>> => {
  const { maxRounds, name, options, params, request, send, server } = call
  if (round > maxRounds) {
    return Effect.fail(RemoteErrors.unavailable(
      server,
      `it has asked ${maxRounds} times, and asks again; set limits.maxRounds of the proxy to allow more`
    ))
  }
  const sent = send(name, { ...params, ...retry }, { ...options, questions: "program" })
  const step = Effect.matchEffect(sent, {
    onSuccess: (result) => Effect.fail(new Completed({ result })),
    onFailure: (error) =>
      error.reason._tag === "InputRequired"
        ? Effect.succeed(error.reason.required)
        : RemoteErrors.failing(server)(error)
  })
  return request.once(`answer ${round} of the server`, { success: InputRequired.InputRequiredResult }, step).pipe(
    Effect.flatMap((required) => answer(call, required, round)),
    Effect.flatMap((retry) => roundsFrom(call, round + 1, retry))
  )
}

/** Forwards a call, and passes the questions of the server on until it has a result. */
export const forward = <Name extends ForwardedMethod>(
  call: PassedCall<Name>
): Effect.Effect<MethodTable.ResultOf<Name>, McpError.McpError> =>
  Effect.catch(
    roundsFrom(call, 1, {}),
    (ended) => ended instanceof McpError.McpError ? Effect.fail(ended) : Effect.succeed(ended.result)
  )
