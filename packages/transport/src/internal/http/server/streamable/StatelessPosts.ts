/** The POSTs that are served without a session, each with a fiber of its own. */
import { ErrorCode, JsonRpc, Revision } from "@effect-mcp/protocol"
import { ParameterHeader } from "@effect-mcp/protocol/internal"
import type { Principal } from "@effect-mcp/session/Principal"
import type * as StatelessServer from "@effect-mcp/session/StatelessServer"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import { replaceUnserializable } from "../../../shared/OutgoingFrame.ts"
import type { Post } from "../HttpGuard.ts"
import type { ScopeRefusal } from "../ScopeRefusal.ts"
import { SseStream } from "../SseStream.ts"
import type { StreamWatchdog } from "../StreamWatchdog.ts"
import { type Owner, PostExchange, type ResponseMode } from "./PostExchange.ts"
import type { PostResponse } from "./PostResponse.ts"
import * as PostRules from "./PostRules.ts"

/** The settings of all exchanges of a server. */
export interface Options {
  readonly mode: ResponseMode
  readonly watchdog: StreamWatchdog
  readonly detachedMillis: number
  /** The characters that wait for a client before senders wait. */
  readonly capacity: number
  readonly scopes: ScopeRefusal
}

/** The time that interrupted handlers have to clean up. */
const cleanup = "1 second"

/** The key of streams that cannot be resumed. */
const noKey = { session: "", stream: "", epoch: 1, requests: [] }

const serverEnded: JsonRpc.ErrorObject = { code: ErrorCode.InternalError, message: "The server has ended" }

/** Returns whether a message has no reply, so that it is answered with 202 before it is handled. */
const expectsNoReply = (message: JsonRpc.Classified): boolean =>
  message._tag === "Batch"
    ? message.frames.every((inner) => !Array.isArray(inner) && expectsNoReply(JsonRpc.classify(inner)))
    : message._tag === "Notification" || message._tag === "Response"

const isUnserializable = ({ reason }: TransportError): boolean => reason._tag === "Unserializable"

/** The frame of a POST, as the server receives it. */
class PostedFrame implements StatelessServer.IncomingFrame {
  readonly revision: Revision.Revision
  readonly message: JsonRpc.Classified
  readonly era: StatelessServer.Era
  readonly principal: Principal | undefined
  readonly authenticates = true
  readonly client: string | undefined
  readonly bytes: number | undefined
  readonly notify: StatelessServer.IncomingFrame["notify"]
  readonly #request: HttpServerRequest

  constructor(
    exchange: PostExchange,
    { bytes, principal, request }: Pick<Post, "bytes" | "principal" | "request">,
    message: JsonRpc.Classified,
    era: StatelessServer.Era,
    revision: Revision.Revision
  ) {
    this.revision = revision
    this.message = message
    this.era = era
    this.principal = principal
    this.client = ClientAddress.of(request)
    this.bytes = bytes
    this.notify = (notification) => exchange.write(notification, false)
    this.#request = request
  }

  /** A getter, because few handlers look. */
  get parameterHeaders(): StatelessServer.IncomingFrame["parameterHeaders"] {
    return this.era._tag === "Modern" ? ParameterHeader.from(this.#request.headers) : undefined
  }
}

/** The exchanges in flight. Each has a fiber of the server, so that a lost connection cancels nothing. */
export class StatelessPosts implements Owner {
  readonly mode: ResponseMode
  readonly detachedMillis: number
  readonly watchdog: StreamWatchdog
  readonly sendsPrimingEvents = false
  readonly #server: StatelessServer.StatelessServer
  readonly #capacity: number
  readonly #scopes: ScopeRefusal
  readonly #fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly #fibers = new Map<PostExchange, Fiber.Fiber<void>>()

  constructor(
    server: StatelessServer.StatelessServer,
    fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>,
    options: Options
  ) {
    this.#server = server
    this.#fork = fork
    this.mode = options.mode
    this.watchdog = options.watchdog
    this.detachedMillis = options.detachedMillis
    this.#capacity = options.capacity
    this.#scopes = options.scopes
  }

  /** Starts to serve a POST, and returns its exchange. */
  #post(
    received: Omit<Post, "version">,
    message: JsonRpc.Classified,
    era: StatelessServer.Era,
    revision: Revision.Revision
  ): PostExchange {
    const exchange = new PostExchange(this, message, PostRules.of(era))
    const fiber = this.#fork(
      Effect.flatMap(
        this.#server.handle(received.frame, new PostedFrame(exchange, received, message, era, revision)),
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

  /** Serves a POST in its era, and returns its response. */
  serve(
    received: Omit<Post, "version">,
    message: JsonRpc.Classified,
    era: StatelessServer.Era,
    responses: PostResponse,
    revision: Revision.Revision = Revision.latest
  ): Effect.Effect<HttpServerResponse, HttpServerResponse> {
    return Effect.uninterruptibleMask((restore): Effect.Effect<HttpServerResponse, HttpServerResponse> => {
      const refused = this.#scopes.check(this.#server, message, received)
      if (refused !== undefined) return Effect.fail(refused)
      const exchange = this.#post(received, message, era, revision)
      const response = responses.ifDecided(exchange, received)
      return response === undefined ? responses.of(exchange, received, restore) : Effect.succeed(response)
    })
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
  get #settled(): Effect.Effect<void> {
    return Effect.suspend(() => Effect.asVoid(Fiber.awaitAll(this.#fibers.values())))
  }

  /** Ends every response with an error, interrupts every handler, and waits until they have cleaned up. */
  get ended(): Effect.Effect<void> {
    return Effect.suspend(() => {
      for (const [exchange, fiber] of this.#fibers) {
        exchange.fail(serverEnded)
        fiber.interruptUnsafe()
      }
      return Effect.asVoid(Effect.timeoutOption(Effect.interruptible(this.#settled), cleanup))
    })
  }
}

/** Sends the reply, or an error if JSON cannot represent the reply; a client that left misses it. */
const sendReply = (exchange: PostExchange, reply: StatelessServer.Reply | undefined): Effect.Effect<void> => {
  if (reply === undefined) return Effect.void
  const sent = Effect.suspend(() => exchange.write(reply, true))
  return Effect.ignore(
    Effect.catchIf(sent, isUnserializable, () => exchange.write(replaceUnserializable(reply), true))
  )
}
