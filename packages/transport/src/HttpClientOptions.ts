/**
 * Options that the clients over HTTP share: the URL of the server, the headers of requests, and the bounds on messages.
 * WebSocket clients on Node have the same headers.
 *
 * @stability unstable
 */
import type * as Effect from "effect/Effect"
import type { ClientAuthorization } from "./ClientAuthorization.ts"
import type * as Values from "./internal/shared/HeaderValues.ts"

/**
 * Headers by name. A `Redacted` value does not appear where headers are shown.
 *
 * @category options
 */
export type HeaderValues = Values.HeaderValues

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
   * The authorization of the client at servers. Without it, the service `ClientAuthorization` is used, if it is
   * provided to the Layer of the client. Without either, a request that is answered with 401 fails with
   * `Unauthenticated`.
   * Headers of the authorization replace `headers` of the same name.
   */
  readonly authorization?: ClientAuthorization["Service"] | undefined
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
