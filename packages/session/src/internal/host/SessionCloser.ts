/** The ends of a host's sessions: closing, evicting, unloading, and the steps after a session has closed. */

import { CloseReason } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { HostedSession } from "./HostedSession.ts"
import * as HostMetrics from "./HostMetrics.ts"
import type { HostOwners } from "./HostOwners.ts"
import type { HostStore } from "./HostStore.ts"
import type { SessionSlots } from "./SessionSlots.ts"
import type { SessionTable } from "./SessionTable.ts"

/** The parts of a host that closing needs. */
export interface Options {
  readonly table: SessionTable
  readonly slots: Pick<SessionSlots, "free">
  readonly store: Pick<HostStore, "remove"> | undefined
  readonly owners: Pick<HostOwners, "release"> | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/** Closes the sessions of a host. */
export class SessionCloser {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  /** Closes a session permanently, and waits until nothing of it is left. The store deletes it. */
  close(hosted: HostedSession, reason: CloseReason.CloseReason): Effect.Effect<void> {
    return Effect.suspend(() => {
      hosted.keptInStore = hosted.isSuperseded
      hosted.session.runtime.end({ _tag: "Close", reason })
      return this.awaitRemoval(hosted)
    })
  }

  /**
   * Closes a session whose slot a newcomer took, and returns the effect that waits until nothing of it is left. The
   * store keeps the session only if its handshake is finished. An unfinished one has nothing to restore, and a flood of
   * them would fill the store.
   */
  evict(hosted: HostedSession): Effect.Effect<void> {
    const { held, kind, operates } = hosted
    const of = operates ? held > 0 ? "held" : "idle" : "handshake"
    hosted.keptInStore = operates && hosted.stored === "Yes"
    const since = of === "held" ? hosted.openedAt : hosted.unusedSince
    const afterMillis = Math.max(this.#options.now() - since, 0)
    hosted.session.runtime.end({ _tag: "Close", reason: { _tag: "Evicted", afterMillis, of } })
    return Effect.andThen(HostMetrics.evicted(kind, of), this.awaitRemoval(hosted))
  }

  /** Begins to close every live session. The store keeps them. */
  unloadAll(): void {
    for (const hosted of this.#options.table.live()) {
      hosted.keptInStore = true
      const reason = hosted.stored === "Yes" ? CloseReason.unloaded : CloseReason.requested
      hosted.session.runtime.end({ _tag: "Close", reason })
    }
  }

  /**
   * Closes a copy of a session that another process has now. No handler and no message of it may have an effect any
   * more. The stores belong to the other process, so nothing is deleted or released.
   */
  supersede(hosted: HostedSession): void {
    if (hosted.isSuperseded) return
    hosted.isSuperseded = true
    hosted.keptInStore = true
    if (hosted.wasOpened) {
      hosted.session.runtime.end({ _tag: "Close", reason: CloseReason.superseded }, "Immediate")
    }
  }

  /**
   * Removes a session that has closed. The store deletes it before its slot is free, so that a session that ended
   * permanently cannot be restored. One that stays in the store is free for other processes.
   */
  remove(hosted: HostedSession, scope: Scope.Closeable): void {
    const { fork, table } = this.#options
    if (!table.has(hosted)) return
    hosted.removal = fork(
      this.#leaveStores(hosted).pipe(
        Effect.andThen(Effect.sync(() => this.#free(hosted))),
        Effect.andThen(HostMetrics.sessions(hosted.kind, -1)),
        Effect.andThen(Scope.close(scope, Exit.void))
      )
    )
  }

  /** Waits until a session that is closing is removed, and nothing of it is left. */
  awaitRemoval(hosted: HostedSession): Effect.Effect<void> {
    return Effect.andThen(
      hosted.session.closed,
      Effect.suspend(() => hosted.removal === undefined ? Effect.void : Effect.asVoid(Fiber.await(hosted.removal)))
    )
  }

  #leaveStores(hosted: HostedSession): Effect.Effect<void> {
    const { owners, store } = this.#options
    if (hosted.isSuperseded || store === undefined) return Effect.void
    // A session that is not stored yet cannot be restored, also if its host is drained.
    if (!hosted.keptInStore || (hosted.isOwned && hosted.stored === "No")) return store.remove(hosted)
    return owners === undefined || !hosted.isOwned ? Effect.void : owners.release(hosted)
  }

  #free(hosted: HostedSession): void {
    const { slots, table } = this.#options
    // The slot of an evicted session belongs to the newcomer already.
    if (!hosted.evicted) slots.free(hosted.principal)
    table.remove(hosted)
  }
}
