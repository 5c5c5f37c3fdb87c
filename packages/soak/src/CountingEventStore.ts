/** An event store that counts the streams that have not ended. */
import { EventStore } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface CountingEventStore {
  readonly service: EventStore.EventStore["Service"]
  readonly open: () => number
}

const nameOf = ({ session, stream }: EventStore.StreamKey): string => JSON.stringify([session, stream])

/** Creates the store in memory. It keeps ended streams only briefly. */
export const make: Effect.Effect<CountingEventStore, never, Scope.Scope> = Effect.map(
  EventStore.makeMemory({ endedStreamTimeout: "500 millis" }),
  (store) => {
    const open = new Map<string, string>()
    const service: EventStore.EventStore["Service"] = {
      ...store,
      append: (key, data) => {
        open.set(nameOf(key), key.session)
        return store.append(key, data)
      },
      end: (key) => {
        open.delete(nameOf(key))
        return store.end(key)
      },
      drop: (dropped, epoch) => {
        for (const [name, session] of open) if (session === dropped) open.delete(name)
        return store.drop(dropped, epoch)
      }
    }
    return { service, open: () => open.size }
  }
)
