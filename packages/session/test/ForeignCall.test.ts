import * as ForeignCall from "@effect-mcp/session/ForeignCall"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import { settled, start } from "./support/sessions.ts"

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

  it.effect("has ended when its caller goes on, if it can be interrupted", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const say = (word: string) => Effect.sync(() => void seen.push(word))
      const calling = yield* start(
        Effect.andThen(
          Effect.exit(ForeignCall.within("Store.load", 1000, () => Effect.onExit(Effect.never, () => say("ended")))),
          say("went on")
        )
      )
      yield* TestClock.adjust(1000)
      yield* Fiber.join(calling)
      assert.deepStrictEqual(seen, ["ended", "went on"])
    }))

  it.effect("is interrupted with its caller, which does not wait for it", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const hangs = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void seen.push("interrupted")))
      for (const effect of [hangs, Effect.uninterruptible(Effect.never)]) {
        yield* Fiber.interrupt(yield* start(ForeignCall.within("Store.load", 1000, () => effect)))
      }
      assert.deepStrictEqual(seen, ["interrupted"])
    }))

  it.effect("is interrupted with its caller, however far the caller has come", () =>
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

  it.effect("that throws is a defect, and one that has finished already is returned", () =>
    Effect.gen(function*() {
      const thrown = new Error("no connection")
      const exit = yield* Effect.exit(ForeignCall.within("Store.load", 1000, () => {
        throw thrown
      }))
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) === thrown)
      assert.strictEqual(yield* ForeignCall.within("Store.load", 1000, () => Exit.succeed(42)), 42)
    }))
})
