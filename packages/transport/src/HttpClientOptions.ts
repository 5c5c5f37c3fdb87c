/**
 * Options that the clients over HTTP share: the URL of the server, the headers of requests, and the bounds on messages.
 * WebSocket clients on Node have the same headers.
 */
import type * as Effect from "effect/Effect"
import type { Redacted } from "effect/Redacted"

/**
 * Headers by name. A `Redacted` value does not appear where headers are shown.
 *
 * @category options
 */
export type HeaderValues = Readonly<Record<string, string | Redacted<string>>>

/**
 * Options for the headers of a client, among them those that authorize it.
 *
 * @category options
 */
export interface HeaderOptions {
  /**
   * Headers of every request. An effect runs for each request; a WebSocket client makes one request for each
   * connection. Headers that the protocol defines replace headers of the same name.
   */
  readonly headers?: HeaderValues | Effect.Effect<HeaderValues> | undefined
  /**
   * Runs when the server answers 401, with the value of its `WWW-Authenticate`. Later requests carry the headers that
   * it returns, beginning with one retry of the rejected request. If it returns none, and without this option, the
   * request fails with `Unauthenticated`. It runs once at a time: other requests that are rejected meanwhile wait for
   * it and use its headers.
   */
  readonly authorize?:
    | ((challenge: string | undefined) => Effect.Effect<HeaderValues | undefined>)
    | undefined
}

/**
 * Options of every client over HTTP.
 *
 * @category options
 */
export interface Options extends HeaderOptions {
  /** The endpoint of the server. A URL with credentials is rejected: send them in `headers`, as `authorization`. */
  readonly url: string | URL
  /** The largest message to read, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read; an integer beyond 2^53 counts as eight. Default 100,000.
   * A message with more is not parsed and is reported as an event: parsing takes time and memory for each of them, and
   * cannot be interrupted.
   */
  readonly maxMessageNodes?: number | undefined
}
