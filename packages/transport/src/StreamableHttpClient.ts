/**
 * The client of Streamable HTTP. Each message is one POST (HTTP-02), answered with JSON or with an SSE stream
 * (HTTP-10). Messages that belong to no request arrive on the standalone SSE stream. The server assigns the session id
 * (SHS-24).
 *
 * A broken stream is resumed after its last event if the server numbers its events. If the server has lost the session,
 * the client opens a new one, and sends a request that only reads once more. In revision 2026-07-28 a stream cannot be
 * resumed, and the session sends such a request once more. Any other request that may have been carried out fails as
 * `OutcomeUnknown`.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Transport from "@effect-mcp/session/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as HttpClientOptions from "./HttpClientOptions.ts"
import * as HttpClients from "./internal/http/client/HttpClients.ts"
import * as ReconnectDelay from "./internal/http/client/streamable/ReconnectDelay.ts"
import type { Settings } from "./internal/http/client/streamable/StreamableHttpClientConnection.ts"
import * as FrameText from "./internal/shared/FrameText.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import * as Sse from "./Sse.ts"

/**
 * Options for reconnecting broken streams. Each failed attempt lengthens the next delay. The client never waits less
 * than the server requests (SHS-06).
 *
 * @category options
 */
export interface Reconnect {
  /** The delay before the first attempt. Default 1 second. */
  readonly initialInterval?: Duration.Input | undefined
  /** The growth of the delay from one attempt to the next. Default 1.5. */
  readonly factor?: number | undefined
  /**
   * The longest delay that the client chooses. Default 30 seconds. A delay that the server requests counts as an hour
   * at most, and as 100 ms at least, or {@link Reconnect.initialInterval} if that is less.
   */
  readonly maxInterval?: Duration.Input | undefined
  /**
   * The number of attempts in a row without an event, after which the request of a stream fails with `ExchangeEnded`.
   * Default 5. The standalone stream is reconnected as long as the session lasts.
   */
  readonly maxAttempts?: number | undefined
  /**
   * The number of new sessions in a row that may be lost without being useful. Then the connection fails with
   * `SessionLost`. A session was useful if a request was answered in it, or if it lasted {@link Reconnect.maxInterval}.
   * Each new session waits longer than the one before. Default 8.
   */
  readonly maxRenewals?: number | undefined
}

/**
 * Options of a Streamable HTTP client.
 *
 * @category options
 */
export interface Options extends HttpClientOptions.Options {
  /** Whether to open the standalone SSE stream, if the server offers one. Default `true`. */
  readonly standalone?: boolean | undefined
  /** Options for reconnecting broken streams. */
  readonly reconnect?: Reconnect | undefined
  /**
   * The time that the server has to confirm the end of the session (SHS-28). If the client leaves during the handshake,
   * also the time to send the session id. Default 2 seconds.
   */
  readonly closeTimeout?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  closeTimeout: NumericOption.duration
}

const reconnectRules: NumericOption.Rules<Reconnect> = {
  initialInterval: NumericOption.duration,
  factor: NumericOption.growth,
  maxInterval: NumericOption.duration,
  maxAttempts: NumericOption.countFromZero,
  maxRenewals: NumericOption.countFromZero
}

const settings = (
  { closeTimeout, maxMessageBytes, maxMessageNodes, reconnect, standalone, url }: Options,
  { authorization, headers }: Pick<Settings, "authorization" | "headers">
): Settings => ({
  url,
  headers,
  authorization,
  standalone: standalone ?? true,
  maxMessageBytes: maxMessageBytes ?? Sse.defaultMaxEventBytes,
  maxMessageNodes: maxMessageNodes ?? FrameText.defaultMaxNodes,
  reconnect: ReconnectDelay.make({
    initialMillis: Duration.toMillis(reconnect?.initialInterval ?? "1 second"),
    factor: reconnect?.factor ?? 1.5,
    maxMillis: Duration.toMillis(reconnect?.maxInterval ?? "30 seconds"),
    maxAttempts: reconnect?.maxAttempts ?? 5,
    maxRenewals: reconnect?.maxRenewals ?? 8
  }),
  closeTimeout: closeTimeout ?? "2 seconds"
})

/**
 * Creates the transport as a value. Each `connect` opens another session, so one transport carries any number of
 * sessions. `connect` fails with `ConnectFailed` only if the URL is invalid or contains credentials.
 *
 * A request fails with
 *
 * - `ConnectFailed` if nothing of it can have been sent;
 * - `Rejected` if the server answers with an error status, or redirects to another origin. Such a redirect is never
 *   followed, because the request has the session id and the program's headers. An error response with a JSON-RPC error
 *   is the response of the request instead;
 * - `Unauthenticated` if the server answers 401. With an authorization also `AuthorizationRequired` while a person has
 *   to act, and `AuthorizationFailed`;
 * - `ExchangeEnded` if the request may have been carried out and its response will not arrive. Its stream broke and
 *   could not be resumed, or the HTTP response is too large, or is neither JSON nor an SSE stream.
 *
 * Redirects within the origin of the URL are followed, at most five in a row: 307 and 308, and for a GET 301 to 303.
 * Later requests of the connection use the new URL. After a permanent redirect (301, 308) those of later connections
 * do, too.
 *
 * `run` never ends by itself. It fails with `SessionLost` if the server has lost the session and the client cannot open
 * a new one. Closing the scope cancels the requests in flight and sends a DELETE for the session (SHS-28). A handshake
 * in flight first completes, within `closeTimeout`: only its response contains the session id to delete.
 *
 * @example
 * ```ts
 * import { ClientSession, Transport } from "@effect-mcp/session"
 * import { StreamableHttpClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * // Two sessions with one server.
 * export const two = Effect.gen(function*() {
 *   const transport = yield* StreamableHttpClient.make({ url: "https://example.com/mcp" })
 *   const session = Effect.provideService(ClientSession.make({ info }), Transport.Transport, transport)
 *   return yield* Effect.all([session, session])
 * })
 * ```
 *
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Transport.Transport["Service"], never, HttpClient> =>
  // Loaded on first use: a program that uses only stdio must not pay 100 ms for HTTP.
  Effect.flatMap(
    Effect.promise(() =>
      Promise.all([
        import("./internal/http/client/streamable/StreamableHttpClientConnection.ts"),
        import("./internal/http/client/SecretHeaders.ts")
      ])
    ),
    ([connection, SecretHeaders]) => {
      LoadedPackages.check(thisPackage)
      NumericOption.check(options, rules)
      NumericOption.check(options.reconnect, reconnectRules, "reconnect.")
      return Effect.flatMap(
        SecretHeaders.make(options),
        (secret) => Effect.map(connection.make(settings(options, secret)), secret.hide)
      )
    }
  )

/**
 * Provides the transport over any HTTP client of Effect. On Node, `layerNode` of `@effect-mcp/transport/node` includes
 * one.
 *
 * The HTTP client must not follow redirects by itself, because it would follow them to any origin. For a client over
 * `fetch`, this Layer ensures that with `FetchHttpClient.RequestInit`; a program that sets that service must provide it
 * to this Layer, too.
 *
 * @example
 * ```ts
 * import { StreamableHttpClient } from "@effect-mcp/transport"
 * import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
 * import * as Layer from "effect/Layer"
 *
 * export const overSocket = Layer.provide(
 *   StreamableHttpClient.layer({ url: "http://localhost/mcp" }),
 *   NodeHttpClient.layerUndiciOptions({ connect: { socketPath: "/run/example.sock" } })
 * )
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, HttpClient> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * Provides the transport over the global `fetch`, for browsers and all other platforms.
 *
 * @example
 * ```ts
 * import { StreamableHttpClient } from "@effect-mcp/transport"
 *
 * export const server = StreamableHttpClient.layerFetch({ url: "https://example.com/mcp", standalone: false })
 * ```
 *
 * @category layers
 */
export const layerFetch = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), HttpClients.fetch)
