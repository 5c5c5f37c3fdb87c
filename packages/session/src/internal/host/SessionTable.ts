/** The table of a host's sessions: the open ones, the ids of those that are being opened, and the listing. */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HostedSession } from "./HostedSession.ts"
import type { SessionInfo } from "./SessionHostShape.ts"

/** Options for a table. */
export interface Options {
  /** Called when the last session was removed. */
  onEmpty(): void
}

const infoOf = (hosted: HostedSession): SessionInfo => ({
  id: hosted.id,
  kind: hosted.kind,
  principal: hosted.principal?.id,
  client: hosted.session.client?.info,
  revision: hosted.session.client?.revision,
  operating: hosted.operates,
  openedAt: hosted.openedAt,
  usedAt: hosted.usedAt,
  inFlight: hosted.inFlight,
  held: hosted.held
})

/** The sessions of a host by id. A session stays in the table while it closes, until nothing of it is left. */
export class SessionTable {
  readonly #options: Options
  readonly #sessions = new Map<string, HostedSession>()
  /** The ids of sessions that are being opened. They are not in the table yet. */
  readonly #reserved = new Set<string>()
  readonly #waiters: Array<Deferred.Deferred<void>> = []

  constructor(options: Options) {
    this.#options = options
  }

  /** All sessions, including those that are closing. */
  get all(): ReadonlyMap<string, HostedSession> {
    return this.#sessions
  }

  /** Reserves an id for a session that is being opened. Returns `false` if another session has the id. */
  reserve(id: string): boolean {
    if (this.#sessions.has(id) || this.#reserved.has(id)) return false
    this.#reserved.add(id)
    return true
  }

  /** Ends the reservation of an id, after its session was added or could not be opened. */
  release(id: string): void {
    this.#reserved.delete(id)
  }

  add(hosted: HostedSession): void {
    this.#sessions.set(hosted.id, hosted)
  }

  has(hosted: HostedSession): boolean {
    return this.#sessions.get(hosted.id) === hosted
  }

  remove(hosted: HostedSession): void {
    this.#sessions.delete(hosted.id)
    if (this.#sessions.size > 0) return
    this.#options.onEmpty()
    for (const waiter of this.#waiters.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
  }

  /** Returns the session with this id, unless it has begun to close. */
  find(id: string): HostedSession | undefined {
    const hosted = this.#sessions.get(id)
    return hosted?.phase === "Live" ? hosted : undefined
  }

  /** Returns the sessions that have not begun to close. */
  live(): ReadonlyArray<HostedSession> {
    return Array.from(this.#sessions.values()).filter(({ phase }) => phase === "Live")
  }

  /** Lists the sessions that have not begun to close. */
  list(): ReadonlyArray<SessionInfo> {
    return this.live().map(infoOf)
  }

  /** Waits until the table is empty. */
  awaitEmpty(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#sessions.size === 0) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      this.#waiters.push(waiter)
      return Deferred.await(waiter)
    })
  }
}
