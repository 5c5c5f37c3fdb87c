/** The opening of a host's sessions: the id, the slot, the eviction for it, and the connection. */

import type { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { Transport } from "../../Transport.ts"
import * as TransportError from "../../TransportError.ts"
import * as SessionId from "../engine/SessionId.ts"
import type { PreparedServer } from "../server/ServerSessionImplementation.ts"
import * as HandshakeReplay from "./HandshakeReplay.ts"
import { HostedSession, type HostedSessionDependencies } from "./HostedSession.ts"
import * as HostMetrics from "./HostMetrics.ts"
import type { HostOwners } from "./HostOwners.ts"
import type { SessionCloser } from "./SessionCloser.ts"
import type { SessionFacts } from "./SessionFacts.ts"
import { HostFullError, type OpenOptions, type OwnerUnknownError } from "./SessionHostShape.ts"
import type { Newcomer, SessionSlots, Taken } from "./SessionSlots.ts"
import type { SessionTable } from "./SessionTable.ts"

/** The parts of a host that opening needs. */
export interface Options {
  readonly server: PreparedServer
  readonly table: SessionTable
  readonly slots: Pick<SessionSlots, "take" | "free">
  readonly closer: Pick<SessionCloser, "evict" | "remove" | "supersede">
  /** The owners of sessions, if processes share them. */
  readonly owners: Pick<HostOwners, "owns"> | undefined
  readonly sessionDependencies: HostedSessionDependencies
  /** The services of the host, with which its sessions run. */
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  /** The scope of all sessions. */
  readonly scope: Scope.Scope
  readonly observe: ((event: SessionEvent, id: string) => void) | undefined
  /** Returns the error of a host that is draining, and `undefined` before. */
  readonly draining: () => HostFullError | undefined
  /** Called when a session is in the table. */
  onOpened(hosted: HostedSession): void
  /** Called after a session that was in the table has closed. */
  onClosed(hosted: HostedSession, reason: CloseReason.CloseReason): void
  /** Called when the response to `initialize` is sent. */
  onNegotiated(): void
}

/** The life of a session that is opened: the time at which it was first opened, its epoch, and its owner. */
export interface Life extends Pick<HostedSession, "epoch" | "isOwned" | "openedAt"> {
  /** The log level and the subscriptions of a restored session. */
  readonly facts?: SessionFacts | undefined
  /** Makes this process the owner of a new session, after its slot is taken and before it connects. */
  readonly claim?: (id: string) => Effect.Effect<void, OwnerUnknownError>
  /** Undoes the claim of a session that was not opened. */
  readonly unclaim?: (hosted: HostedSession) => Effect.Effect<void>
}

const markDone = (replayed: Deferred.Deferred<void> | undefined): void => {
  if (replayed !== undefined) Deferred.doneUnsafe(replayed, Exit.void)
}

/** Opens the sessions of a host. */
export class SessionOpener {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Opens a session. It takes its slot before it connects, so that limits apply while connections are being made.
   */
  open(
    transport: Transport["Service"],
    { client, endsAt = Number.POSITIVE_INFINITY, handshakeMessages, id = SessionId.make(), kind, onEpoch, principal }:
      OpenOptions,
    { claim, epoch, facts, unclaim, isOwned, openedAt }: Life
  ): Effect.Effect<HostedSession, HostFullError | OwnerUnknownError | TransportError.TransportError> {
    const { closer, owners, sessionDependencies, slots, table } = this.#options
    // Uninterruptible, because an interruption between two steps would lose the slot and the id.
    return Effect.uninterruptibleMask((restore) => {
      if (!table.reserve(id)) {
        return Effect.die(new Error(`session ${JSON.stringify(id)}: the host already has a session with this id`))
      }
      const taken = this.#takeSlot({ principal, client })
      if (taken._tag === "HostFullError") {
        table.release(id)
        return Effect.andThen(HostMetrics.rejected(kind, taken.scope), Effect.fail(taken))
      }
      const hosted = new HostedSession(sessionDependencies, {
        id,
        kind,
        principal,
        client,
        transport,
        openedAt,
        epoch,
        isOwned,
        endsAt
      })
      hosted.facts = facts
      hosted.missesUpdates = facts !== undefined
      onEpoch?.(epoch)
      // The newcomer waits until nothing of the victim is left, so that the host never exceeds its limit.
      const evicted = taken.victim === undefined ? Effect.void : closer.evict(taken.victim)
      const connected = this.#connect(hosted, handshakeMessages)
      const undo = Effect.suspend(() => unclaim?.(hosted) ?? Effect.void)
      const begun = claim === undefined
        ? connected
        : Effect.andThen(
          // A claim that has succeeded ends as interrupted if its caller was interrupted before the answer.
          Effect.onInterrupt(restore(claim(id)), () => owners?.owns(hosted) === true ? undo : Effect.void),
          Effect.onError(restore(connected), () => undo)
        )
      return Effect.andThen(restore(evicted), claim === undefined ? restore(begun) : begun).pipe(
        Effect.ensuring(Effect.sync(() => {
          table.release(id)
          // A session that has begun frees its slot when it has closed, even if the caller is interrupted now.
          if (!hosted.wasOpened) slots.free(principal)
        }))
      )
    })
  }

  #takeSlot(newcomer: Newcomer): Taken | HostFullError {
    const draining = this.#options.draining()
    if (draining !== undefined) return draining
    const taken = this.#options.slots.take(newcomer)
    if (taken._tag === "Taken") return taken
    const { limit, retryAfterMillis, scope } = taken
    return new HostFullError({ scope, limit, retryAfterMillis })
  }

  #connect(
    hosted: HostedSession,
    handshakeMessages: ReadonlyArray<JsonRpc.Message> | undefined
  ): Effect.Effect<HostedSession, HostFullError | TransportError.TransportError> {
    const { clock, closer, context, observe, onNegotiated, scope: sessions, server } = this.#options
    return Effect.uninterruptibleMask((restore) => {
      const scope = Scope.forkUnsafe(sessions)
      const replayed = handshakeMessages === undefined ? undefined : Deferred.makeUnsafe<void>()
      const opened = server.open({
        id: hosted.id,
        principal: hosted.principal,
        isRestored: handshakeMessages !== undefined,
        transport: handshakeMessages === undefined
          ? hosted.transport
          : HandshakeReplay.over(hosted.transport, {
            handshakeMessages,
            facts: hosted.facts?.messages ?? [],
            principal: hosted.principal,
            onDelivered: () => markDone(replayed)
          }),
        context,
        clock,
        observe: observe === undefined ? undefined : (event) => observe(event, hosted.id),
        onState: (state) => {
          if (state === "Operating") return hosted.operating()
          if (state !== "Negotiated") return
          hosted.negotiated()
          onNegotiated()
        },
        // A client without a handshake never finishes one.
        onUseWithoutHandshake: () => hosted.operating(),
        onEnd: () => {
          hosted.beginToEnd()
          markDone(replayed)
        },
        onClosed: (reason) => {
          // Before the removal, so that a host that has drained has called it for every session.
          if (hosted.wasOpened) this.#options.onClosed(hosted, reason)
          closer.remove(hosted, scope)
        }
      })
      // The caller may be a request. A session outlives it, so it runs with the services of the host instead.
      const services: (caller: Context.Context<never>) => Context.Context<Scope.Scope> = () =>
        Context.add(context, Scope.Scope, scope)
      const own = Effect.updateContext(opened, services)
      return restore(replayed === undefined ? own : Effect.tap(own, () => Deferred.await(replayed))).pipe(
        Effect.flatMap((session) => this.#begin(hosted, session)),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  }

  /** Adds a connected session to the table, unless the host or the session began to close meanwhile. */
  #begin(
    hosted: HostedSession,
    session: Effect.Success<ReturnType<PreparedServer["open"]>>
  ): Effect.Effect<HostedSession, HostFullError | TransportError.TransportError> {
    const draining = this.#options.draining()
    if (draining !== undefined) return Effect.fail(draining)
    if (hosted.phase === "Ending") return Effect.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))
    hosted.begin(session)
    this.#options.table.add(hosted)
    this.#options.onOpened(hosted)
    // The host did not know the session before, so a report that this process has lost it has found no copy.
    if (hosted.isOwned && this.#options.owners?.owns(hosted) === false) this.#options.closer.supersede(hosted)
    return Effect.as(HostMetrics.sessions(hosted.kind, 1), hosted)
  }
}
