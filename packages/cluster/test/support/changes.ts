/** Properties of the channels of changes, and how their connections are broken. */
import type { ChangeBus } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Makes a bus, as another process does. */
export type MakeBus = Effect.Effect<ChangeBus.ChangeBus["Service"], unknown, Scope.Scope>

/** Waits until a condition holds, at most for the timeout of the test. */
export const until = Effect.fnUntraced(function*(condition: () => boolean, pauseMillis = 5) {
  while (!condition()) yield* Effect.sleep(pauseMillis)
})

/** Returns the milliseconds from the publishing of changes to their receipt, sorted. */
export const delays = (make: MakeBus, count: number, spread: number) =>
  Effect.gen(function*() {
    const [one, other] = [yield* make, yield* make]
    const received = new Map<string, number>()
    yield* other.subscribe({
      scope: "times",
      onChange: ({ key }) => void received.set(key, performance.now()),
      onGap: () => {}
    })
    const times: Array<number> = []
    for (let index = 0; index < count; index++) {
      const key = String(index)
      // The times are spread over those between two queries of a bus that polls.
      yield* Effect.sleep((index * 97) % spread)
      const began = performance.now()
      yield* one.publish({ scope: "times", kind: "measured", key })
      yield* until(() => received.has(key), 1)
      times.push((received.get(key) ?? Number.NaN) - began)
    }
    return times.toSorted((a, b) => a - b)
  }).pipe(Effect.scoped)

/** Checks that each change is received, and prints how long that takes. */
export const areSeen = (name: string, make: MakeBus, count: number, spread: number) =>
  Effect.map(delays(make, count, spread), (times) => {
    const at = (part: number) => times[Math.floor((times.length - 1) * part)] ?? Number.NaN
    console.log(
      `changes by ${name}: ${at(0.5).toFixed(1)} ms (median of ${count}), ${at(0.9).toFixed(1)} ms (90 %)`
    )
  })

/** Returns the gaps of a listener, which counts them. */
export const gapsOf = (bus: ChangeBus.ChangeBus["Service"], scope: string) =>
  Effect.gen(function*() {
    const heard: { gaps: number; readonly keys: Array<string> } = { gaps: 0, keys: [] }
    yield* bus.subscribe({ scope, onChange: ({ key }) => void heard.keys.push(key), onGap: () => void heard.gaps++ })
    return heard
  })

/**
 * A bus whose connection has fallen silent notices it, reports a gap, and delivers later changes over a connection of
 * its own.
 */
export const survivesSilence = (
  silence: () => void,
  bus: ChangeBus.ChangeBus["Service"],
  publish: (key: string) => Effect.Effect<unknown, unknown>
) =>
  Effect.gen(function*() {
    const heard = yield* gapsOf(bus, "s")
    yield* publish("before")
    yield* until(() => heard.keys.includes("before"))
    silence()
    yield* publish("lost")
    const began = performance.now()
    yield* until(() => heard.gaps > 0)
    const noticed = performance.now() - began
    console.log(`a silent connection was noticed after ${(noticed / 1000).toFixed(1)} s`)
    assert.notInclude(heard.keys, "lost")
    yield* publish("after")
    yield* until(() => heard.keys.includes("after"))
  })
