/** The HTTP response with which a server rejects a message. */
import { ErrorCode, ExactJson, type JsonRpc, RequestId } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import type { Inbound } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as ServerAddress from "../../shared/ServerAddress.ts"
import type { HttpResponse } from "./HttpCall.ts"
import * as ResponseBody from "./ResponseBody.ts"
import { isIdOf } from "./responseIn.ts"

/** An HTTP error response. */
export interface HttpErrorResponse {
  /** The URL that was requested, without its secrets. */
  readonly target: string
  readonly status: number
  readonly text: string
  readonly bytes: number
  /** The body, if it is a JSON-RPC error. */
  readonly failure: Failure | undefined
  /** `Location`, without its secrets. */
  readonly location: string | undefined
  /** `WWW-Authenticate`, if the server has rejected the authorization of the client. */
  readonly challenge: string | undefined
  /** The delay after which the server accepts the message again, if it names one. */
  readonly retryAfterMillis: number | undefined
}

interface Failure {
  readonly id?: unknown
  readonly error: { readonly code: number; readonly message: string }
}

/** The most characters of a body, or of a `Location`, that an error shows. */
const shownCharacters = 200

const isFailure = (value: unknown): value is Failure =>
  Predicate.hasProperty(value, "error") && Predicate.hasProperty(value.error, "message") &&
  Predicate.hasProperty(value.error, "code") && typeof value.error.message === "string" &&
  typeof value.error.code === "number"

const failureIn = (text: string): Failure | undefined => {
  try {
    const value = ExactJson.parse(text)
    return isFailure(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Parses `Retry-After`: seconds, or a date. */
const retryAfter = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined
  if (/^[0-9]+$/.test(value)) return Number(value) * 1_000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Reads an error response. */
export const read = (response: HttpResponse): Effect.Effect<HttpErrorResponse> =>
  Effect.gen(function*() {
    const text = yield* ResponseBody.readError(response)
    const now = yield* Clock.currentTimeMillis
    const location = response.header("location")
    return {
      target: ServerAddress.shown(response.url),
      status: response.status,
      text,
      bytes: text.length,
      failure: failureIn(text),
      challenge: response.header("www-authenticate"),
      location: location === undefined ? undefined : ServerAddress.shown(location),
      retryAfterMillis: retryAfter(response.header("retry-after"), now)
    }
  })

/** The statuses from 500 on of a server that has not started on the message. */
const notStarted: ReadonlySet<number> = new Set([501, 503, 505])

/**
 * Returns whether the message was certainly not carried out. After other statuses the server may have started on it.
 */
const isCertain = ({ status }: HttpErrorResponse): boolean => status < 500 || notStarted.has(status)

/**
 * Returns the JSON-RPC error as the response to this request, if it has the request's id or none. An invalid id is not
 * put into it, because a response with that id would match no request.
 */
const failureFor = (id: JsonRpc.Request["id"], { failure }: HttpErrorResponse): object | undefined => {
  if (failure === undefined) return undefined
  if (failure.id === undefined || failure.id === null) return RequestId.isRequestId(id) ? { ...failure, id } : failure
  return isIdOf(failure.id, id) ? failure : undefined
}

const problemOf = ({ failure, location, status, text }: HttpErrorResponse): string => {
  if (failure !== undefined) return failure.error.message
  // In a browser, `fetch` shows a redirect as status 0, without its `Location`.
  if (status === 0) return "`fetch` does not show where it is redirected to; set `url` to that"
  // A redirect of an upgrade to a WebSocket, or a status that `Redirects` does not follow.
  if (status >= 300 && status < 400 && location !== undefined) {
    return `redirects are not followed: ${Excerpt.of(location, shownCharacters)}`
  }
  return text.trim() === "" ? "no reason given" : Excerpt.of(text, shownCharacters)
}

const challengeOf = ({ challenge }: HttpErrorResponse): { readonly challenge?: string } =>
  challenge === undefined ? {} : { challenge }

/** Returns the error of a rejected message. */
export const error = (response: HttpErrorResponse): TransportError.TransportError =>
  TransportError.make({
    _tag: "Rejected",
    status: response.status,
    problem: problemOf(response),
    retryAfterMillis: response.retryAfterMillis,
    target: response.target,
    ...challengeOf(response)
  })

/** Returns the error of a rejected request: another one if the request may have been carried out. */
const errorOf = (rejection: HttpErrorResponse): TransportError.TransportError =>
  isCertain(rejection) ? error(rejection) : TransportError.make({ _tag: "ExchangeEnded", cause: error(rejection) })

/** The errors that only servers of revision 2026-07-28 send. */
const modernCodes: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion
])

/**
 * Returns the response to a rejected `server/discover`, if only a server of revision 2026-07-28 sends it; otherwise
 * fails with the status and the code, because servers of older revisions reject this request in any way.
 */
export const discoveryIn = (
  id: JsonRpc.Request["id"],
  httpResponse: HttpResponse
): Effect.Effect<Inbound, TransportError.TransportError> =>
  Effect.flatMap(read(httpResponse), (rejection): Effect.Effect<Inbound, TransportError.TransportError> => {
    const { bytes, failure, retryAfterMillis, status, target } = rejection
    // A server that rejects the request by a JSON-RPC error has not carried it out, whatever the status is.
    if (failure === undefined) return Effect.fail(errorOf(rejection))
    const { code } = failure.error
    const response = modernCodes.has(code) ? failureFor(id, rejection) : undefined
    return response === undefined
      ? Effect.fail(
        TransportError.make({
          _tag: "Rejected",
          status,
          code,
          problem: problemOf(rejection),
          retryAfterMillis,
          target,
          ...challengeOf(rejection)
        })
      )
      : Effect.succeed({ frame: Result.succeed(response), bytes })
  })

/** Returns the response to a rejected request, if the body is one; otherwise fails. */
export const responseIn = (
  id: JsonRpc.Request["id"],
  rejection: HttpErrorResponse
): Effect.Effect<Inbound, TransportError.TransportError> => {
  const response = failureFor(id, rejection)
  return response === undefined
    ? Effect.fail(errorOf(rejection))
    : Effect.succeed({ frame: Result.succeed(response), bytes: rejection.bytes })
}

/** Reads an error response, and returns the response to the rejected request as `responseIn` does. */
export const responseTo = (
  id: JsonRpc.Request["id"],
  httpResponse: HttpResponse
): Effect.Effect<Inbound, TransportError.TransportError> =>
  Effect.flatMap(read(httpResponse), (rejection) => responseIn(id, rejection))

/** Fails with the error of a rejected message. */
export const fail = (response: HttpResponse): Effect.Effect<never, TransportError.TransportError> =>
  Effect.flatMap(read(response), error)
