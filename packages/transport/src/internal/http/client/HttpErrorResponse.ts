import { type JsonRpc, RequestId } from "@effect-mcp/protocol"
import type { Inbound } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { Answer } from "./HttpCall.ts"
import * as ResponseBody from "./ResponseBody.ts"

/** What the server said when it refused a message. */
export interface HttpErrorResponse {
  readonly status: number
  readonly text: string
  readonly bytes: number
  /** Its body, if that is a JSON-RPC error. */
  readonly failure: Failure | undefined
  readonly location: string | undefined
  /** When it would have the message tried again. */
  readonly retryAfterMillis: number | undefined
}

interface Failure {
  readonly id?: unknown
  readonly error: { readonly code: number; readonly message: string }
}

/** How much of a body that is no JSON-RPC error is shown, in characters. */
const shownCharacters = 200

const isFailure = (value: unknown): value is Failure =>
  Predicate.hasProperty(value, "error") && Predicate.hasProperty(value.error, "message") &&
  Predicate.hasProperty(value.error, "code") && typeof value.error.message === "string" &&
  typeof value.error.code === "number"

const failureIn = (text: string): Failure | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isFailure(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** `Retry-After`: seconds, or a date. */
const retryAfter = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined
  if (/^[0-9]+$/.test(value)) return Number(value) * 1_000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

export const read = (answer: Answer): Effect.Effect<HttpErrorResponse> =>
  Effect.gen(function*() {
    const text = yield* ResponseBody.readRefusal(answer)
    const now = yield* Clock.currentTimeMillis
    return {
      status: answer.status,
      text,
      bytes: text.length,
      failure: failureIn(text),
      location: answer.header("location"),
      retryAfterMillis: retryAfter(answer.header("retry-after"), now)
    }
  })

/** What a server says that has not begun: it knows no such method, has no time, or does not speak this HTTP. */
const notBegun: ReadonlySet<number> = new Set([501, 503, 505])

/** Does it say that the message was not carried out? A server that failed, or a proxy that lost one, may have been at it. */
const saysNotTaken = ({ status }: HttpErrorResponse): boolean => status < 500 || notBegun.has(status)

/**
 * The refusal as the response to this request, if it is a JSON-RPC error about it or about none. Under an id that is none, nobody
 * could take it for a response.
 */
const responseTo = (id: JsonRpc.Request["id"], { failure }: HttpErrorResponse): object | undefined => {
  if (failure === undefined) return undefined
  if (failure.id === undefined || failure.id === null) return RequestId.isRequestId(id) ? { ...failure, id } : failure
  return failure.id === id ? failure : undefined
}

const problemOf = ({ failure, location, status, text }: HttpErrorResponse): string => {
  if (failure !== undefined) return failure.error.message
  // `fetch` in a browser shows a redirect as status 0, without its `Location`.
  if (status === 0) return "`fetch` does not show where it is redirected to; set `url` to that"
  // Those of an upgrade to a WebSocket, and those that are none of a request's.
  if (status >= 300 && status < 400 && location !== undefined) {
    return `redirects are not followed: ${location.slice(0, shownCharacters)}`
  }
  return text.trim() === "" ? "it does not say why" : text.slice(0, shownCharacters)
}

export const error = (refusal: HttpErrorResponse): TransportError.TransportError =>
  TransportError.make({
    _tag: "Rejected",
    status: refusal.status,
    problem: problemOf(refusal),
    retryAfterMillis: refusal.retryAfterMillis
  })

/** What there is of a response to this request, which is refused; fails where there is none. */
export const answerTo = (
  id: JsonRpc.Request["id"],
  answer: Answer
): Effect.Effect<Inbound, TransportError.TransportError> =>
  Effect.flatMap(read(answer), (refusal): Effect.Effect<Inbound, TransportError.TransportError> => {
    const response = responseTo(id, refusal)
    if (response !== undefined) return Effect.succeed({ frame: Result.succeed(response), bytes: refusal.bytes })
    const cause = error(refusal)
    return Effect.fail(saysNotTaken(refusal) ? cause : TransportError.make({ _tag: "ExchangeEnded", cause }))
  })

/** The message is refused. */
export const fail = (answer: Answer): Effect.Effect<never, TransportError.TransportError> =>
  Effect.flatMap(read(answer), error)
