import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import * as ForeignCall from "../../../src/internal/engine/ForeignCall.ts"
import { settled, start } from "../../support/sessions.ts"

describe("a call of foreign code", () => {
  for (
    const [name, hangs] of [
      ["can", Effect.never],
      ["cannot", Effect.uninterruptible(Effect.never)]
    ] as const
  ) {
    it.effect(`times out, if it ${name} be interrupted`, () =>
      Effect.gen(function*() {
        const calling = yield* start(Effect.flip(ForeignCall.within("Store.load", 1000, () => hangs)))
        yield* TestClock.adjust(999)
        assert.isUndefined(calling.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Fiber.join(calling)).message, "Store.load: timed out after 1000 ms")
      }))
  }

  it.effect("ends before its caller continues, if it can be interrupted", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const record = (event: string) => Effect.sync(() => void events.push(event))
      const calling = yield* start(
        Effect.andThen(
          Effect.exit(ForeignCall.within("Store.load", 1000, () => Effect.onExit(Effect.never, () => record("ended")))),
          record("continued")
        )
      )
      yield* TestClock.adjust(1000)
      yield* Fiber.join(calling)
      assert.deepStrictEqual(events, ["ended", "continued"])
    }))

  it.effect("is interrupted with its caller, which does not wait for it", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const hangs = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void events.push("interrupted")))
      for (const effect of [hangs, Effect.uninterruptible(Effect.never)]) {
        yield* Fiber.interrupt(yield* start(ForeignCall.within("Store.load", 1000, () => effect)))
      }
      assert.deepStrictEqual(events, ["interrupted"])
    }))

  it.effect("is interrupted with its caller at any operation", () =>
    Effect.gen(function*() {
      let running = 0
      const hangs = Effect.acquireUseRelease(
        Effect.sync(() => running++),
        () => Effect.never,
        () => Effect.sync(() => running--)
      )
      const call = ForeignCall.within("Store.load", 1000, () => hangs)
      for (let operations = 2; operations < 20; operations++) {
        const caller = yield* Effect.forkChild(Effect.provideService(call, References.MaxOpsBeforeYield, operations))
        yield* Effect.yieldNow
        yield* Fiber.interrupt(caller)
        yield* settled
        assert.strictEqual(running, 0, `a caller that yields after ${operations} operations`)
      }
    }))

  it.effect("dies if the code throws, and returns an Exit that is already available", () =>
    Effect.gen(function*() {
      const thrown = new Error("no connection")
      const exit = yield* Effect.exit(ForeignCall.within("Store.load", 1000, () => {
        throw thrown
      }))
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) === thrown)
      assert.strictEqual(yield* ForeignCall.within("Store.load", 1000, () => Exit.succeed(42)), 42)
    }))

  it.effect("of a caller with its own deadline is interrupted with the caller, which does not wait for it", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const hangs = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void events.push("interrupted")))
      for (const effect of [hangs, Effect.uninterruptible(Effect.never)]) {
        yield* Fiber.interrupt(yield* start(ForeignCall.detachable(effect)))
      }
      assert.deepStrictEqual(events, ["interrupted"])
      assert.strictEqual(yield* ForeignCall.detachable(Effect.as(Effect.yieldNow, 42)), 42)
    }))
})
