/**
 * Options that the servers over HTTP share: which requests they accept, how large and slow bodies may be, and how much
 * a client may leave unread.
 *
 * @stability unstable
 */
import type * as Duration from "effect/Duration"
import type * as HttpRouter from "effect/http/HttpRouter"

/**
 * Options that decide which requests a server accepts. WebSocket servers have them, too.
 *
 * @category options
 */
export interface AccessOptions {
  /**
   * The names that `Host` may have, with or without a port. A request for any other host is rejected with 403. Default:
   * the names of the loopback interface if the HTTP server listens on it, and any name if it does not.
   */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /**
   * The origins of web pages that may use this server, such as `https://app.example.com`, or `"*"` for all. A request
   * of another origin is rejected with 403 (HTTP-11, HTTP-12). So is a cross-site request without `Origin`, such as one
   * for an image. Pages of this machine may always use a server on it. Default: no other origin.
   */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  /**
   * The timeout of one call of `Authentication.identify`. The request is then rejected with 503. Default 10 seconds.
   */
  readonly identifyTimeout?: Duration.Input | undefined
}

/**
 * Options of every server that receives messages in POSTs and sends them in responses; all are optional.
 *
 * Clients without a principal are identified by their addresses (IPv6: by the first 64 bits), so that no client takes
 * the room of the others. Behind a reverse proxy, all requests have the proxy's address. Apply
 * `HttpMiddleware.xForwardedHeaders`, with the proxy among `trustedProxies`; otherwise all its clients count as one.
 *
 * @category options
 */
export interface Options extends AccessOptions {
  /** The largest body of a request, in bytes. A larger body is rejected with 413. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /**
   * The largest number of arrays, objects and members in the JSON of a body; an integer beyond 2^53 counts as eight. A
   * body with more is rejected with 413 before it is parsed: parsing takes time and memory for each of them, and cannot
   * be interrupted. Default 100,000.
   */
  readonly maxMessageNodes?: number | undefined
  /** The time in which the body of a request must arrive. A later body is rejected with 408. Default 1 minute. */
  readonly bodyTimeout?: Duration.Input | undefined
  /**
   * The most bytes of all bodies together that are arriving. Beyond it, the slowest request is rejected with 503.
   * Default 64 MiB.
   */
  readonly maxTotalIncomingBytes?: number | undefined
  /**
   * The largest `initialize` request, in bytes. A larger one is rejected with 413, because the session keeps its
   * content in memory. Default 64 KiB.
   */
  readonly maxInitializeBytes?: number | undefined
  /**
   * The most requests of one connection that are served at a time (HTTP/1.1 on Node). The next request is rejected with
   * 429 and the connection closes. Twice as many requests destroy the connection. Default 8.
   */
  readonly maxPipelinedRequests?: number | undefined
  /**
   * The most bytes of responses that wait on one connection for its client to read them (HTTP/1.1 on Node). Beyond it,
   * the connection is destroyed, except for a single response. Default 4 MiB.
   */
  readonly maxUnreadBytes?: number | undefined
  /**
   * The most bytes of responses that wait on all connections together (HTTP/1.1 on Node). Beyond it, the connections
   * are destroyed whose clients have read nothing for longest. Default 128 MiB.
   */
  readonly maxTotalUnreadBytes?: number | undefined
  /** The most characters that wait on one event stream before its senders wait. Default 1 Mi. */
  readonly maxStreamCharacters?: number | undefined
  /** The longest silence of an event stream; then the server sends a comment. Default 15 seconds. */
  readonly keepAliveInterval?: Duration.Input | undefined
  /**
   * The time in which a client must read something of a response that waits for it. Then the server destroys the
   * connection: of an event stream on any platform, of JSON over HTTP/1.1 on Node. Set it below `limits.writeTimeout`
   * of the sessions, because a message that waits that long ends its whole session. Default 20 seconds.
   */
  readonly writeTimeout?: Duration.Input | undefined
}

/**
 * The address of a server with its own listener.
 *
 * @category options
 */
export interface ListenOptions {
  /** The port to listen on; 0 for any free port. */
  readonly port: number
  /** The address to listen on. Default `127.0.0.1`: only this machine can connect (HTTP-13). */
  readonly hostname?: string | undefined
}

/**
 * Options of a server of Streamable HTTP, with or without sessions; all are optional.
 *
 * @category options
 */
export interface StreamableOptions extends Options {
  /** The path of the endpoint, where the server chooses it: `makeHandler` serves any path. Default `/mcp`. */
  readonly path?: HttpRouter.PathInput | undefined
  /**
   * The form of the response to a request. `"adaptive"` (the default): JSON if the reply is the first message and is
   * sent within `adaptiveTimeout`; otherwise an event stream. `"json"`: always JSON; messages that belong to a request
   * and are not its reply cannot be sent. `"stream"`: always an event stream.
   */
  readonly responseMode?: "adaptive" | "json" | "stream" | undefined
  /** The time without a message after which an adaptive response becomes an event stream. Default 1 second. */
  readonly adaptiveTimeout?: Duration.Input | undefined
  /**
   * The time that a request runs on after its client lost the response and did not reconnect. Then its handler is
   * interrupted. A lost connection alone cancels nothing (SHS-10). Default 5 minutes.
   */
  readonly detachedRequestTimeout?: Duration.Input | undefined
}
