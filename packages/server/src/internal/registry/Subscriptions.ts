/** The subscriptions of sessions to resources: who is notified of an update (RES-03, RES-04). */

import type { ServerSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

type Session = ServerSession.ServerSessionShape

/** Subscriptions in both directions, so that neither an update nor the end of a session searches all of them. */
export class Subscriptions {
  readonly #byUri = new Map<string, Set<Session>>()
  /** The scope of each subscription closes when it ends. */
  readonly #bySession = new Map<Session, Map<string, Scope.Closeable>>()
  /** The number of resources that one session can subscribe to. */
  readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  /**
   * Subscribes a session. Returns `false` if it has as many subscriptions as it may have. If `prepare` fails, the
   * session is not subscribed. Updates that arrive while it runs are sent, so that none is lost.
   */
  add<E>(session: Session, uri: string, prepare: Effect.Effect<void, E, Scope.Scope>): Effect.Effect<boolean, E> {
    return Effect.suspend(() => {
      const uris = this.#bySession.get(session) ?? new Map<string, Scope.Closeable>()
      if (uris.has(uri)) return Effect.succeed(true)
      if (uris.size >= this.limit) return Effect.succeed(false)
      const scope = Scope.makeUnsafe()
      this.#bySession.set(session, uris.set(uri, scope))
      this.#byUri.set(uri, (this.#byUri.get(uri) ?? new Set()).add(session))
      return Effect.as(
        Effect.onExit(
          Scope.provide(prepare, scope),
          (exit) => Exit.isSuccess(exit) || uris.get(uri) !== scope ? Effect.void : this.remove(session, uri)
        ),
        true
      )
    })
  }

  remove(session: Session, uri: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const uris = this.#bySession.get(session)
      const scope = uris?.get(uri)
      if (scope === undefined) return Effect.void
      uris?.delete(uri)
      if (uris?.size === 0) this.#bySession.delete(session)
      this.#forget(session, uri)
      return Scope.close(scope, Exit.void)
    })
  }

  /** Removes all subscriptions of a session that has ended. */
  end(session: Session): void {
    const uris = this.#bySession.get(session)
    this.#bySession.delete(session)
    for (const [uri, scope] of uris ?? []) {
      this.#forget(session, uri)
      Effect.runFork(Scope.close(scope, Exit.void))
    }
    // A subscription that is being prepared finds that it has ended.
    uris?.clear()
  }

  /** Returns the sessions that are subscribed to a resource. */
  of(uri: string): ReadonlyArray<Session> {
    return [...this.#byUri.get(uri) ?? []]
  }

  #forget(session: Session, uri: string): void {
    const sessions = this.#byUri.get(uri)
    sessions?.delete(session)
    if (sessions?.size === 0) this.#byUri.delete(uri)
  }
}
