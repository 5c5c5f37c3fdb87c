/** A session store that counts its entries. */
import { SessionStore } from "@effect-mcp/session"
import * as Effect from "effect/Effect"

export interface CountingSessionStore {
  readonly service: SessionStore.SessionStore["Service"]
  readonly stored: () => number
}

/** Creates the store in memory. */
export const make: Effect.Effect<CountingSessionStore> = Effect.map(SessionStore.makeMemory(), (store) => {
  const stored = new Set<string>()
  return {
    service: {
      ...store,
      create: (session) => {
        stored.add(session.id)
        return store.create(session)
      },
      remove: (id, epoch) => {
        stored.delete(id)
        return store.remove(id, epoch)
      }
    },
    stored: () => stored.size
  }
})
