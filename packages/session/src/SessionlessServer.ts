/**
 * A server that keeps no sessions: each frame is served for itself, with nothing known of whoever sends it, and
 * forgotten. Any number of processes can serve the same clients this way.
 *
 * It is no session that begins with every frame, but what is below one, and so it costs little: see {@link Dispatch}.
 * What a handler can say it says while its request is served; what asks something of the client fails with
 * `StatelessModeNotSupported`, since the answer could come to anybody.
 *
 * @since 0.1.0
 */
import { type JsonRpc, type Revision } from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Dispatch from "./Dispatch.ts"
import * as Handlers from "./Handlers.ts"
import * as LogLevel from "./internal/engine/LogLevel.ts"
import { Observers } from "./internal/engine/Observers.ts"
import { RateLimit } from "./internal/engine/RateLimit.ts"
import * as Replies from "./internal/engine/Replies.ts"
import { FairCapacity } from "./internal/server/FairCapacity.ts"
import * as InitializeResponder from "./internal/server/InitializeResponder.ts"
import { SessionlessExchange } from "./internal/server/SessionlessExchange.ts"
import * as Limits from "./Limits.ts"
import { MemoryBudget } from "./MemoryBudget.ts"
import type { Principal } from "./Principal.ts"
import type * as ServerSession from "./ServerSession.ts"
import type { SessionEvent } from "./SessionEvent.ts"
import type { TransportError } from "./TransportError.ts"

/**
 * What may be said about a server without sessions: what `ServerSession.Options` has, but for what concerns the
 * handshake. Limits that concern what a server serves at the same time, `maxIncomingRequests` and `maxIncomingBytes`,
 * are those of all its clients together. No client may have more in flight than there is still room for: one alone gets
 * half, and the next one finds half of what is left. Because nothing is asked of clients, what `middleware` has for
 * requests of the server has nothing to do.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<R = never> extends Omit<ServerSession.Options<R>, "requireInitialized" | "sessionless"> {}

/**
 * Who asks, and how.
 *
 * @category models
 * @since 0.1.0
 */
export interface Asked {
  /** What the frame is in, since no handshake has said it. `initialize` goes by what it says itself. */
  readonly revision: Revision.Revision
  /** Who sends it, where somebody has found out. */
  readonly principal?: Principal | undefined
  /**
   * Distinguishes clients without a principal, such as by their addresses, so that none of them takes all the room.
   * Default: they count as one client.
   */
  readonly client?: string | undefined
  /** How many bytes it came in, where it came in bytes: then the memory that it takes is counted. */
  readonly bytes?: number | undefined
  /**
   * Tells the client something that belongs to the frame while it is served, before its reply. It is called for one
   * message at a time; who says the next waits until it is done. Default: there is no way, and handlers are told so.
   */
  readonly say?: ((message: JsonRpc.Notification) => Effect.Effect<void, TransportError>) | undefined
}

/**
 * What a frame is answered with: the reply to a request, or those to a batch of 2025-03-26.
 *
 * @category models
 * @since 0.1.0
 */
export type Reply = JsonRpc.Response | ReadonlyArray<JsonRpc.Response>

/**
 * A server without sessions, ready to be asked.
 *
 * @category models
 * @since 0.1.0
 */
export interface SessionlessServer {
  /** The revisions it speaks. A frame in another is for its caller to refuse. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  /** The limits it was given, filled in. */
  readonly limits: Limits.Limits
  /**
   * Serves one frame as it came off the wire, and ends with the reply, if there is one, when all that was said before
   * it is on its way and the frame's notifications are handled. Whoever no longer waits for it interrupts it, and with
   * it the handlers, which have then ended.
   */
  readonly handle: (frame: unknown, asked: Asked) => Effect.Effect<Reply | undefined>
}

/**
 * Prepares the handlers. Each request runs its handler with a `RequestContext` and a scope of its own; what else they
 * need is captured here.
 *
 * @example
 * ```ts
 * import { Content, JsonRpc } from "@effect-mcp/protocol"
 * import { SessionlessServer } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const reply = Effect.gen(function*() {
 *   const server = yield* SessionlessServer.make({
 *     "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 *   }, { info: { name: "example", version: "1.0.0" } })
 *   return yield* server.handle(JsonRpc.request(1, "tools/call", { name: "answer" }), { revision: "2025-11-25" })
 * }) // => { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "42" }] } }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*<const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Effect.fn.Return<SessionlessServer, never, Exclude<Handlers.ServicesOf<H, "client"> | R, Scope.Scope>> {
  const limits = Limits.make(options.limits)
  const capabilities = Handlers.serverCapabilities(handlers, options.capabilities)
  const introduction = InitializeResponder.make({ ...options, capabilities })
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const budget = yield* MemoryBudget
  const fork = Effect.runForkWith(context)
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
  const observers = new Observers({
    bounds: { capacity: limits.maxNotifications, bytes: limits.maxNotificationBytes, budget },
    observe: options.observe,
    observerThrew: (thrown) => {
      fork(Effect.logError("a server's observer threw", thrown))
    }
  })
  const server = {
    introduction,
    limits,
    dispatch: Dispatch.make(
      "client",
      capabilities.logging === undefined ? handlers : LogLevel.settable(handlers, { remembers: false }),
      { middleware: options.middleware?.inbound, extensions: options.extensions, projection: options.projection }
    ),
    context,
    fork,
    emit: (event: SessionEvent) => observers.emit(event),
    timer: { now },
    budget,
    capacity: new FairCapacity(limits, budget),
    warnings: new RateLimit(limits.maxMalformedRepliesPerSecond)
  }
  return {
    revisions: introduction.revisions,
    limits,
    handle: (frame, asked) =>
      Effect.callback<Reply | undefined>((resume) => {
        const served = new SessionlessExchange(
          server,
          asked,
          (reply) => resume(Effect.onInterrupt(Effect.as(served.settled, reply), () => served.abandon))
        )
        served.begin(frame)
        return served.abandon
      })
  }
})

/**
 * What there is to say instead of a reply that no JSON can say, such as one with a `bigint` in it: that something
 * failed. In a batch that is said of those replies alone that need it.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { SessionlessServer } from "@effect-mcp/session"
 *
 * export const instead = SessionlessServer.insteadOf(JsonRpc.success(1, { count: 42n }))
 * // => { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } }
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const insteadOf: (reply: Reply) => Reply = Replies.insteadOf
