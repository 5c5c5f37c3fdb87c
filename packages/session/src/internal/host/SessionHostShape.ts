/** The interface of a host, the options and results of its members, and its error. */

import type { CloseReason, Implementation, JsonRpc, Revision } from "@effect-mcp/protocol"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Principal } from "../../Principal.ts"
import type { SessionStoreError } from "../../SessionStore.ts"
import type { Transport } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import type { ServerSessionShape } from "../server/ServerSessionShape.ts"
import type { StoredCalls } from "../server/ServerTaskGate.ts"
import type { StatelessServer } from "../server/StatelessServerImplementation.ts"

/**
 * The reason why a host opens no session.
 *
 * - `host`: the host is full, and none of its sessions can be evicted for this one. `limit` is `sessions.max`.
 * - `principal`: the principal has `sessions.maxPerPrincipal` sessions, and all of them are in use.
 * - `draining`: the host is shutting down and opens no sessions.
 */
export type HostFullScope = "host" | "principal" | "draining"

/** The error of a host that has no slot for another session. */
export class HostFullError extends Data.TaggedError("HostFullError")<{
  readonly scope: HostFullScope
  /** The number of sessions that the host or the principal may have; 0 for `draining`. */
  readonly limit: number
  /**
   * The time until a slot is free at the earliest, in milliseconds, from 1 second to 5 minutes. For `draining`, the
   * time until the host has shut down. `undefined` if the time is not known, because the sessions are in use.
   */
  readonly retryAfterMillis?: number | undefined
}> {
  override get message(): string {
    switch (this.scope) {
      case "host":
        return `no room for another session: the host has ${this.limit} (sessions.max), and none of them can be evicted`
      case "principal":
        return `no room for another session of this principal: it has ${this.limit} in use (sessions.maxPerPrincipal)`
      case "draining":
        return "no room for another session: the host is shutting down"
    }
  }
}

/**
 * The reason why a host does not serve a session that has an owner.
 *
 * - `lease`: the lease of this process is over, and was not renewed within 5 seconds.
 * - `claim`: no process became the owner within 5 seconds. The last one may have ended just now.
 * - `store`: the store of the owners has failed.
 */
export type OwnerProblem = "lease" | "claim" | "store"

/**
 * The error of a host that does not know for now which process owns a session. The session may go on, so a transport
 * never answers as for an unknown one.
 */
export class OwnerUnknownError extends Data.TaggedError("OwnerUnknownError")<{
  readonly problem: OwnerProblem
  readonly cause?: unknown
}> {
  override get message(): string {
    switch (this.problem) {
      case "lease":
        return "the owner of the session is not known: this process has no lease"
      case "claim":
        return "the owner of the session is not known: no process has claimed it yet"
      case "store":
        return "the owner of the session is not known: the store of session owners has failed"
    }
  }
}

/** A session that a host keeps. */
export interface Hosted {
  /** Visible ASCII (SHS-22) that cannot be guessed (SHS-21), unless the caller of `open` chose another id. */
  readonly id: string
  /** The kind of its transport, in a word. */
  readonly kind: string
  /** The principal that the session belongs to; `undefined` for an anonymous client. */
  readonly principal: Principal | undefined
  readonly session: ServerSessionShape
  /** The transport that the session was opened over. */
  readonly transport: Transport["Service"]
  /** The time at which the session was first opened, in milliseconds since the epoch. Restoring does not change it. */
  readonly openedAt: number
  /** Whether another process has the session now. The copy here has closed, or closes, and `close` deletes nothing. */
  readonly isSuperseded: boolean
  /** Records that the session is used now. It is cheap enough for every request. */
  touch(): void
  /** Keeps the session from being idle until the returned function is called. Its second call does nothing. */
  hold(): () => void
  /**
   * Records that the client can receive messages outside of its requests now. A client whose session was restored may
   * have missed updates of resources, so it gets one for each of its subscriptions then, in the background.
   */
  reach(): void
  /** Closes the session permanently, and waits until it has closed. The store deletes it. */
  close(reason: CloseReason.CloseReason): Effect.Effect<void>
  /**
   * Closes this copy of the session at once as `Superseded`: handlers are interrupted, and waiting messages are not
   * sent. Nothing is deleted, because the session goes on in another process. A transport calls it when a store rejects
   * a write with `SupersededError`.
   */
  supersede(): void
}

/** Options for opening a session. */
export interface OpenOptions {
  /** The kind of the transport, in a word, such as `"streamable-http"`. Listings and metrics contain it. */
  readonly kind: string
  /** The id of the session. No other session of the host may have it. Default: a random one. */
  readonly id?: string | undefined
  /** The principal that the session belongs to. */
  readonly principal?: Principal | undefined
  /**
   * The time at which the session ends as `Expired`, in milliseconds since the epoch, or up to a second later. For a
   * transport that authenticates a connection once: the time at which its identity expires. Default: it does not end.
   */
  readonly endsAt?: number | undefined
  /**
   * Distinguishes anonymous clients, for example by their addresses, so that no client can keep the others out of a
   * full host. Default: anonymous clients are not distinguished.
   */
  readonly client?: string | undefined
  /**
   * Messages that the client has already sent, and that were answered. The session receives them before any message of
   * the transport, and its replies to them are discarded.
   */
  readonly handshakeMessages?: ReadonlyArray<JsonRpc.Message> | undefined
  /**
   * Called with the epoch of the session, before the transport connects. An event of the session carries it. A session
   * with this option is shared: its client can send each request to another process. With `SessionOwners` and a
   * `SessionStore`, this process then claims the session, before the transport connects.
   */
  readonly onEpoch?: ((epoch: number) => void) | undefined
}

/** Options for restoring a session. */
export interface RestoreOptions {
  /** The kind of the transport, in a word. */
  readonly kind: string
  /** The principal of the client. It finds only its own sessions. */
  readonly principal?: Principal | undefined
  /** Distinguishes anonymous clients, as in `OpenOptions`. */
  readonly client?: string | undefined
  /** Called with the epoch of the session, as in `OpenOptions`. Not called for a session that is open already. */
  readonly onEpoch?: ((epoch: number) => void) | undefined
}

/**
 * The outcome of restoring a session.
 *
 * - `Restored`: the session was in the store, and is now open over the transport of this call.
 * - `AlreadyOpen`: the session is open over another transport. The transport of this call is not used.
 * - `Elsewhere`: another process owns the session. It listens at `address`. The transport of this call is not used.
 * - `NotFound`: neither the host nor the store has a session with this id for this principal, or it has expired, or
 *   this server negotiates another revision than the stored one. The transport of this call is not used any more.
 */
export type RestoreOutcome =
  | { readonly _tag: "Restored"; readonly hosted: Hosted }
  | { readonly _tag: "AlreadyOpen"; readonly hosted: Hosted }
  | { readonly _tag: "Elsewhere"; readonly address: string; readonly process: string }
  | { readonly _tag: "NotFound" }

/**
 * The place of a session.
 *
 * - `Here`: the session is open at this host.
 * - `Elsewhere`: another process owns it, and listens at `address`.
 * - `Unowned`: no process that lives owns it, or this one does and has unloaded it. `restore` may find it.
 */
export type SessionPlace =
  | { readonly _tag: "Here" }
  | { readonly _tag: "Elsewhere"; readonly address: string; readonly process: string }
  | { readonly _tag: "Unowned" }

/** A session in a listing. */
export interface SessionInfo {
  /** A secret: a client that knows the id can act for the client of the session. */
  readonly id: string
  readonly kind: string
  /** The `id` of the principal. */
  readonly principal: string | undefined
  /** The client's name and version, from its `initialize`. */
  readonly client: Implementation.Implementation | undefined
  /** The negotiated revision, after `initialize`. */
  readonly revision: Revision.Revision | undefined
  /** Whether the handshake is finished. */
  readonly operating: boolean
  /** Milliseconds since the epoch. */
  readonly openedAt: number
  /** Milliseconds since the epoch. */
  readonly usedAt: number
  /** The number of requests in flight, in both directions together. */
  readonly inFlight: number
  /** The number of holds that were not released. */
  readonly held: number
}

/** The state of a host. */
export interface Health {
  /**
   * Whether an anonymous client could open a session now, in a free slot or in that of an evicted session. With
   * `SessionOwners`, it is `false` while this process has no lease.
   */
  readonly accepting: boolean
  /**
   * Whether clients should be sent to this host: it does not shut down, and its process has its lease, if it needs one.
   * Meant for readiness probes.
   */
  readonly ready: boolean
  /** Whether the host is shutting down. */
  readonly draining: boolean
  /** The number of sessions, including those that are closing. */
  readonly sessions: number
  /** The number of sessions whose handshake is not finished. */
  readonly handshaking: number
  /** The limit `sessions.max`. */
  readonly limit: number
  /** As in `HostFullError`, for an anonymous client; `undefined` while the host is accepting. */
  readonly retryAfterMillis: number | undefined
}

/** Options for a broadcast. */
export interface BroadcastOptions {
  /** The time that each session has. Default: 5 seconds. */
  readonly timeout?: Duration.Input | undefined
}

/** The number of sessions to which a message was sent, for which sending failed, and for which it took too long. */
export interface BroadcastResult {
  readonly sent: number
  readonly failed: number
  readonly timedOut: number
}

/** The members of a host. */
export interface SessionHostShape {
  /**
   * Ends all that is open of the principal with this id, for example because its account is locked: closes its sessions
   * permanently, as `close` of each, and ends its streams of notifications of revision 2026-07-28. A request without a
   * session goes on. Waits until the sessions of this host have closed. Reject later requests by `Authentication`: a
   * principal that is still accepted opens new sessions.
   *
   * The stored sessions of the principal are deleted as well, if the `SessionStore` can do that (`removeAllOf`). After
   * a failure they are deleted later. A `ChangeBus` tells the other processes, by a digest of the id. A process that
   * was paused, or has missed the change (a gap), finds that its sessions were deleted, and closes them. After a gap it
   * ends the streams of notifications of all principals, whose clients listen again. Its sessions over a WebSocket or
   * another connection go on: they are not in the store. Without a store and a bus, only this host is concerned.
   */
  readonly closePrincipal: (id: string) => Effect.Effect<void>
  /**
   * The handlers of the host for requests of clients without sessions, in all revisions of the server. A transport
   * serves the requests of revision 2026-07-28 with it. `drain` of the host drains it as well.
   */
  readonly stateless: StatelessServer
  /**
   * Opens a session over this transport. The host keeps it until the session ends, expires, is evicted or closed, or
   * the host shuts down. A full host first evicts a session, as `HostLimits.Options` describes. Fails with
   * `HostFullError` before it connects, and with `OwnerUnknownError` if this process cannot own a shared session.
   */
  readonly open: (
    transport: Transport["Service"],
    options: OpenOptions
  ) => Effect.Effect<Hosted, HostFullError | OwnerUnknownError | TransportError>
  /** Returns the session with this id, unless it has begun to close (SHS-26). */
  readonly find: (id: string) => Hosted | undefined
  /**
   * Returns whether a session with this id belongs to this principal, open here or stored. It is an `Exit` if the host
   * knows it, which remembers up to 10,000 sessions. For any other principal the session does not exist: a transport
   * asks first, and answers as for an unknown session. Fails with `SessionStoreError` as `restore` does. `client`
   * returns what distinguishes clients without a principal, which take turns at the store. It is called at most once,
   * and only if the store is asked.
   */
  readonly belongs: (
    id: string,
    principal: Principal | undefined,
    client?: () => string | undefined
  ) => Effect.Effect<boolean, SessionStoreError>
  /**
   * Returns where the session with this id is. It is an `Exit` if the session is open here, and if the host has no
   * `SessionOwners`. The place of a session of another process may be one second old; `SessionOwners.invalidate`
   * corrects it. Clients take turns at the store, by their principals and by what `client` returns, as in `belongs`.
   */
  readonly locate: (
    id: string,
    principal?: Principal,
    client?: () => string | undefined
  ) => Effect.Effect<SessionPlace, OwnerUnknownError>
  /**
   * Returns whether a session may be served now: whether it is open here, and its process owns it. It is an `Exit`
   * while the lease of this process stands, and for a session that is not shared. Waits up to 5 seconds for the lease
   * otherwise. The session may have closed meanwhile, because another process has it now; the caller locates it again.
   */
  readonly ready: (hosted: Hosted) => Effect.Effect<boolean, OwnerUnknownError>
  /**
   * Finds the session with this id. If it is not open, opens the stored session over this transport. The session keeps
   * its id, the id of its principal and its age. The log level of the client and its subscriptions, up to 1,000, are
   * set again by the handlers of the server, before any message of the client is served. Concurrent calls for one
   * session get the same session, over the transport of the first call. Fails with `SessionStoreError` if
   * the store throws or does not answer within 5 seconds.
   *
   * A shared session that no other process owns is claimed first. If no process becomes its owner within 5 seconds,
   * the call fails with `OwnerUnknownError`.
   */
  readonly restore: (
    id: string,
    transport: Transport["Service"],
    options: RestoreOptions
  ) => Effect.Effect<RestoreOutcome, HostFullError | OwnerUnknownError | TransportError | SessionStoreError>
  /**
   * Saves the session to the store, with the handshake messages of its client: `initialize`, and in a second call also
   * `notifications/initialized`. Does nothing without a store. If the store fails, the session continues and cannot be
   * restored. The event `SessionStoreFailed` and a warning in the log report the failure.
   *
   * A session that this process has claimed is closed instead, and the call fails: the session would be lost with its
   * process.
   */
  readonly remember: (
    hosted: Hosted,
    handshakeMessages: ReadonlyArray<JsonRpc.Request | JsonRpc.Notification>
  ) => Effect.Effect<void, SessionStoreError>
  /** The calls of its server that go on at the next owner of their session. Absent without tasks. */
  readonly calls: StoredCalls | undefined
  /** Lists the sessions that are open now. */
  readonly sessions: Effect.Effect<ReadonlyArray<SessionInfo>>
  /**
   * Runs an effect for each session whose handshake is finished, for example to notify all clients. The effects run at
   * the same time, so a client that does not read delays only its own message. Waits until each has ended or has taken
   * longer than `timeout`; then it is interrupted. A failure or a defect for one session is counted, and affects no
   * other.
   */
  readonly broadcast: <R = never>(
    send: (hosted: Hosted) => Effect.Effect<unknown, unknown, R>,
    options?: BroadcastOptions
  ) => Effect.Effect<BroadcastResult, never, R>
  /** Returns the state of the host now. */
  readonly health: Effect.Effect<Health>
  /**
   * Opens no more sessions, closes all sessions, each within its `gracefulTimeout`, and waits until none is left.
   * The store keeps them, for another host or for this one after a restart.
   */
  readonly drain: Effect.Effect<void>
  /**
   * Adds an effect that each `drain` runs beside the closing of the sessions, and waits for up to `gracefulTimeout`. A
   * server ends other streams of its clients with it. If it dies, the host logs this, and drains as without it.
   */
  readonly onDrain: (drain: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
}
