/**
 * A server that keeps no sessions: it serves each frame by itself and remembers nothing of its client. Any number of
 * processes can serve the same clients this way.
 *
 * No session is opened for a frame, so a frame costs little. A handler can send notifications while its request is
 * served. A request of a handler to the client fails with `StatelessModeNotSupported`, because the response could come
 * to any process. `ServerSession` with the option `sessionless` serves in the same way over a connection.
 */
import { type JsonRpc, type Revision } from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Handlers from "./Handlers.ts"
import { Observers } from "./internal/engine/Observers.ts"
import { PendingRequests } from "./internal/engine/PendingRequests.ts"
import { RateLimit } from "./internal/engine/RateLimit.ts"
import * as Replies from "./internal/engine/Replies.ts"
import { FairCapacity } from "./internal/server/FairCapacity.ts"
import * as ServerDefinition from "./internal/server/ServerDefinition.ts"
import * as Exchange from "./internal/server/SessionlessExchange.ts"
import type * as Limits from "./Limits.ts"
import { MemoryBudget } from "./MemoryBudget.ts"
import type * as ServerSession from "./ServerSession.ts"
import type { SessionEvent } from "./SessionEvent.ts"

/**
 * Options for a server without sessions: those of `ServerSession.Options` that do not concern the handshake. The limits
 * `maxIncomingRequests` and `maxIncomingBytes` are those of all clients together. No client may have more in flight
 * than there is still room for: a client alone gets half, and the next client gets half of the rest. `middleware` for
 * requests of the server is not used, because the server sends none.
 *
 * @category models
 */
export interface Options<R = never> extends Omit<ServerSession.Options<R>, "requireInitialized" | "sessionless"> {}

/**
 * The client and the circumstances of one frame.
 *
 * @category models
 */
export interface IncomingFrame extends Exchange.IncomingFrame {}

/**
 * The reply to a request, or the replies to a batch of 2025-03-26.
 *
 * @category models
 */
export type Reply = JsonRpc.Response | ReadonlyArray<JsonRpc.Response>

/**
 * A server without sessions, ready to serve.
 *
 * @category models
 */
export interface SessionlessServer {
  /** The revisions of the server. The caller of `handle` rejects frames of other revisions. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  /** The limits, with their defaults. */
  readonly limits: Limits.Limits
  /**
   * Serves one frame as it came off the wire, and returns its reply, if it has one. Before that, all notifications of
   * its handlers are sent, and the notifications of the frame are handled. An interruption interrupts the handlers, and
   * waits until they have ended.
   */
  readonly handle: (frame: unknown, from: IncomingFrame) => Effect.Effect<Reply | undefined>
}

/**
 * Prepares the handlers. Each request runs its handler with a `RequestContext` and a scope of its own. The other
 * services of the handlers are captured here.
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
 */
export const make = Effect.fnUntraced(function*<const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Effect.fn.Return<SessionlessServer, never, Exclude<Handlers.ServicesOf<H, "client"> | R, Scope.Scope>> {
  const definition = ServerDefinition.makeSessionless(handlers, options)
  const { limits } = definition
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
    ...definition,
    context,
    fork,
    emit: (event: SessionEvent) => observers.emit(event),
    timer: { now },
    budget,
    capacity: new FairCapacity(limits, budget),
    exchanges: new PendingRequests(1),
    unmatchedWarnings: new RateLimit(limits.maxMalformedRepliesPerSecond)
  }
  return {
    revisions: definition.description.revisions,
    limits,
    handle: (frame, from) =>
      Effect.callback<Reply | undefined>((resume) => {
        const exchange = new Exchange.SessionlessExchange(
          server,
          from,
          (reply) => resume(Effect.onInterrupt(Effect.as(exchange.settled, reply), () => exchange.interrupted))
        )
        exchange.start(frame)
        return exchange.interrupted
      })
  }
})

/**
 * Replaces a reply that JSON cannot carry, such as one with a `bigint`, by an internal error. In a batch it replaces
 * only the replies that need it.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { SessionlessServer } from "@effect-mcp/session"
 *
 * export const instead = SessionlessServer.replaceUnserializable(JsonRpc.success(1, { count: 42n }))
 * // => { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } }
 * ```
 *
 * @category conversions
 */
export const replaceUnserializable: (reply: Reply) => Reply = Replies.replaceUnserializable
