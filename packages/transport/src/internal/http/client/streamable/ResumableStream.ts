/** The resumption of a request's broken SSE stream, until its response arrives (SHS-07, SHS-19). */
import type { JsonRpc } from "@effect-mcp/protocol"
import type * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { ClientState, SessionIdentity } from "./ClientState.ts"
import { exchangeEnded, type ResponseReader } from "./ResponseReader.ts"
import type { Renew } from "./SessionRenewal.ts"
import * as StreamRequest from "./StreamRequest.ts"

/** Returns the headers that request the rest of a stream: everything after its last event, if it had one (SHS-19). */
export const resumptionHeaders = (lastEventId: string | undefined): Readonly<Record<string, string>> | undefined =>
  lastEventId === undefined ? undefined : { "last-event-id": lastEventId }

/** A request as the events of its stream name it. */
export interface NamedRequest {
  readonly method: string
  readonly id: JsonRpc.Request["id"]
  readonly tool?: string
}

/** Returns the members of the events of a request's stream that name the request. */
export const named = ({ id, method, params }: JsonRpc.Request): NamedRequest => {
  const name = method === "tools/call" ? params?.["name"] : undefined
  return typeof name === "string" ? { method, id, tool: name } : { method, id }
}

/** A request whose stream broke. */
export interface BrokenStream {
  readonly message: JsonRpc.Request
  readonly reader: ResponseReader
  /** The session in which the request was sent. */
  readonly session: SessionIdentity
  /** The reason why the stream broke, if there is one. */
  readonly cause: unknown
}

/**
 * Resumes the stream, again and again with growing delays. Returns `undefined` after the response has arrived, and an
 * error if the stream cannot be resumed or the attempts are used up.
 */
export const resume = Effect.fnUntraced(function*(
  state: ClientState,
  renew: Renew,
  { cause: firstCause, message, reader, session }: BrokenStream
): Effect.fn.Return<TransportError.TransportError | undefined> {
  const { reconnect } = state.settings
  const { stream } = reader
  const request = named(message)
  const reportLost = (cause: unknown, retryAfterMillis?: number) =>
    state.report({ _tag: "StreamLost", ...request, cause, retryAfterMillis })
  let cause = firstCause
  let withoutEvent = 0
  let withoutMessage = 0
  let retryAfterMillis: number | undefined
  while (true) {
    const lastEventId = stream.lastEventId()
    const isResumable = lastEventId !== undefined && !stream.isDamaged() && state.session === session
    if (!isResumable || withoutEvent >= reconnect.maxAttempts) {
      reportLost(cause)
      return exchangeEnded(cause)
    }
    const attempts = { withoutEvent, withoutMessage, retryMillis: stream.retryMillis(), retryAfterMillis }
    const delayMillis = reconnect.millis(attempts)
    reportLost(cause, delayMillis)
    yield* Effect.sleep(delayMillis)
    const [events, messages] = [stream.events(), stream.messages()]
    const outcome = yield* StreamRequest.run(state, session, resumptionHeaders(lastEventId), (response) => {
      state.report({ _tag: "StreamResumed", ...request })
      return reader.follow(response)
    })
    if (reader.isAnswered) return undefined
    withoutEvent = stream.events() > events ? 0 : withoutEvent + 1
    withoutMessage = stream.messages() > messages ? 0 : withoutMessage + 1
    retryAfterMillis = undefined
    switch (outcome._tag) {
      case "Ended":
        cause = outcome.cause
        break
      case "Unavailable":
        cause = outcome.cause
        retryAfterMillis = outcome.retryAfterMillis
        break
      case "Unauthorized": {
        // The server may carry the request out meanwhile. Only its stream waits for the person.
        cause = outcome.error
        const authorized = yield* Effect.result(outcome.authorized)
        if (Result.isSuccess(authorized)) break
        reportLost(authorized.failure)
        return exchangeEnded(authorized.failure)
      }
      case "Rejected":
        reportLost(outcome.error)
        return exchangeEnded(outcome.error)
      case "SessionLost":
        reportLost(cause)
        return yield* Effect.match(renew(session), {
          onSuccess: () => exchangeEnded(new Error("the server has lost the session")),
          // The lost session may have carried the request out, so it is not one that was not sent.
          onFailure: (error) => error.reason._tag === "AuthorizationRequired" ? exchangeEnded(error) : error
        })
    }
  }
})
