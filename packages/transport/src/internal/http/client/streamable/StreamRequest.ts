/** One GET for an SSE stream, and its outcome. */
import type * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as HttpCall from "../HttpCall.ts"
import * as HttpErrorResponse from "../HttpErrorResponse.ts"
import type { ClientState, SessionIdentity } from "./ClientState.ts"
import { indicatesLoss } from "./SessionRenewal.ts"

/** The outcome of a request for a stream: of its opening, or of its reading to the end. */
export type StreamOutcome =
  /** The stream was opened, and has ended or broken. */
  | { readonly _tag: "Ended"; readonly cause: unknown }
  /** The stream was not opened; a later attempt may open it. */
  | { readonly _tag: "Unavailable"; readonly cause: unknown; readonly retryAfterMillis: number | undefined }
  /** A person has to authorize the client. `authorized` completes when the person has. */
  | {
    readonly _tag: "Unauthorized"
    readonly error: TransportError.TransportError
    readonly authorized: Effect.Effect<void, TransportError.TransportError>
  }
  /** The server does not open this stream. */
  | { readonly _tag: "Rejected"; readonly error: TransportError.TransportError }
  /** The server has lost the session. */
  | { readonly _tag: "SessionLost" }

/** Returns whether a later attempt may have another outcome. */
const isTransient = (status: number): boolean =>
  status === 408 || status === 409 || status === 425 || status === 429 || (status >= 500 && status !== 501)

/** Requests a stream with these headers, and reads it with `read`: the standalone one (SHS-12), or a broken one. */
export const run = (
  state: ClientState,
  session: SessionIdentity,
  headers: Readonly<Record<string, string>> | undefined,
  read: (response: HttpCall.HttpResponse) => Effect.Effect<unknown>
): Effect.Effect<StreamOutcome> =>
  Effect.scoped(Effect.gen(function*(): Effect.fn.Return<StreamOutcome, TransportError.TransportError, Scope.Scope> {
    const response = yield* state.endpoint.get(state.membership(session), headers)
    if (HttpCall.isAccepted(response) && HttpCall.mediaType(response) === "text/event-stream") {
      return { _tag: "Ended", cause: yield* read(response) }
    }
    const rejection = yield* HttpErrorResponse.read(response)
    if (indicatesLoss(rejection, session)) return { _tag: "SessionLost" }
    const error = HttpErrorResponse.error(rejection)
    return isTransient(response.status)
      ? { _tag: "Unavailable", cause: error, retryAfterMillis: rejection.retryAfterMillis }
      : { _tag: "Rejected", error }
  })).pipe(
    Effect.catch((error) => Effect.succeed(withoutResponse(error)))
  )

/** Returns the outcome of a request without a response that could be read. */
const withoutResponse = (error: TransportError.TransportError): StreamOutcome => {
  const { reason } = error
  switch (reason._tag) {
    case "ConnectFailed":
    case "ExchangeEnded":
      return { _tag: "Unavailable", cause: reason.cause, retryAfterMillis: undefined }
    case "AuthorizationRequired":
      return { _tag: "Unauthorized", error, authorized: reason.authorized }
    case "AuthorizationFailed":
      // The issuer of the tokens may answer later.
      return reason.isPermanent === true
        ? { _tag: "Rejected", error }
        : { _tag: "Unavailable", cause: error, retryAfterMillis: undefined }
    default:
      return { _tag: "Rejected", error }
  }
}
