/** The watchdog measures durations on the monotonic clock, so a change of the wall clock has no effect. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { SseResponseBody } from "../../../../src/internal/http/server/SseResponseBody.ts"
import * as StreamWatchdog from "../../../../src/internal/http/server/StreamWatchdog.ts"

const hour = 60 * 60 * 1000

/** Creates a watchdog on a clock whose wall time a test changes, as an administrator or NTP does. */
const onSettableClock = Effect.gen(function*() {
  let offset = 0
  const clock = yield* Clock.Clock
  const wall: Clock.Clock = {
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + offset,
    currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + offset),
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n),
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
      offset += millis
    }
  }
})

const bodyOf = (watchdog: StreamWatchdog.StreamWatchdog) => {
  const body = new SseResponseBody({
    capacity: 1000,
    now: watchdog.now,
    budget: watchdog.budget,
    missed: undefined
  })
  body.onClose(() => watchdog.unwatch(body))
  watchdog.watch(body)
  return body
}

describe("a watchdog, after a change of the wall clock", () => {
  for (const [name, change] of [["back", -hour], ["forward", hour]] as const) {
    it.effect(`${name}, sends a comment on a silent stream when it is due`, () =>
      Effect.gen(function*() {
        const { watchdog, setBy } = yield* onSettableClock
        let comments = 0
        const body = bodyOf(watchdog)
        yield* Effect.forkChild(
          Stream.runForEach(body.stream, () =>
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
        body.close()
      }))

    it.effect(`${name}, aborts the response of a client that reads nothing when it is due`, () =>
      Effect.gen(function*() {
        const { watchdog, setBy } = yield* onSettableClock
        const body = bodyOf(watchdog)
        body.put("waiting")
        yield* TestClock.adjust("5 seconds")
        setBy(change)
        yield* TestClock.adjust("14 seconds")
        assert.isFalse(body.isClosed)
        yield* TestClock.adjust("10 seconds")
        assert.isTrue(body.isAborted)
      }))

    it.effect(`${name}, runs a timeout when it is due`, () =>
      Effect.gen(function*() {
        const { watchdog, setBy } = yield* onSettableClock
        let runs = 0
        watchdog.schedule(300_000, () => runs++)
        yield* TestClock.adjust("1 minute")
        setBy(change)
        yield* TestClock.adjust("3 minutes")
        assert.strictEqual(runs, 0)
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual(runs, 1)
      }))
  }
})

describe("a watchdog", () => {
  it.effect("runs a timeout of 0 ms in its next round, also one that a timeout schedules", () =>
    Effect.gen(function*() {
      const watchdog = yield* StreamWatchdog.make({
        keepAliveMillis: 15_000,
        stallMillis: 0,
        detachedMillis: 300_000
      })
      let runs = 0
      const again = () => {
        runs++
        watchdog.schedule(0, again)
      }
      watchdog.schedule(0, again)
      yield* TestClock.adjust("10 millis")
      assert.strictEqual(runs, 1)
      yield* TestClock.adjust("10 millis")
      assert.strictEqual(runs, 2)
    }))

  it.effect("waits for background effects as long as two calls of the store can take, and a second", () =>
    Effect.gen(function*() {
      const watchdog = yield* StreamWatchdog.make({
        keepAliveMillis: 15_000,
        stallMillis: 20_000,
        detachedMillis: 300_000,
        storeMillis: 8000
      })
      watchdog.run(Effect.sleep("16 seconds"))
      const all = yield* Effect.forkChild(watchdog.settled(), { startImmediately: true })
      yield* TestClock.adjust("15900 millis")
      assert.isUndefined(all.pollUnsafe())
      yield* TestClock.adjust("100 millis")
      assert.isDefined(all.pollUnsafe())
      watchdog.run(Effect.never)
      const bounded = yield* Effect.forkChild(watchdog.settled(), { startImmediately: true })
      yield* TestClock.adjust("16900 millis")
      assert.isUndefined(bounded.pollUnsafe())
      yield* TestClock.adjust("100 millis")
      assert.isDefined(bounded.pollUnsafe())
    }))

  it.effect("continues after a timeout throws, and logs the error", () =>
    Effect.gen(function*() {
      const logs: Array<unknown> = []
      const logger = Logger.make(({ message }) => void logs.push(message))
      const watchdog = yield* Effect.provide(
        StreamWatchdog.make({ keepAliveMillis: 15_000, stallMillis: 20_000, detachedMillis: 300_000 }),
        Logger.layer([logger])
      )
      let runs = 0
      watchdog.schedule(1000, () => {
        throw new Error("broken")
      })
      watchdog.schedule(1000, () => runs++)
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(runs, 1)
      assert.strictEqual(logs.length, 1)
    }))
})
