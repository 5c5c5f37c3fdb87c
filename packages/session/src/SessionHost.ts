/**
 * The host of a server's sessions, for servers with many clients: it limits, expires, restores and drains them. It does
 * not know their transports.
 *
 * @stability unstable
 */
import type { CloseReason } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Handlers from "./Handlers.ts"
import type * as HostLimits from "./HostLimits.ts"
import * as SessionHostImplementation from "./internal/host/SessionHostImplementation.ts"
import * as Shapes from "./internal/host/SessionHostShape.ts"
import type * as ServerSession from "./ServerSession.ts"
import type { SessionEvent } from "./SessionEvent.ts"

/**
 * Options for a host and its sessions: those of a `ServerSession`, except `stateless`. `limits.initializeTimeout` is
 * the time that a client has to send `initialize`; its default here is 30 seconds.
 *
 * @category models
 */
export interface Options<R = never> extends Omit<ServerSession.Options<R>, "observe" | "stateless"> {
  /** The limits of the host: the number of its sessions, and their lifetimes. */
  readonly sessions?: HostLimits.Options
  /**
   * Receives every event of every session synchronously, with the id of the session; the id is empty for requests of
   * clients without sessions. Must not block.
   */
  readonly observe?: (event: SessionEvent, id: string) => void
  /**
   * Called for each session that was opened or restored, before its client is ready. Must not block. If it throws, the
   * host logs that and continues.
   */
  readonly onOpened?: (hosted: Hosted) => void
  /** Called once for each of these sessions, after it has closed. The same holds for it. */
  readonly onClosed?: (hosted: Hosted, reason: CloseReason.CloseReason) => void
}

/**
 * The reason why a host opens no session.
 *
 * - `host`: the host is full, and none of its sessions can be evicted for this one. `limit` is `sessions.max`.
 * - `principal`: the principal has `sessions.maxPerPrincipal` sessions, and all of them are in use.
 * - `draining`: the host is shutting down and opens no sessions.
 *
 * @category models
 */
export type HostFullScope = Shapes.HostFullScope

/**
 * The error of a host that has no slot for another session.
 *
 * @category errors
 */
export type HostFullError = Shapes.HostFullError

/**
 * The class of the error {@link HostFullError}.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 *
 * export const message = new SessionHost.HostFullError({ scope: "host", limit: 10_000 }).message
 * // => "no room for another session: the host has 10000 (sessions.max), and none of them can be evicted"
 * ```
 *
 * @category errors
 */
export const HostFullError: typeof Shapes.HostFullError = Shapes.HostFullError

/**
 * The reason why a host does not serve a session that has an owner.
 *
 * - `lease`: the lease of this process is over, and was not renewed within 5 seconds.
 * - `claim`: no process became the owner within 5 seconds. The last one may have ended just now.
 * - `store`: the store of the owners has failed.
 *
 * @category models
 */
export type OwnerProblem = Shapes.OwnerProblem

/**
 * The error of a host that does not know for now which process owns a session. The session may go on, so a transport
 * never answers as for an unknown one.
 *
 * @category errors
 */
export type OwnerUnknownError = Shapes.OwnerUnknownError

/**
 * The class of the error {@link OwnerUnknownError}.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 *
 * export const message = new SessionHost.OwnerUnknownError({ problem: "lease" }).message
 * // => "the owner of the session is not known: this process has no lease"
 * ```
 *
 * @category errors
 */
export const OwnerUnknownError: typeof Shapes.OwnerUnknownError = Shapes.OwnerUnknownError

/**
 * The place of a session.
 *
 * - `Here`: the session is open at this host.
 * - `Elsewhere`: another process owns it, and listens at `address`.
 * - `Unowned`: no process that lives owns it, or this one does and has unloaded it. `restore` may find it.
 *
 * @category models
 */
export type SessionPlace = Shapes.SessionPlace

/**
 * A session that a host keeps.
 *
 * @category models
 */
export interface Hosted extends Shapes.Hosted {}

/**
 * Options for opening a session.
 *
 * @category models
 */
export interface OpenOptions extends Shapes.OpenOptions {}

/**
 * Options for restoring a session.
 *
 * @category models
 */
export interface RestoreOptions extends Shapes.RestoreOptions {}

/**
 * The outcome of restoring a session.
 *
 * - `Restored`: the session was in the store, and is now open over the transport of this call.
 * - `AlreadyOpen`: the session is open over another transport. The transport of this call is not used.
 * - `Elsewhere`: another process owns the session. It listens at `address`. The transport of this call is not used.
 * - `NotFound`: neither the host nor the store has a session with this id for this principal, or it has expired, or
 *   this server negotiates another revision than the stored one. The transport of this call is not used any more.
 *
 * @category models
 */
export type RestoreOutcome = Shapes.RestoreOutcome

/**
 * A session in a listing.
 *
 * @category models
 */
export interface SessionInfo extends Shapes.SessionInfo {}

/**
 * Options for a broadcast.
 *
 * @category models
 */
export interface BroadcastOptions extends Shapes.BroadcastOptions {}

/**
 * The number of sessions to which a message was sent, for which sending failed, and for which it took too long.
 *
 * @category models
 */
export interface BroadcastResult extends Shapes.BroadcastResult {}

/**
 * The state of a host.
 *
 * @category models
 */
export interface Health extends Shapes.Health {}

/**
 * The members of a host.
 *
 * @category models
 */
export interface SessionHostShape extends Shapes.SessionHostShape {}

/**
 * The host of a server's sessions.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Lists the connected clients with their revisions.
 * export const clients = Effect.gen(function*() {
 *   const host = yield* SessionHost.SessionHost
 *   const sessions = yield* host.sessions
 *   return sessions.map(({ client, revision }) => `${client?.name} (${revision})`)
 * })
 * ```
 *
 * @category services
 */
export class SessionHost extends Context.Service<SessionHost, SessionHostShape>()("@effect-mcp/session/SessionHost") {}

/**
 * Makes a host. Leaving the scope drains it. The handlers run with the services of the program that makes the host, not
 * with those of the program that opens a session. The host uses a `SessionStore` if that service is provided, and
 * with it `SessionOwners`, if several processes share the store.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientSession, MemoryTransport, SessionHost, Transport } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * export const clients = Effect.gen(function*() {
 *   const host = yield* SessionHost.make({
 *     "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 *   }, { info, sessions: { max: 100, idleTimeout: "10 minutes" } })
 *   const pair = yield* MemoryTransport.make()
 *   yield* host.open(pair.server, { kind: "memory" })
 *   const client = yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
 *   yield* client.callTool("answer")
 *   return (yield* host.sessions).length
 * }).pipe(Effect.scoped) // => 1
 * ```
 *
 * @category constructors
 */
export const make = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Effect.Effect<SessionHostShape, never, Scope.Scope | Handlers.ServicesOf<H, "client"> | R> =>
  SessionHostImplementation.make(handlers, options)

/**
 * Provides a host. One constant of this Layer is one host, even if a program provides the constant in several places.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession, SessionHost } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const handlers = ServerSession.handlers({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * })
 *
 * export const host = SessionHost.layer(handlers, {
 *   info: { name: "example", version: "1.0.0" },
 *   sessions: { maxPerPrincipal: 20 }
 * })
 * ```
 *
 * @category layers
 */
export const layer = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Layer.Layer<SessionHost, never, Exclude<Handlers.ServicesOf<H, "client"> | R, Scope.Scope>> =>
  Layer.effect(SessionHost, make<H, R>(handlers, options))

/**
 * Drains the host when this Layer is closed. Provide the server of the host's sessions to this Layer, so that this
 * Layer closes first: the server then still receives requests while the sessions close. Each use of this Layer drains
 * the host that is provided there.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 * import * as Layer from "effect/Layer"
 *
 * export const gracefully = <E, R>(server: Layer.Layer<SessionHost.SessionHost, E, R>) =>
 *   Layer.provide(SessionHost.layerDrain, server)
 * ```
 *
 * @category layers
 */
export const layerDrain: Layer.Layer<never, never, SessionHost> = Layer.fresh(
  Layer.effectDiscard(Effect.flatMap(SessionHost, (host) => Effect.addFinalizer(() => host.drain)))
)
