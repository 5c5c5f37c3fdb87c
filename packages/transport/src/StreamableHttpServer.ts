/**
 * The server half of Streamable HTTP, for the revisions from 2025-03-26 to 2025-11-25: one path in any Effect HTTP backend, behind
 * which a {@link SessionHost} keeps a session for each client.
 *
 * A POST brings one message and is answered with JSON or with a stream of events, a GET listens to what the server says on its own
 * account, and a DELETE ends the session. Handlers run in their sessions, so a client that loses its connection cancels nothing.
 *
 * @since 0.1.0
 */
import { ErrorCode, JsonRpc, Revision } from "@effect-mcp/protocol"
import { EventStore } from "@effect-mcp/session/EventStore"
import * as Principal from "@effect-mcp/session/Principal"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import type { Transport } from "@effect-mcp/session/Transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as ByteSize from "effect/ByteSize"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServer } from "effect/http/HttpServer"
import type { HttpServerError, ServeError } from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { createServer, type Server } from "node:http"
import { Authentication } from "./Authentication.ts"
import * as Attendant from "./internal/Attendant.ts"
import * as HttpAnswer from "./internal/HttpAnswer.ts"
import * as HttpScreening from "./internal/HttpScreening.ts"
import { HttpServerConnection, type Options as ConnectionOptions } from "./internal/HttpServerConnection.ts"
import * as MediaTypes from "./internal/MediaTypes.ts"
import type { PostExchange } from "./internal/PostExchange.ts"
import type { StreamReader } from "./internal/StreamReader.ts"

type Response = HttpServerResponse.HttpServerResponse

/**
 * What may be said about a server; everything has a default.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /**
   * How a request is answered. `"adaptive"` (the default): with JSON if the reply is the first thing there is to say, and
   * otherwise, or after `streamAfter`, with a stream of events. `"json"`: always with JSON; what belongs to a request but is not
   * its reply then has no route. `"stream"`: always with a stream.
   */
  readonly answer?: "adaptive" | "json" | "stream" | undefined
  /** How long an adaptive answer waits for something to say before it becomes a stream. Default 1 second. */
  readonly streamAfter?: Duration.Input | undefined
  /**
   * The names that this server may be asked for in `Host`, with or without a port; any other is answered with 403. Default: the
   * names of this machine where the HTTP server listens on this machine only, any name where it does not.
   */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /**
   * The origins of pages that may use this server, such as `https://app.example.com`, or `"*"` for all; any other is answered with
   * 403 (HTTP-11, HTTP-12). Pages of this machine may use a server on it. Default: none besides.
   */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  /** How large the body of a request may be, in bytes; one that is larger is answered with 413. Default 4 MiB. */
  readonly bodyLimitBytes?: number | undefined
  /** How many messages may come in one batch (2025-03-26); one with more is answered with 400. Default 100. */
  readonly batchLimit?: number | undefined
  /** How long a stream is silent at most; then a comment is sent. Default 15 seconds. */
  readonly keepAlive?: Duration.Input | undefined
  /** How much may wait for one reader of a stream before the sender waits, in characters. Default 1 Mi. */
  readonly streamBuffer?: number | undefined
  /**
   * How long a reader may take nothing while something waits for it; then its response is broken off. It can come back for the rest
   * where there is an `EventStore`. Less than `limits.write` of the sessions, which end whole when a message waits that long.
   * Default 20 seconds.
   */
  readonly stalledAfter?: Duration.Input | undefined
  /**
   * How long a request goes on whose client has lost its response and not come back; then its handler is interrupted. A lost
   * connection alone cancels nothing (SHS-10). Default 5 minutes.
   */
  readonly unattended?: Duration.Input | undefined
  /** How soon a client should come back to a stream that it lost (SHS-05). Default 1 second. */
  readonly retry?: Duration.Input | undefined
}

const megabyte = 1024 * 1024

/** A transport that can be recognized again in what a host keeps. */
class HttpTransport {
  readonly connection: HttpServerConnection
  readonly connect: Transport["Service"]["connect"]

  constructor(connection: HttpServerConnection) {
    this.connection = connection
    this.connect = Effect.acquireRelease(
      Effect.sync(() => connection.port),
      () =>
        Effect.suspend(() => {
          connection.close()
          return connection.settled()
        })
    )
  }
}

const connectionOf = (hosted: SessionHost.Hosted): HttpServerConnection | undefined =>
  hosted.transport instanceof HttpTransport ? hosted.transport.connection : undefined

const isInitialize = (frame: unknown): frame is JsonRpc.Request => {
  const classified = JsonRpc.classify(frame)
  return classified._tag === "Request" && classified.message.method === "initialize"
}

const idOf = (frame: unknown): JsonRpc.Request["id"] | undefined => {
  const classified = JsonRpc.classify(frame)
  return classified._tag === "Request" ? classified.message.id : undefined
}

const unknownSession = HttpAnswer.refusal(404, "There is no session with this id")

const accepted = HttpAnswer.empty(202)

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** What a browser may ask for, and see of the answer. */
const corsHeaders = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers":
    "accept, authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id",
  "access-control-max-age": "86400"
}

const exposed = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after"

const overloaded = (problem: string, id: JsonRpc.Request["id"] | undefined) =>
  HttpAnswer.refusal(503, problem, { id, code: ErrorCode.Overloaded, headers: { "retry-after": "5" } })

const leaving = overloaded("The server is about to go", undefined)

/**
 * The server as a handler of requests, whatever path they came to. An `EventStore` in the context makes streams resumable, and an
 * `Authentication` in it decides who is let in. What is open ends with its session.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<
  (request: HttpServerRequest) => Effect.Effect<Response>,
  never,
  SessionHost.SessionHost | Scope.Scope
> {
  const host = yield* SessionHost.SessionHost
  const store = Option.getOrUndefined(yield* Effect.serviceOption(EventStore))
  const authentication = Option.getOrUndefined(yield* Effect.serviceOption(Authentication))
  const server = Option.getOrUndefined(yield* Effect.serviceOption(HttpServer))
  const mode = options.answer ?? "adaptive"
  const streamAfter = options.streamAfter ?? "1 second"
  const bodyLimit = options.bodyLimitBytes ?? 4 * megabyte
  const batchLimit = options.batchLimit ?? 100
  const screening = HttpScreening.make({
    allowedHosts: options.allowedHosts,
    allowedOrigins: options.allowedOrigins ?? [],
    loopback: server !== undefined && HttpScreening.isLoopbackAddress(server.address)
  })
  const unattendedMillis = Duration.toMillis(options.unattended ?? "5 minutes")
  const attendant = yield* Attendant.make({
    keepAliveMillis: Duration.toMillis(options.keepAlive ?? "15 seconds"),
    stallMillis: Duration.toMillis(options.stalledAfter ?? "20 seconds"),
    unattendedMillis
  })
  const connectionOptions: ConnectionOptions = {
    mode,
    store,
    attendant,
    capacity: options.streamBuffer ?? megabyte,
    retryMillis: Duration.toMillis(options.retry ?? "1 second"),
    unattendedMillis
  }

  const transport = (id: string) => new HttpTransport(new HttpServerConnection(id, connectionOptions))

  /** The session that a request names, if it is there and belongs to whoever asks; or the answer that says why not. */
  const sessionOf = (
    { headers }: HttpServerRequest,
    principal: Principal.Principal | undefined
  ): Effect.Effect<SessionHost.Hosted, Response> => {
    const id = headers["mcp-session-id"]
    if (id === undefined) return Effect.fail(HttpAnswer.refusal(400, "The header Mcp-Session-Id is missing"))
    const check = (hosted: SessionHost.Hosted | undefined): Effect.Effect<SessionHost.Hosted, Response> => {
      // It may go on elsewhere.
      if (hosted === undefined) {
        return Effect.flatMap(host.health, ({ draining }) => Effect.fail(draining ? leaving : unknownSession))
      }
      // To anybody else it does not exist.
      return Principal.isSame(hosted.principal, principal) && connectionOf(hosted) !== undefined
        ? Effect.succeed(hosted)
        : Effect.fail(unknownSession)
    }
    const found = host.find(id)
    if (found !== undefined) return check(found)
    return host.restore(id, transport(id), "streamable-http").pipe(
      Effect.catchTags({
        HostFull: (error) => Effect.fail(overloaded(error.message, undefined)),
        TransportError: () => Effect.undefined,
        SessionStoreError: (error) =>
          Effect.andThen(
            Effect.logWarning("the session store failed", error),
            Effect.fail(overloaded("The session cannot be looked up at the moment", undefined))
          )
      }),
      Effect.flatMap(check)
    )
  }

  /** The revision that a request says it is in; nothing is said by one that does not know yet, or an old one (SHS-29). */
  const revisionOf = ({ headers }: HttpServerRequest): Revision.Revision | Response | undefined => {
    const said = headers["mcp-protocol-version"]
    if (said === undefined || Revision.isRevision(said)) return said
    return HttpAnswer.refusal(
      400,
      `The protocol version ${JSON.stringify(said)} is not supported; supported: ${Revision.supported.join(", ")}`
    )
  }

  const tooLarge = HttpAnswer.refusal(413, `A body may have ${bodyLimit} bytes`)
  const maxBodySize = ByteSize.bytes(bodyLimit)

  /** What a POST brought: a frame, with its size. */
  const bodyOf = (request: HttpServerRequest): Effect.Effect<ArrayBuffer, Response> =>
    Number(request.headers["content-length"] ?? 0) > bodyLimit
      ? Effect.fail(tooLarge)
      : Effect.mapError(
        Effect.provideService(request.arrayBuffer, MaxBodySize, maxBodySize),
        ({ reason }: HttpServerError) =>
          reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
            ? tooLarge
            : HttpAnswer.refusal(400, "The body could not be read", { code: ErrorCode.ParseError })
      )

  const frameOf = (bytes: ArrayBuffer): { readonly frame: unknown } | undefined => {
    try {
      return { frame: JSON.parse(utf8.decode(bytes)) }
    } catch {
      return undefined
    }
  }

  const events = (reader: StreamReader, headers: HttpAnswer.Headers): Response =>
    HttpServerResponse.stream(reader.body, {
      headers: { ...HttpAnswer.streamHeaders, ...headers },
      contentType: "text/event-stream"
    })

  const answerWith = (
    { answer }: PostExchange,
    headers: HttpAnswer.Headers
  ): Response | undefined => {
    switch (answer?._tag) {
      case undefined:
        return undefined
      case "Reply":
        return HttpAnswer.json(
          answer.status,
          answer.body,
          answer.status === 429 ? { ...headers, "retry-after": "1" } : headers
        )
      case "Events":
        return events(answer.reader, headers)
      case "Nothing":
        return accepted
    }
  }

  const answered = (
    exchange: PostExchange,
    headers: HttpAnswer.Headers,
    waited: Effect.Effect<unknown>
  ): Effect.Effect<Response> =>
    Effect.map(
      Effect.onInterrupt(waited, () => Effect.sync(() => exchange.leave())),
      () => answerWith(exchange, headers) ?? accepted
    )

  /** Waits for the answer to a POST; one that takes long becomes a stream. */
  const answerTo = (exchange: PostExchange): Effect.Effect<Response> => {
    if (mode === "stream") exchange.begin()
    const later = Effect.andThen(Effect.sleep(streamAfter), Effect.sync(() => exchange.begin()))
    return answered(
      exchange,
      {},
      mode === "adaptive"
        ? Effect.raceFirst(exchange.answered, Effect.andThen(later, Effect.never))
        : exchange.answered
    )
  }

  /** A client that has no session yet. */
  const open = (
    initialize: JsonRpc.Request,
    bytes: number,
    principal: Principal.Principal | undefined
  ): Effect.Effect<Response> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const id = globalThis.crypto.randomUUID()
        const opened = transport(id)
        const hosted = yield* host.open(opened, { kind: "streamable-http", id, principal })
        // Whoever does not hear of its session cannot come back to it.
        const orLeave = <A>(effect: Effect.Effect<A>) =>
          Effect.onInterrupt(restore(effect), () => hosted.close({ _tag: "PeerEnded", exit: undefined }))
        const exchange = opened.connection.post(initialize, bytes, principal)
        const response = yield* orLeave(answered(exchange, { "mcp-session-id": id }, exchange.answered))
        if (exchange.isRefused) {
          // Nor is there anything to come back to without a handshake.
          yield* hosted.close({ _tag: "HandshakeFailed", problem: "initialize was refused" })
          return HttpServerResponse.removeHeader(response, "mcp-session-id")
        }
        yield* orLeave(host.remember(hosted, [initialize, JsonRpc.notification("notifications/initialized")]))
        return response
      })
    ).pipe(
      Effect.catchTags({
        HostFull: (error) => Effect.succeed(overloaded(error.message, initialize.id)),
        TransportError: (error) =>
          Effect.succeed(HttpAnswer.refusal(500, error.message, { id: initialize.id, code: ErrorCode.InternalError }))
      })
    )

  const deliver = (
    request: HttpServerRequest,
    bytes: ArrayBuffer,
    principal: Principal.Principal | undefined,
    said: Revision.Revision | undefined
  ): Effect.Effect<Response, Response> => {
    const parsed = frameOf(bytes)
    if (parsed === undefined) return Effect.fail(HttpAnswer.refusal(400, "Parse error", { code: ErrorCode.ParseError }))
    const { frame } = parsed
    if (Array.isArray(frame) && frame.length > batchLimit) {
      return Effect.fail(HttpAnswer.refusal(400, `A batch may have ${batchLimit} messages`))
    }
    if (request.headers["mcp-session-id"] === undefined && isInitialize(frame)) {
      return open(frame, bytes.byteLength, principal)
    }
    return Effect.flatMap(
      Effect.mapError(sessionOf(request, principal), (refusal) => withId(refusal, frame)),
      (hosted): Effect.Effect<Response, Response> => {
        const connection = connectionOf(hosted)
        if (connection === undefined || connection.isClosed) return Effect.fail(unknownSession)
        hosted.touch()
        if (said !== undefined) connection.mismatch(said)
        const exchange = connection.post(frame, bytes.byteLength, principal)
        const answer = answerWith(exchange, {})
        if (answer !== undefined) return Effect.succeed(answer)
        const release = hosted.hold()
        return Effect.ensuring(answerTo(exchange), Effect.sync(release))
      }
    )
  }

  const post = (
    request: HttpServerRequest,
    principal: Principal.Principal | undefined
  ): Effect.Effect<Response, Response> => {
    const { accept, "content-type": contentType } = request.headers
    if (!MediaTypes.accepts(accept, "application/json") || !MediaTypes.accepts(accept, "text/event-stream")) {
      return Effect.fail(HttpAnswer.refusal(406, "Accept must list application/json and text/event-stream"))
    }
    if (!MediaTypes.isJson(contentType)) {
      return Effect.fail(HttpAnswer.refusal(415, "Content-Type must be application/json"))
    }
    const said = revisionOf(request)
    if (typeof said === "object") return Effect.fail(said)
    return Effect.flatMap(bodyOf(request), (bytes) => deliver(request, bytes, principal, said))
  }

  // Some come back to a stream that ends without an event for as long as they are given one.
  const nothingLeft = HttpAnswer.refusal(405, "The stream has ended, and nothing came behind this event", {
    headers: { allow: "POST, DELETE" }
  })

  /** A GET: the standalone stream, or any stream behind an event of it. */
  const get = Effect.fnUntraced(function*(
    request: HttpServerRequest,
    principal: Principal.Principal | undefined
  ): Effect.fn.Return<Response, Response> {
    if (!MediaTypes.accepts(request.headers["accept"], "text/event-stream")) {
      return yield* Effect.fail(HttpAnswer.refusal(406, "Accept must list text/event-stream"))
    }
    const said = revisionOf(request)
    if (typeof said === "object") return yield* Effect.fail(said)
    const hosted = yield* sessionOf(request, principal)
    const connection = connectionOf(hosted)
    if (connection === undefined || connection.isClosed) return yield* Effect.fail(unknownSession)
    hosted.touch()
    if (said !== undefined) connection.mismatch(said)
    const after = request.headers["last-event-id"]
    const release = hosted.hold()
    const reader = yield* (after === undefined || store === undefined
      ? Effect.suspend((): Effect.Effect<StreamReader, Response> => {
        const reader = connection.listen(release)
        return reader === undefined
          ? Effect.fail(HttpAnswer.refusal(409, "The session has a standalone stream already"))
          : Effect.succeed(reader)
      })
      : Effect.flatMap(
        Effect.mapError(
          store.replay(hosted.id, after),
          () => overloaded("The events cannot be read at the moment", undefined)
        ),
        (replay): Effect.Effect<StreamReader, Response> =>
          replay === undefined
            ? Effect.fail(HttpAnswer.refusal(400, "There is no such event to come back to"))
            : replay.ended && replay.events.length === 0
            ? Effect.fail(nothingLeft)
            : Effect.succeed(connection.resume(replay.stream, after, release))
      )).pipe(Effect.onError(() => Effect.sync(release)))
    return events(reader, {})
  })

  const remove = (
    request: HttpServerRequest,
    principal: Principal.Principal | undefined
  ): Effect.Effect<Response, Response> => {
    const said = revisionOf(request)
    if (typeof said === "object") return Effect.fail(said)
    return Effect.flatMap(sessionOf(request, principal), (hosted) => {
      connectionOf(hosted)?.end()
      return Effect.as(hosted.close({ _tag: "PeerEnded", exit: undefined }), HttpAnswer.empty(204))
    })
  }

  const notAllowed = HttpAnswer.refusal(405, "This method is none of the protocol", {
    headers: { allow: "GET, POST, DELETE" }
  })

  const serve = (
    request: HttpServerRequest,
    principal: Principal.Principal | undefined
  ): Effect.Effect<Response, Response> => {
    switch (request.method) {
      case "POST":
        return post(request, principal)
      case "GET":
        return get(request, principal)
      case "DELETE":
        return remove(request, principal)
      default:
        return Effect.fail(notAllowed)
    }
  }

  const identified = (request: HttpServerRequest): Effect.Effect<Response, Response> =>
    authentication === undefined
      ? serve(request, undefined)
      : Effect.flatMap(
        Effect.mapError(authentication.identify(request), ({ challenge }) =>
          HttpAnswer.refusal(401, "Authentication is required", { headers: { "www-authenticate": challenge } })),
        (principal) =>
          serve(request, principal)
      )

  return (request) => {
    const { headers, method } = request
    const { host: name, origin } = headers
    const problem = screening.problem(name, origin)
    if (problem !== undefined) return Effect.succeed(HttpAnswer.refusal(403, problem))
    if (origin === undefined) return Effect.catch(identified(request), Effect.succeed)
    // A page: its browser wants to be told that it may.
    const cors = { "access-control-allow-origin": origin, vary: "origin", "access-control-expose-headers": exposed }
    return method === "OPTIONS" && headers["access-control-request-method"] !== undefined
      ? Effect.succeed(HttpAnswer.empty(204, { ...cors, ...corsHeaders }))
      : Effect.map(
        Effect.catch(identified(request), Effect.succeed),
        (response) => HttpServerResponse.setHeaders(response, cors)
      )
  }
})

/** The same refusal, for whoever sent this frame. */
const withId = (refusal: Response, frame: unknown): Response => {
  const id = idOf(frame)
  if (id === undefined || refusal.body._tag !== "Uint8Array" || refusal.body.text === undefined) return refusal
  const { error } = JSON.parse(refusal.body.text)
  return HttpServerResponse.text(JSON.stringify({ jsonrpc: "2.0", id, error }), {
    status: refusal.status,
    headers: refusal.headers,
    contentType: "application/json"
  })
}

/** A handler of requests, made. */
class Handler extends Context.Service<Handler, Effect.Success<ReturnType<typeof make>>>()(
  "@effect-mcp/transport/StreamableHttpServer/Handler"
) {}

/**
 * The server as a function of web standards, for backends that are not written with Effect: any path, whatever runs it. `dispose`
 * ends all sessions and waits until they have ended. What the layer of the host brings besides, such as an `EventStore` or an
 * `Authentication`, is taken for the server's.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * const { dispose, handler } = StreamableHttpServer.toWebHandler(host)
 *
 * export const status = async () => {
 *   const { status } = await handler(new Request("https://example.com/mcp", { method: "PUT" }))
 *   await dispose()
 *   return status
 * } // => 405
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const toWebHandler = <E>(
  host: Layer.Layer<SessionHost.SessionHost, E>,
  options?: Options
): { readonly handler: (request: Request) => Promise<globalThis.Response>; readonly dispose: () => Promise<void> } =>
  HttpEffect.toWebHandlerLayerWith(Layer.provide(Layer.effect(Handler, make(options)), host), {
    toHandler: (context) =>
      // Whoever aborts does not wait any more.
      Effect.succeed(Effect.interruptible(Effect.flatMap(HttpServerRequest, Context.get(context, Handler))))
  })

/**
 * Mounts the server in an HTTP backend, beside whatever else it has: its middleware and its other routes are none of the server's
 * business. It needs a host, which keeps the sessions. Build `SessionHost.layerDrain` behind the backend: it ends the sessions first,
 * and a backend that goes before them waits for their streams in vain.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  path: HttpRouter.PathInput,
  options?: Options
): Layer.Layer<never, never, HttpRouter.HttpRouter | SessionHost.SessionHost> =>
  HttpRouter.use((router) => Effect.flatMap(make(options), (handle) => router.add("*", path, handle)))

/**
 * What may be said about a server that listens by itself.
 *
 * @category options
 * @since 0.1.0
 */
export interface NodeOptions extends Options {
  /** The port to listen on; 0 for any that is free. */
  readonly port: number
  /** The address to listen on. Default: this machine only (HTTP-13). */
  readonly host?: string | undefined
  /** The path of the endpoint. Default `/mcp`. */
  readonly path?: HttpRouter.PathInput | undefined
}

/**
 * A server of its own, on Node: it listens while the Layer is there. When it goes, its host lets nobody in any more and ends all
 * sessions, then their responses end, and then it stops to listen. `HttpServer` in its context says where it listens.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = Layer.launch(Layer.provide(StreamableHttpServer.layerNode({ port: 3000 }), host))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNode = (
  options: NodeOptions
): Layer.Layer<HttpServer, ServeError, SessionHost.SessionHost> =>
  Layer.unwrap(Effect.sync(() => {
    const server = createServer()
    // What is built last goes first: the sessions end before the server waits for its connections to.
    return Layer.fresh(SessionHost.layerDrain).pipe(
      Layer.provideMerge(layerCut(server)),
      Layer.provideMerge(HttpRouter.serve(layer(options.path ?? "/mcp", options), {
        disableLogger: true,
        disableListenLog: true
      })),
      Layer.provideMerge(
        NodeHttpServer.layerServer(() => server, { port: options.port, host: options.host ?? "127.0.0.1" })
      )
    )
  }))

/** How long clients have to take the last that is said to them. */
const lastWordsMillis = 2000

/** Whoever takes nothing does not keep the server from going. */
const layerCut = (server: Server): Layer.Layer<never> =>
  Layer.effectDiscard(Effect.addFinalizer(() =>
    Effect.sync(() => {
      const timer = setTimeout(() => server.closeAllConnections(), lastWordsMillis)
      server.once("close", () => clearTimeout(timer))
    })
  ))
