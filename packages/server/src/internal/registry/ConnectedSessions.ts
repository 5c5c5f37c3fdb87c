/** The sessions that a server has now, and the notifications that they get about its members. */

import type { ServerSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Kind } from "./Entry.ts"
import { Subscriptions } from "./Subscriptions.ts"

type Session = ServerSession.ServerSessionShape

/** The time in which changes of the lists are collected into one notification for each list. */
const quietTime = "50 millis"

/** The time that a client has to receive a notification. A slower one misses it, and delays no other client. */
const sendTime = "5 seconds"

const listChanges = (session: Session, kinds: ReadonlySet<Kind>): ReadonlyArray<Effect.Effect<void, unknown>> => [
  ...(kinds.has("tool") ? [session.toolListChanged] : []),
  ...(kinds.has("prompt") ? [session.promptListChanged] : []),
  ...(kinds.has("resource") || kinds.has("template") ? [session.resourceListChanged] : [])
]

/** The connected clients. */
export class ConnectedSessions {
  readonly subscriptions: Subscriptions
  readonly #sessions = new Set<Session>()
  readonly #scope: Scope.Scope
  /** The kinds of members whose lists have changed since the last notification. */
  #changed = new Set<Kind>()

  constructor(scope: Scope.Scope, maxSubscriptions: number) {
    this.#scope = scope
    this.subscriptions = new Subscriptions(maxSubscriptions)
  }

  add(session: Session): void {
    this.#sessions.add(session)
  }

  remove(session: Session): void {
    this.#sessions.delete(session)
    this.subscriptions.end(session)
  }

  /** Notifies the clients soon that lists have changed: once for all changes of the quiet time (TOOL-02, PRM-02). */
  listsChanged(kinds: ReadonlySet<Kind>): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#sessions.size === 0) return Effect.void
      const isPending = this.#changed.size > 0
      for (const kind of kinds) this.#changed.add(kind)
      if (isPending || kinds.size === 0) return Effect.void
      return Effect.asVoid(Effect.forkIn(Effect.andThen(Effect.sleep(quietTime), this.#flush()), this.#scope))
    })
  }

  /** Notifies the clients that subscribed to a resource. */
  resourceUpdated(uri: string): Effect.Effect<void> {
    return Effect.suspend(() => this.#send(this.subscriptions.of(uri), (session) => [session.resourceUpdated(uri)]))
  }

  #flush(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const kinds = this.#changed
      this.#changed = new Set()
      return this.#send([...this.#sessions], (session) => listChanges(session, kinds))
    })
  }

  #send(
    sessions: ReadonlyArray<Session>,
    messages: (session: Session) => ReadonlyArray<Effect.Effect<void, unknown>>
  ): Effect.Effect<void> {
    return Effect.forEach(
      sessions,
      (session) =>
        Effect.ignoreCause(
          Effect.timeoutOption(
            Effect.forEach(messages(session), (message) => Effect.ignore(message), { discard: true }),
            sendTime
          )
        ),
      { concurrency: "unbounded", discard: true }
    )
  }
}
