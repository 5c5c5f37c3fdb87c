/** A session store that counts its entries. */
import { SessionStore } from "@effect-mcp/session"
import * as Effect from "effect/Effect"

export interface CountingSessionStore {
  readonly service: SessionStore.SessionStore["Service"]
  readonly remembered: () => number
}

/** Creates the store in memory. */
export const make: Effect.Effect<CountingSessionStore> = Effect.map(SessionStore.makeMemory(), (store) => {
  const remembered = new Set<string>()
  return {
    service: {
      ...store,
      save: (session) => {
        remembered.add(session.id)
        return store.save(session)
      },
      remove: (id) => {
        remembered.delete(id)
        return store.remove(id)
      }
    },
    remembered: () => remembered.size
  }
})
