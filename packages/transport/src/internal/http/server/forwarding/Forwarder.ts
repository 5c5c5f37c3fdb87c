/** The port by which a server sends a request to another process, and its failures. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { RequestBody } from "./RequestBody.ts"

/**
 * The failure of sending a request to another process. `mayBeProcessed` says whether the process may have processed it.
 * If not, it can be sent again: no connection was made, not all of the body was sent, or the process replied with 421.
 */
export class ForwardError extends Data.TaggedError("ForwardError")<{
  readonly mayBeProcessed: boolean
  /** Whether no process can receive the request: its target or a header has a character that HTTP/1.1 does not have. */
  readonly isInvalid?: boolean
  readonly cause: unknown
}> {}

/** A request to send. */
export interface ForwardedRequest {
  /** The origin of the process: its scheme, host and port. */
  readonly address: URL
  readonly method: string
  /** The path and the query, which begin with a slash. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RequestBody
  /** Returns whether the request is the answer to a question of the server, which another process can take. */
  readonly isAnswer: () => boolean
  /** The request of the client. The other request ends with its connection. */
  readonly of: HttpServerRequest
  /** The time in which a body that the client still sends must be sent, in milliseconds. */
  readonly bodyMillis: number
  /** The time in which the response must begin after the request was sent, in milliseconds. */
  readonly headersMillis: number
  /** The time in which something more of the response must arrive, while the client reads it, in milliseconds. */
  readonly silenceMillis: number
  /** Called once, when the response begins, with a function that ends the response as if the process had ended it. */
  readonly hasBegun: (end: () => void) => void
  /** Called once, when the request begins. Returns the function to call once, when nothing of the request is left. */
  readonly begin: () => () => void
}

/** Sends requests to other processes. */
export class Forwarder extends Context.Service<Forwarder, {
  /**
   * Returns the response as soon as it begins. Its body is read while the client reads it, and breaks off if the
   * process breaks it off. Redirects are not followed. An interruption closes the connection.
   */
  readonly send: (request: ForwardedRequest) => Effect.Effect<HttpServerResponse, ForwardError>
}>()("@effect-mcp/transport/Forwarder") {}
