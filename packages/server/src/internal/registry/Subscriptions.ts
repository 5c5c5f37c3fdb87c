/** The subscriptions of sessions to resources: who is notified of an update (RES-03, RES-04). */

import type { ServerSession } from "@effect-mcp/session"

type Session = ServerSession.ServerSessionShape

/** Subscriptions in both directions, so that neither an update nor the end of a session searches all of them. */
export class Subscriptions {
  readonly #byUri = new Map<string, Set<Session>>()
  readonly #bySession = new Map<Session, Set<string>>()
  /** The number of resources that one session can subscribe to. */
  readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  /** Subscribes a session. Returns `false` if it has as many subscriptions as it may have. */
  add(session: Session, uri: string): boolean {
    const uris = this.#bySession.get(session) ?? new Set()
    if (!uris.has(uri) && uris.size >= this.limit) return false
    this.#bySession.set(session, uris.add(uri))
    this.#byUri.set(uri, (this.#byUri.get(uri) ?? new Set()).add(session))
    return true
  }

  remove(session: Session, uri: string): void {
    const uris = this.#bySession.get(session)
    if (uris?.delete(uri) !== true) return
    if (uris.size === 0) this.#bySession.delete(session)
    this.#forget(session, uri)
  }

  /** Removes all subscriptions of a session that has ended. */
  end(session: Session): void {
    for (const uri of this.#bySession.get(session) ?? []) this.#forget(session, uri)
    this.#bySession.delete(session)
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
