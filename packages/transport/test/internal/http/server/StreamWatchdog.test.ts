/** What is due in a server goes by a clock that never jumps. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { SseResponseBody } from "../../../../src/internal/http/server/SseResponseBody.ts"
import * as StreamWatchdog from "../../../../src/internal/http/server/StreamWatchdog.ts"

const hour = 60 * 60 * 1000

/** A clock whose wall time can be set, as an administrator or NTP does. */
const settable = Effect.gen(function*() {
  let set = 0
  const clock = yield* Clock.Clock
  const wall: Clock.Clock = {
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + set,
    currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + set),
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(set) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe() + BigInt(set) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
  const watchdog = yield* Effect.provideService(
    StreamWatchdog.make({ keepAliveMillis: 15_000, stallMillis: 20_000, detachedMillis: 300_000 }),
    Clock.Clock,
    wall
  )
  return {
    watchdog,
    setBy: (millis: number) => {
      set += millis
    }
  }
})

const readerOf = (watchdog: StreamWatchdog.StreamWatchdog) => {
  const reader: SseResponseBody = new SseResponseBody({
    capacity: 1000,
    now: watchdog.now,
    budget: watchdog.budget,
    past: undefined,
    onLeave: () => watchdog.unwatch(reader)
  })
  watchdog.watch(reader)
  return reader
}

describe("a watchdog, when the wall clock is set", () => {
  for (const [name, change] of [["back", -hour], ["forward", hour]] as const) {
    it.effect(`${name}, sends a comment to a silent reader when it is due`, () =>
      Effect.gen(function*() {
        const { watchdog, setBy } = yield* settable
        let comments = 0
        const reader = readerOf(watchdog)
        yield* Effect.forkChild(
          Stream.runForEach(reader.body, () =>
            Effect.sync(() => {
              comments++
            })),
          { startImmediately: true }
        )
        yield* TestClock.adjust("5 seconds")
        setBy(change)
        yield* TestClock.adjust("9 seconds")
        assert.strictEqual(comments, 0)
        yield* TestClock.adjust("6 seconds")
        assert.strictEqual(comments, 1)
        reader.leave()
      }))

    it.effect(`${name}, breaks off a reader that takes nothing when it is due`, () =>
      Effect.gen(function*() {
        const { watchdog, setBy } = yield* settable
        const reader = readerOf(watchdog)
        reader.put("waiting")
        yield* TestClock.adjust("5 seconds")
        setBy(change)
        yield* TestClock.adjust("14 seconds")
        assert.isFalse(reader.hasLeft)
        yield* TestClock.adjust("10 seconds")
        assert.isTrue(reader.isBrokenOff)
      }))

    it.effect(`${name}, keeps a timeout when it is due`, () =>
      Effect.gen(function*() {
        const { watchdog, setBy } = yield* settable
        let kept = 0
        watchdog.schedule(300_000, () => kept++)
        yield* TestClock.adjust("1 minute")
        setBy(change)
        yield* TestClock.adjust("3 minutes")
        assert.strictEqual(kept, 0)
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual(kept, 1)
      }))
  }
})

describe("a watchdog", () => {
  it.effect("keeps a timeout that is due at once when it looks next, also one made by another", () =>
    Effect.gen(function*() {
      const watchdog = yield* StreamWatchdog.make({
        keepAliveMillis: 15_000,
        stallMillis: 0,
        detachedMillis: 300_000
      })
      let kept = 0
      const again = () => {
        kept++
        watchdog.schedule(0, again)
      }
      watchdog.schedule(0, again)
      yield* TestClock.adjust("10 millis")
      assert.strictEqual(kept, 1)
      yield* TestClock.adjust("10 millis")
      assert.strictEqual(kept, 2)
    }))

  it.effect("goes on when a timeout dies, and logs that it did", () =>
    Effect.gen(function*() {
      const logs: Array<unknown> = []
      const logger = Logger.make(({ message }) => void logs.push(message))
      const watchdog = yield* Effect.provide(
        StreamWatchdog.make({ keepAliveMillis: 15_000, stallMillis: 20_000, detachedMillis: 300_000 }),
        Logger.layer([logger])
      )
      let kept = 0
      watchdog.schedule(1000, () => {
        throw new Error("broken")
      })
      watchdog.schedule(1000, () => kept++)
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(kept, 1)
      assert.strictEqual(logs.length, 1)
    }))
})
