/** The liveness checks of all connections of a client or server. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as WatchLoop from "../shared/WatchLoop.ts"
import type { Pulse } from "./SocketControl.ts"

export interface Heartbeat {
  /** Watches a peer, and calls `onDead` once if it is dead. Returns a function that ends the watch. */
  readonly watch: (pulse: Pulse, onDead: () => void) => () => void
}

/** The shortest interval: checks without a pause would leave the peers no time to answer. */
const minIntervalMillis = 1000

interface Watched {
  readonly pulse: Pulse
  readonly onDead: () => void
  /** The bytes that the peer had sent at the last check. */
  receivedBytes: number
  /** Whether it was silent then, and was pinged. */
  wasPinged: boolean
}

/**
 * Creates the checks, with one fiber for all connections. At each interval, a peer that was silent since the previous
 * check is pinged, and one that is still silent one check later is dead. That takes two to three intervals.
 */
export const make = Effect.fnUntraced(function*(
  wantedMillis: number
): Effect.fn.Return<Heartbeat, never, Scope.Scope> {
  const intervalMillis = Math.max(wantedMillis, minIntervalMillis)
  const watched = new Set<Watched>()

  const declareDead = (peer: Watched) => {
    // A process that was suspended runs its timers before it reads the input that arrived meanwhile.
    setImmediate(() => {
      if (!watched.has(peer) || peer.pulse.receivedBytes() !== peer.receivedBytes) return
      watched.delete(peer)
      peer.onDead()
    })
  }

  const check = Effect.sync(() => {
    for (const peer of watched) {
      const receivedBytes = peer.pulse.receivedBytes()
      if (receivedBytes !== peer.receivedBytes) {
        peer.receivedBytes = receivedBytes
        peer.wasPinged = false
      } else if (peer.wasPinged) declareDead(peer)
      else {
        peer.wasPinged = true
        peer.pulse.ping()
      }
    }
    return watched.size > 0
  })

  const start = yield* WatchLoop.make(intervalMillis, check)

  return {
    watch: (pulse, onDead) => {
      if (!Number.isFinite(intervalMillis)) return () => {}
      const peer = { pulse, onDead, receivedBytes: pulse.receivedBytes(), wasPinged: false }
      watched.add(peer)
      start()
      return () => void watched.delete(peer)
    }
  }
})
