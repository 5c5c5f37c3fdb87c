/**
 * The client half of Streamable HTTP: each message is a POST of its own (HTTP-02), which is answered with JSON or with a stream
 * of events (HTTP-10), and what the server says on its own account comes on a standalone stream. What belongs together is known
 * by a session id that the server gives (SHS-24).
 *
 * Streams that break off are taken up again behind the last event, where the server numbers them. A session that the server knows
 * nothing of any more is opened anew, once. Whatever may have been carried out is not asked for twice.
 *
 * @since 0.1.0
 */
import * as NumericOption from "@effect-mcp/session/NumericOption"
import * as Transport from "@effect-mcp/session/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type { Redacted } from "effect/Redacted"
import * as EventStreamFraming from "./EventStreamFraming.ts"
import { headersOf } from "./internal/http/client/headersOf.ts"
import * as HttpClients from "./internal/http/client/HttpClients.ts"
import * as ReconnectDelay from "./internal/http/client/streamable/ReconnectDelay.ts"
import type { Settings } from "./internal/http/client/streamable/StreamableHttpClientConnection.ts"
import * as FrameText from "./internal/shared/FrameText.ts"

/**
 * Headers by name. A `Redacted` value does not appear where headers are shown.
 *
 * @category options
 * @since 0.1.0
 */
export type HeaderValues = Readonly<Record<string, string | Redacted<string>>>

/**
 * How a stream that broke off is taken up again. After each try that brings nothing the next waits longer. A server may ask for
 * another delay, which is then the least that is waited for (SHS-06).
 *
 * @category options
 * @since 0.1.0
 */
export interface Reconnect {
  /** How long to wait before the first try. The default is 1 second. */
  readonly initial?: Duration.Input | undefined
  /** How many times longer to wait before the next. The default is 1.5. */
  readonly factor?: number | undefined
  /**
   * The longest that is waited for, unless the server asks for more. The default is 30 seconds. A server can ask for
   * 100 ms at least, or {@link Reconnect.initial} if that is less, and for an hour at most.
   */
  readonly max?: Duration.Input | undefined
  /**
   * How often the stream of a request is tried for in a row without an event, before the request fails with `ExchangeEnded`. The
   * default is 5. The standalone stream is tried for as long as the session lasts.
   */
  readonly attempts?: number | undefined
  /**
   * The number of sessions in a row that may be opened in place of a lost one and are lost again before a request is
   * answered in them, or before {@link Reconnect.max} has passed. Then the connection fails with `SessionLost`. Each
   * waits longer than the one before. The default is 8.
   */
  readonly renewals?: number | undefined
}

/**
 * Where the server is, what it wants to know, and how long to wait for it.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The server's one path for the protocol. Credentials belong into `headers`; a URL with some in it is not called. */
  readonly url: string | URL
  /** Headers of every request; an effect is run for each. Those that the protocol defines are set over them. */
  readonly headers?: HeaderValues | Effect.Effect<HeaderValues> | undefined
  /**
   * Is asked when the server answers 401, with what it says about how to prove who asks (`WWW-Authenticate`). The headers it gives
   * are sent from then on, beginning with the refused message, which is tried once more. Without them, and without this option,
   * the message fails with `Unauthenticated`. It is asked one at a time, and what it gives serves every message that was refused
   * in the meantime.
   */
  readonly authorize?:
    | ((challenge: string | undefined) => Effect.Effect<HeaderValues | undefined>)
    | undefined
  /** Open a stream for what the server says on its own account, if it offers one. The default is `true`. */
  readonly standalone?: boolean | undefined
  /** The longest message to read, in bytes. The default is 4 MiB. */
  readonly messageLimitBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read. The default is 100,000. A message with more is not
   * parsed, which an event says: parsing takes time and memory for each of them, and cannot be interrupted.
   */
  readonly messageLimitNodes?: number | undefined
  /** How streams that broke off are taken up again. */
  readonly reconnect?: Reconnect | undefined
  /**
   * How long the server may take to answer that it has ended the session (SHS-28), and, where the client leaves in the handshake, to
   * say which session that is. The default is 2 seconds.
   */
  readonly closeWithin?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  messageLimitBytes: NumericOption.count,
  messageLimitNodes: NumericOption.count,
  closeWithin: NumericOption.duration
}

const reconnectRules: NumericOption.Rules<Reconnect> = {
  initial: NumericOption.duration,
  factor: NumericOption.growth,
  max: NumericOption.duration,
  attempts: NumericOption.countFromZero,
  renewals: NumericOption.countFromZero
}

const settings = (
  { authorize, closeWithin, headers, messageLimitBytes, messageLimitNodes, reconnect, standalone, url }: Options
): Settings => ({
  url,
  headers: headersOf(headers),
  authorize,
  standalone: standalone ?? true,
  limitBytes: messageLimitBytes ?? EventStreamFraming.defaultLimitBytes,
  limitNodes: messageLimitNodes ?? FrameText.defaultLimitNodes,
  reconnect: ReconnectDelay.make({
    initialMillis: Duration.toMillis(reconnect?.initial ?? "1 second"),
    factor: reconnect?.factor ?? 1.5,
    maxMillis: Duration.toMillis(reconnect?.max ?? "30 seconds"),
    attempts: reconnect?.attempts ?? 5,
    renewals: reconnect?.renewals ?? 8
  }),
  closeWithin: closeWithin ?? "2 seconds"
})

/**
 * The transport as a value. Each `connect` is a session of its own, so it carries any number of sessions; it fails with
 * `ConnectFailed` only if the URL is none.
 *
 * A request fails with
 *
 * - `ConnectFailed` when nothing of it can have been sent;
 * - `Rejected` when the server refuses it with a status, or redirects it to another origin, which is never followed:
 *   the session id and the program's own headers would go along. A refusal that is a JSON-RPC error is that request's
 *   response;
 * - `Unauthenticated` when the server does not know who asks;
 * - `ExchangeEnded` when it may have been carried out, and its response will not come: its stream broke off for good, or the answer
 *   is neither JSON nor a stream of events, or too large.
 *
 * Redirects within the origin of the URL are followed, at most five in a row: 307 and 308, and for a GET 301 to 303.
 * Later requests go where they led: those of this connection, and after a permanent redirect (301, 308) those of all
 * later ones, too.
 *
 * `run` never ends by itself. It fails with `SessionLost` when the server knows nothing of the session any more and there is no
 * going on with a new one. Leaving the scope gives up whatever is in flight and tells the server with a DELETE (SHS-28). A
 * handshake in flight is heard out first, within `closeWithin`, since only its answer says which session there is to end.
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
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Transport.Transport["Service"], never, HttpClient> =>
  // Loaded when it is used: a program that speaks over stdio must not pay 100 ms for HTTP.
  Effect.flatMap(
    Effect.promise(() => import("./internal/http/client/streamable/StreamableHttpClientConnection.ts")),
    (connection) => {
      NumericOption.check(options, rules)
      NumericOption.check(options.reconnect, reconnectRules, "reconnect.")
      return connection.make(settings(options))
    }
  )

/**
 * The transport as a Layer over any HTTP client of Effect. On Node, {@link layerNode} is all in one.
 *
 * The client must not follow redirects by itself, because it would follow them to any origin. One that stands on `fetch`
 * is told not to, for which `FetchHttpClient.RequestInit`, where a program sets it, has to be provided to this Layer,
 * too.
 *
 * @example
 * ```ts
 * import { StreamableHttpClient } from "@effect-mcp/transport"
 * import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
 * import * as Layer from "effect/Layer"
 *
 * export const behindSocket = Layer.provide(
 *   StreamableHttpClient.layer({ url: "http://localhost/mcp" }),
 *   NodeHttpClient.layerUndiciOptions({ connect: { socketPath: "/run/example.sock" } })
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, HttpClient> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * The transport as a Layer that needs nothing, on Node. It stands on undici, which keeps connections for the next message, lets go
 * of one that is given up, and leaves none when the Layer closes.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { StreamableHttpClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * const server = StreamableHttpClient.layerNode({
 *   url: "https://example.com/mcp",
 *   headers: { authorization: Redacted.make(`Bearer ${process.env["EXAMPLE_TOKEN"]}`) }
 * })
 * const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" } })
 *
 * export const program = Effect.gen(function*() {
 *   const example = yield* ClientSession.ClientSession
 *   return yield* example.callTool("search", { words: "birthday" })
 * }).pipe(
 *   Effect.provide(Layer.provide(session, server))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNode = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), HttpClients.undici)

/**
 * The transport as a Layer over the `fetch` that there is, for browsers and everywhere else.
 *
 * @example
 * ```ts
 * import { StreamableHttpClient } from "@effect-mcp/transport"
 *
 * export const server = StreamableHttpClient.layerFetch({ url: "https://example.com/mcp", standalone: false })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFetch = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), HttpClients.fetch)
