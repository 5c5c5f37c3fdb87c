import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { Pulse } from "./SocketControl.ts"

/** Looks after connections whose peers may be gone without a word. */
export interface Heartbeat {
  /** Watches this pulse, and calls once if there is none any more. What comes back ends it. */
  readonly watch: (pulse: Pulse, onSilence: () => void) => () => void
}

/** How long it goes without looking at least. Whoever looks all the time does nothing else, and leaves no peer the time to answer. */
const shortestMillis = 1000

/** What is known of a peer. */
interface Care {
  readonly pulse: Pulse
  readonly onSilence: () => void
  /** How much had come at the last look. */
  heard: number
  /** It was silent then, and has been asked for a sign of life. */
  asked: boolean
}

/**
 * One fiber for all connections, and none where there are none. It looks once in every interval: whoever has said nothing since the
 * look before is pinged, and whoever has not answered by the next one has gone silent. That is so after two to three intervals.
 */
export const make = Effect.fnUntraced(function*(
  wantedMillis: number
): Effect.fn.Return<Heartbeat, never, Scope.Scope> {
  const intervalMillis = Math.max(wantedMillis, shortestMillis)
  const scope = yield* Effect.scope
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const watched = new Set<Care>()
  let watching = false

  const giveUp = (care: Care) => {
    // A process that was stopped for long looks before it has read what came meanwhile.
    setImmediate(() => {
      if (!watched.has(care) || care.pulse.heard() !== care.heard) return
      watched.delete(care)
      care.onSilence()
    })
  }

  const look = () => {
    for (const care of watched) {
      const heard = care.pulse.heard()
      if (heard !== care.heard) {
        care.heard = heard
        care.asked = false
      } else if (care.asked) giveUp(care)
      else {
        care.asked = true
        care.pulse.ping()
      }
    }
    watching = watched.size > 0
  }

  const begin = () => {
    if (watching) return
    watching = true
    const turns = Effect.whileLoop({
      while: () => watching,
      body: () => Effect.andThen(Effect.sleep(intervalMillis), Effect.sync(look)),
      step: () => {}
    })
    Fiber.runIn(runFork(turns), scope)
  }

  return {
    watch: (pulse, onSilence) => {
      if (!Number.isFinite(intervalMillis)) return () => {}
      const care = { pulse, onSilence, heard: pulse.heard(), asked: false }
      watched.add(care)
      begin()
      return () => void watched.delete(care)
    }
  }
})
