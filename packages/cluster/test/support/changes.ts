/** Properties of the channels of changes, and how their connections are broken. */
import type { ChangeBus } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Makes a bus, as another process does. */
export type MakeBus = Effect.Effect<ChangeBus.ChangeBus["Service"], unknown, Scope.Scope>

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
      while (!received.has(key)) {
        assert.isBelow(performance.now() - began, 10_000)
        yield* Effect.sleep(1)
      }
      times.push((received.get(key) ?? Number.NaN) - began)
    }
    return times.toSorted((a, b) => a - b)
  }).pipe(Effect.scoped)

/** Checks that most changes are received within a time. The machine may be busy with other tests. */
export const areSeenWithin = (limit: number, name: string, make: MakeBus, count: number, spread: number) =>
  Effect.map(delays(make, count, spread), (times) => {
    const at = (part: number) => times[Math.floor((times.length - 1) * part)] ?? Number.NaN
    console.log(
      `changes by ${name}: ${at(0.5).toFixed(1)} ms (median of ${count}), ${at(0.9).toFixed(1)} ms (90 %)`
    )
    assert.isBelow(at(0.5), limit)
  })

/** Returns the gaps of a listener, which counts them. */
export const gapsOf = (bus: ChangeBus.ChangeBus["Service"], scope: string) =>
  Effect.gen(function*() {
    const heard: { gaps: number; readonly keys: Array<string> } = { gaps: 0, keys: [] }
    yield* bus.subscribe({ scope, onChange: ({ key }) => void heard.keys.push(key), onGap: () => void heard.gaps++ })
    return heard
  })

/** Waits until a condition holds, at most 10 seconds. */
export const until = (condition: () => boolean) =>
  Effect.gen(function*() {
    const end = performance.now() + 10_000
    while (!condition()) {
      assert.isBelow(performance.now(), end, "it did not happen within 10 seconds")
      yield* Effect.sleep(5)
    }
  })

/**
 * A bus whose connection has fallen silent notices it within a time, reports a gap, and delivers later changes over a
 * connection of its own.
 */
export const survivesSilence = (
  millis: number,
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
    assert.isBelow(noticed, millis)
    assert.notInclude(heard.keys, "lost")
    yield* publish("after")
    yield* until(() => heard.keys.includes("after"))
  })
