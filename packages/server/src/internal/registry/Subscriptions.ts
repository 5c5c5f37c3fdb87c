/** The subscriptions of sessions to resources: who is notified of an update (RES-03, RES-04). */

import type { ServerSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

type Session = ServerSession.ServerSessionShape

/** The most characters that the URIs of one session have together. Clients choose them, for example by templates. */
const maxCharacters = 65_536

/** The subscriptions of one session, by URI. The scope of each closes when it ends. */
interface Subscribed {
  readonly scopes: Map<string, Scope.Closeable>
  characters: number
}

/** Subscriptions in both directions, so that neither an update nor the end of a session searches all of them. */
export class Subscriptions {
  readonly #byUri = new Map<string, Set<Session>>()
  readonly #bySession = new Map<Session, Subscribed>()
  /** The sessions that have ended. A request that they have sent may still be served. */
  readonly #ended = new WeakSet<Session>()
  /** The number of resources that one session can subscribe to. */
  readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  /**
   * Subscribes a session. Returns the reason if the session may have no further subscription. If `prepare` fails, the
   * session is not subscribed. Updates that arrive while it runs are sent, so that none is lost.
   */
  add<E>(
    session: Session,
    uri: string,
    prepare: Effect.Effect<void, E, Scope.Scope>
  ): Effect.Effect<string | undefined, E> {
    return Effect.suspend(() => {
      if (this.#ended.has(session)) return Effect.succeed(undefined)
      const subscribed = this.#bySession.get(session) ?? { scopes: new Map<string, Scope.Closeable>(), characters: 0 }
      const { scopes } = subscribed
      if (scopes.has(uri)) return Effect.succeed(undefined)
      const full = this.#fullness(subscribed, uri)
      if (full !== undefined) return Effect.succeed(full)
      const scope = Scope.makeUnsafe()
      scopes.set(uri, scope)
      subscribed.characters += uri.length
      this.#bySession.set(session, subscribed)
      this.#byUri.set(uri, (this.#byUri.get(uri) ?? new Set()).add(session))
      return Effect.as(
        Effect.onExit(
          Scope.provide(prepare, scope),
          (exit) => Exit.isSuccess(exit) || scopes.get(uri) !== scope ? Effect.void : this.remove(session, uri)
        ),
        undefined
      )
    })
  }

  remove(session: Session, uri: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const subscribed = this.#bySession.get(session)
      const scope = subscribed?.scopes.get(uri)
      if (subscribed === undefined || scope === undefined) return Effect.void
      subscribed.scopes.delete(uri)
      subscribed.characters -= uri.length
      if (subscribed.scopes.size === 0) this.#bySession.delete(session)
      this.#forget(session, uri)
      return Scope.close(scope, Exit.void)
    })
  }

  /** Removes all subscriptions of a session that has ended. */
  end(session: Session): void {
    this.#ended.add(session)
    const subscribed = this.#bySession.get(session)
    this.#bySession.delete(session)
    for (const [uri, scope] of subscribed?.scopes ?? []) {
      this.#forget(session, uri)
      Effect.runFork(Scope.close(scope, Exit.void))
    }
    // A subscription that is being prepared finds that it has ended.
    subscribed?.scopes.clear()
  }

  /** Returns the sessions that are subscribed to a resource. */
  of(uri: string): ReadonlyArray<Session> {
    return [...this.#byUri.get(uri) ?? []]
  }

  /** Returns why a session may not subscribe to a further resource. */
  #fullness({ characters, scopes }: Subscribed, uri: string): string | undefined {
    if (scopes.size >= this.limit) {
      return `the session has ${this.limit} subscriptions already; unsubscribe from some first`
    }
    if (characters + uri.length > maxCharacters) {
      return `the URIs of the session's subscriptions may have ${maxCharacters} characters together; ` +
        "unsubscribe from some first"
    }
    return undefined
  }

  #forget(session: Session, uri: string): void {
    const sessions = this.#byUri.get(uri)
    sessions?.delete(session)
    if (sessions?.size === 0) this.#byUri.delete(uri)
  }
}
