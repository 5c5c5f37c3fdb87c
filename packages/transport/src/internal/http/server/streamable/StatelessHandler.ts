import { ErrorCode, JsonRpc, type Revision } from "@effect-mcp/protocol"
import * as SessionlessServer from "@effect-mcp/session/SessionlessServer"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import type { Admission, Posted, Serve } from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import { SseStream } from "../SseStream.ts"
import type { StreamWatchdog } from "../StreamWatchdog.ts"
import { type Host, type Mode, PostExchange } from "./PostExchange.ts"
import type { PostResponse } from "./PostResponse.ts"

/** What all exchanges of a server have in common. */
export interface Options {
  readonly mode: Mode
  readonly watchdog: StreamWatchdog
  readonly detachedMillis: number
  /** How many characters may wait for one reader. */
  readonly capacity: number
}

/** What serves the requests that were let in, by their methods. */
export interface StatelessHandler {
  readonly methods: ReadonlyMap<string, Serve>
  /** Lets nothing in any more; what is served may finish for a while, and is broken off then. */
  readonly drain: Effect.Effect<void>
}

/** What a request is in that does not say so (SHS-29). */
const unsaid: Revision.Revision = "2025-03-26"

/** How long interrupted handlers may take to clean up after themselves before the server goes without them. */
const cleanup = "1 second"

/** Streams have no names where nobody can come back to one. */
const nameless = { session: "", stream: "" }

/** What those are told who have no reply when the server goes. */
const ended: JsonRpc.ErrorObject = { code: ErrorCode.InternalError, message: "The server has ended" }

/** Is this answered with 202, whatever becomes of it? */
const expectsNothing = (frame: unknown): boolean => {
  const classified = JsonRpc.classify(frame)
  return classified._tag === "Batch"
    ? classified.frames.every((inner) => !Array.isArray(inner) && expectsNothing(inner))
    : classified._tag === "Notification" || classified._tag === "Response"
}

const requestOf = (frame: unknown): JsonRpc.Request | undefined => {
  const classified = JsonRpc.classify(frame)
  return classified._tag === "Request" ? classified.message : undefined
}

const isUnserializable = ({ reason }: TransportError): boolean => reason._tag === "Unserializable"

/** The exchanges of clients that have no sessions. Each runs in a fiber of the server's own: a lost connection cancels nothing. */
class Exchanges implements Host {
  readonly mode: Mode
  readonly detachedMillis: number
  readonly watchdog: StreamWatchdog
  /** Nobody can come back to anything. */
  readonly primes = false
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

  /** A POST came. */
  post(
    { bytes, frame }: Posted,
    revision: Revision.Revision,
    whose: Pick<SessionlessServer.Asked, "client" | "principal">
  ): PostExchange {
    const exchange = new PostExchange(this, frame)
    const say = (message: JsonRpc.Notification) => exchange.say(message, false)
    const fiber = this.#fork(
      Effect.flatMap(
        this.#server.handle(frame, { ...whose, revision, bytes, say }),
        (reply) => answer(exchange, reply)
      )
    )
    this.#fibers.set(exchange, fiber)
    fiber.addObserver(() => {
      this.#fibers.delete(exchange)
      exchange.settle()
    })
    if (expectsNothing(frame)) exchange.settle()
    return exchange
  }

  openStream(): SseStream {
    return new SseStream(nameless, {
      store: undefined,
      watchdog: this.watchdog,
      capacity: this.#capacity,
      retryMillis: 0
    })
  }

  abandon(exchange: PostExchange): void {
    this.#fibers.get(exchange)?.interruptUnsafe()
    exchange.settle()
  }

  forget(): void {
    // What is served is known by its fiber, which may outlive the answer.
  }

  /** Waits until nothing is served, as it is now. */
  get settled(): Effect.Effect<void> {
    return Effect.suspend(() => Effect.asVoid(Fiber.awaitAll(this.#fibers.values())))
  }

  /** Every response ends, and every handler is interrupted. */
  breakOff(): void {
    for (const [exchange, fiber] of this.#fibers) {
      exchange.breakOff(ended)
      fiber.interruptUnsafe()
    }
  }
}

/** Says the reply to whoever is still there. */
const answer = (exchange: PostExchange, reply: SessionlessServer.Reply | undefined): Effect.Effect<void> => {
  if (reply === undefined) return Effect.void
  const said = Effect.suspend(() => exchange.say(reply, true))
  return Effect.ignore(
    Effect.catchIf(said, isUnserializable, () => exchange.say(SessionlessServer.insteadOf(reply), true))
  )
}

export const make = Effect.fnUntraced(function*(
  server: SessionlessServer.SessionlessServer,
  admission: Admission,
  responses: PostResponse,
  options: Options
): Effect.fn.Return<StatelessHandler> {
  const exchanges = new Exchanges(server, Effect.runForkWith(yield* Effect.context<never>()), options)
  const gracefulCloseTimeout = Duration.millis(server.limits.gracefulCloseTimeout)
  let draining = false

  const serve = (
    posted: Posted,
    whose: Pick<SessionlessServer.Asked, "client" | "principal">
  ): Effect.Effect<HttpServerResponse, HttpServerResponse> => {
    const request = requestOf(posted.frame)
    if (draining) {
      return Effect.fail(HttpResponses.leaving(server.limits.gracefulCloseTimeout, request?.id))
    }
    const revision = posted.said ?? unsaid
    // What is said about the revision in `initialize` is said in its params.
    if (request?.method !== "initialize" && !server.revisions.includes(revision)) {
      return Effect.fail(HttpResponses.refusal(
        400,
        `The protocol version ${JSON.stringify(revision)} is not supported; supported: ${server.revisions.join(", ")}`,
        { id: request?.id }
      ))
    }
    return Effect.uninterruptibleMask((restore) => {
      const exchange = exchanges.post(posted, revision, whose)
      const known = responses.known(exchange, {})
      return known === undefined ? responses.awaited(exchange, restore) : Effect.succeed(known)
    })
  }

  const post: Serve = (request, principal) =>
    Effect.flatMap(
      admission.posted(request),
      (posted) => serve(posted, { principal, client: ClientAddress.of(request) })
    )

  return {
    methods: new Map([["POST", post]]),
    drain: Effect.suspend(() => {
      draining = true
      return Effect.timeoutOption(Effect.interruptible(exchanges.settled), gracefulCloseTimeout)
    }).pipe(
      Effect.andThen(Effect.suspend(() => {
        exchanges.breakOff()
        return Effect.timeoutOption(Effect.interruptible(exchanges.settled), cleanup)
      })),
      Effect.asVoid
    )
  }
})
