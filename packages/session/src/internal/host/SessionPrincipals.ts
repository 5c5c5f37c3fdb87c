/** The principals of the sessions of a host, also of those that are open at another one. */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Principal from "../../Principal.ts"
import type { SessionStoreError } from "../../SessionStore.ts"
import type { Client } from "../ClientName.ts"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import type { HostedSession } from "./HostedSession.ts"
import type { HostStore } from "./HostStore.ts"

/** The number of sessions whose principal is remembered. */
const maxSessions = 10_000

/** The parts of a host that this needs. */
export interface Options {
  readonly sessions: ReadonlyMap<string, HostedSession>
  readonly store: Pick<HostStore, "load"> | undefined
}

/** A principal that was found to have a session. */
interface Known {
  readonly id: string | undefined
}

/**
 * Says whether a session belongs to a principal. For any other principal the session does not exist. The answer then
 * costs one look-up in the store, and fails with the store, whether the session exists or not: a client cannot learn
 * from the time or from the error that it does.
 */
export class SessionPrincipals {
  readonly #options: Options
  /** Only matches, because the principal of a session never changes. Ids that clients have made up are not in it. */
  readonly #known = LeastRecentlyUsed.make<Known>({ size: maxSessions, weight: Number.POSITIVE_INFINITY })

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Returns whether a session, open here or stored, belongs to the principal of a client. It is an `Exit` if that is
   * known.
   */
  has(client: Client, id: string): Effect.Effect<boolean, SessionStoreError> {
    const { sessions, store } = this.#options
    const { principal } = client
    const hosted = sessions.get(id)
    if (hosted !== undefined && Principal.isSame(hosted.principal, principal)) return Exit.succeed(true)
    if (store === undefined) return Exit.succeed(false)
    const known = this.#known.get(id)
    if (known !== undefined && known.id === principal?.id) return Exit.succeed(true)
    return Effect.map(store.load(id, client), (stored) => {
      const isOwn = stored !== undefined && stored.principal === principal?.id
      if (isOwn) this.#known.set(id, { id: principal?.id }, 0)
      return isOwn
    })
  }
}
