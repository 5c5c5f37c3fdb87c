/** The handler of Streamable HTTP without sessions: each POST is served by itself. */
import { ErrorCode, JsonRpc, Revision } from "@effect-mcp/protocol"
import type * as SessionlessServer from "@effect-mcp/session/SessionlessServer"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import { replaceUnserializable } from "../../../shared/OutgoingFrame.ts"
import { declaredVersion, type Handler, type HttpGuard, type Post, type Route } from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import { SseStream } from "../SseStream.ts"
import type { StreamWatchdog } from "../StreamWatchdog.ts"
import * as ModernPost from "./ModernPost.ts"
import { type Owner, PostExchange, type ResponseMode } from "./PostExchange.ts"
import type { PostResponse } from "./PostResponse.ts"

/** The settings of all exchanges of a server. */
export interface Options {
  readonly mode: ResponseMode
  readonly watchdog: StreamWatchdog
  readonly detachedMillis: number
  /** The characters that wait for a client before senders wait. */
  readonly capacity: number
  /** The time that requests in flight have to finish after shutdown begins. */
  readonly gracefulCloseMillis: number
}

/** A handler of requests that can be shut down. */
export interface StatelessHandler {
  readonly handle: Handler
  /** Rejects new requests, and waits until those in flight have finished; after a time it interrupts them. */
  readonly drain: Effect.Effect<void>
}

/** The revision of a request that declares none (SHS-29). */
const undeclared: Revision.LegacyRevision = "2025-03-26"

/** The time that interrupted handlers have to clean up. */
const cleanup = "1 second"

/** The key of streams that cannot be resumed. */
const noKey = { session: "", stream: "" }

const serverEnded: JsonRpc.ErrorObject = { code: ErrorCode.InternalError, message: "The server has ended" }

/** Returns whether a message has no reply, so that it is answered with 202 before it is handled. */
const expectsNoReply = (message: JsonRpc.Classified): boolean =>
  message._tag === "Batch"
    ? message.frames.every((inner) => !Array.isArray(inner) && expectsNoReply(JsonRpc.classify(inner)))
    : message._tag === "Notification" || message._tag === "Response"

const isUnserializable = ({ reason }: TransportError): boolean => reason._tag === "Unserializable"

/** The exchanges in flight. Each has a fiber of the server, so that a lost connection cancels nothing. */
class Exchanges implements Owner {
  readonly mode: ResponseMode
  readonly detachedMillis: number
  readonly watchdog: StreamWatchdog
  readonly sendsPrimingEvents = false
  readonly #server: SessionlessServer.SessionlessServer
  readonly #capacity: number
  readonly #fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly #fibers = new Map<PostExchange, Fiber.Fiber<void>>()

  constructor(
    server: SessionlessServer.SessionlessServer,
    fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>,
    options: Options
  ) {
    this.#server = server
    this.#fork = fork
    this.mode = options.mode
    this.watchdog = options.watchdog
    this.detachedMillis = options.detachedMillis
    this.#capacity = options.capacity
  }

  /** Starts to serve a POST, and returns its exchange. */
  post(
    { bytes, frame, principal, request }: Omit<Post, "version">,
    message: JsonRpc.Classified,
    revision: Revision.Revision
  ): PostExchange {
    const exchange = new PostExchange(this, frame, Revision.isModern(revision))
    const fiber = this.#fork(
      Effect.flatMap(
        this.#server.handle(frame, {
          principal,
          client: ClientAddress.of(request),
          revision,
          bytes,
          notify: (message) => exchange.write(message, false)
        }),
        (reply) => sendReply(exchange, reply)
      )
    )
    this.#fibers.set(exchange, fiber)
    fiber.addObserver(() => {
      this.#fibers.delete(exchange)
      exchange.finish()
    })
    if (expectsNoReply(message)) exchange.finish()
    return exchange
  }

  openStream(): SseStream {
    return new SseStream(noKey, {
      store: undefined,
      watchdog: this.watchdog,
      capacity: this.#capacity,
      retryMillis: 0
    })
  }

  abandon(exchange: PostExchange): void {
    this.#fibers.get(exchange)?.interruptUnsafe()
    exchange.finish()
  }

  remove(): void {
    // The fiber of an exchange may outlive its response, and removes it.
  }

  /** Waits until the exchanges that are in flight now have ended. */
  get settled(): Effect.Effect<void> {
    return Effect.suspend(() => Effect.asVoid(Fiber.awaitAll(this.#fibers.values())))
  }

  /** Ends every response with an error, and interrupts every handler. */
  failAll(): void {
    for (const [exchange, fiber] of this.#fibers) {
      exchange.fail(serverEnded)
      fiber.interruptUnsafe()
    }
  }
}

/** Sends the reply, or an error if JSON cannot represent the reply; a client that left misses it. */
const sendReply = (exchange: PostExchange, reply: SessionlessServer.Reply | undefined): Effect.Effect<void> => {
  if (reply === undefined) return Effect.void
  const sent = Effect.suspend(() => exchange.write(reply, true))
  return Effect.ignore(
    Effect.catchIf(sent, isUnserializable, () => exchange.write(replaceUnserializable(reply), true))
  )
}

/** Makes the handler of all requests to a server without sessions. */
export const make = Effect.fnUntraced(function*(
  server: SessionlessServer.SessionlessServer,
  guard: HttpGuard,
  responses: PostResponse,
  options: Options
): Effect.fn.Return<StatelessHandler> {
  const exchanges = new Exchanges(server, Effect.runForkWith(yield* Effect.context<never>()), options)
  const { gracefulCloseMillis } = options
  const isModern = server.revisions.some((revision) => Revision.isModern(revision))
  let isDraining = false

  /** Returns the revision in which a POST is served. */
  const revisionOf = (
    request: HttpServerRequest,
    message: JsonRpc.Classified
  ): Effect.Effect<Revision.Revision, HttpServerResponse> => {
    const served = message._tag === "Request" ? message.message : undefined
    if (isModern && ModernPost.isModern(request.headers, message)) {
      const rejection = served === undefined ? undefined : ModernPost.rejection(request.headers, served)
      // The metadata of the request names the revision itself.
      return rejection === undefined ? Effect.succeed(Revision.latest) : Effect.fail(rejection)
    }
    return Effect.flatMapEager(declaredVersion(request), (version = undeclared) =>
      // The params of `initialize` contain the revision.
      served?.method === "initialize" || server.revisions.includes(version)
        ? Effect.succeed(version)
        : Effect.fail(HttpResponses.error(
          400,
          `MCP-Protocol-Version ${JSON.stringify(version)} is not supported; supported: ${server.revisions.join(", ")}`,
          { id: served?.id }
        )))
  }

  const post = (received: Omit<Post, "version">): Effect.Effect<HttpServerResponse, HttpServerResponse> => {
    const message = JsonRpc.classify(received.frame)
    if (isDraining) {
      const id = message._tag === "Request" ? message.message.id : undefined
      return Effect.fail(HttpResponses.shuttingDown(gracefulCloseMillis, id))
    }
    return Effect.flatMapEager(
      revisionOf(received.request, message),
      (revision) =>
        Effect.uninterruptibleMask((restore) => {
          const exchange = exchanges.post(received, message, revision)
          const response = responses.ifDecided(exchange, {})
          return response === undefined ? responses.of(exchange, restore) : Effect.succeed(response)
        })
    )
  }

  return {
    handle: guard.protect(
      new Map<string, Route>([["POST", (sender) => Effect.flatMap(guard.readVersionedPost(sender), post)]])
    ),
    drain: Effect.suspend(() => {
      isDraining = true
      return Effect.andThen(
        server.endListeners,
        Effect.timeoutOption(Effect.interruptible(exchanges.settled), Duration.millis(gracefulCloseMillis))
      )
    }).pipe(
      Effect.andThen(Effect.suspend(() => {
        exchanges.failAll()
        return Effect.timeoutOption(Effect.interruptible(exchanges.settled), cleanup)
      })),
      Effect.asVoid
    )
  }
})
