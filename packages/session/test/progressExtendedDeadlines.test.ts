import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { settled, start, text, withRawServer } from "./support/sessions.ts"

const step = (progress: number) => JsonRpc.notification("notifications/progress", { progressToken: 1, progress })

const onProgress = () => Effect.void

/** Forks a call, and returns the reason with which it fails. */
const begin = (effect: Effect.Effect<unknown, { readonly reason: unknown }>) =>
  start(Effect.map(Effect.flip(effect), ({ reason }) => reason))

describe("deadlines that progress extends", () => {
  it.effect("[TMO-05] each step restarts the timeout", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const calling = yield* start(session.callTool("x", {}, { timeout: 100, extendOnProgress: true, onProgress }))
      for (let progress = 1; progress <= 5; progress++) {
        yield* TestClock.adjust(90)
        yield* raw.send(step(progress))
      }
      yield* TestClock.adjust(90)
      yield* raw.send(JsonRpc.success(1, text("done")))
      assert.deepStrictEqual(yield* Fiber.join(calling), text("done"))
    }))

  it.effect("[TMO-04] [TMO-06] a timeout of the call that exceeds requestTotalTimeout of the session applies", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer({ client: { limits: { requestTotalTimeout: 50 } } })
      const calling = yield* begin(session.callTool("x", {}, { timeout: 100, extendOnProgress: true, onProgress }))
      yield* TestClock.adjust(99)
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(calling), { _tag: "Timeout", afterMillis: 100 })
    }))

  it.effect("[TMO-05] the call times out after the last step", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const calling = yield* begin(session.callTool("x", {}, { timeout: 100, extendOnProgress: true, onProgress }))
      yield* TestClock.adjust(50)
      yield* raw.send(step(1))
      yield* TestClock.adjust(99)
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(calling), { _tag: "Timeout", afterMillis: 150 })
    }))

  it.effect("[PRG-03] a step that does not grow does not restart the timeout", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const calling = yield* begin(session.callTool("x", {}, { timeout: 100, extendOnProgress: true, onProgress }))
      yield* raw.send(step(1))
      yield* TestClock.adjust(50)
      yield* raw.send(step(1))
      yield* TestClock.adjust(50)
      assert.deepStrictEqual(yield* Fiber.join(calling), { _tag: "Timeout", afterMillis: 100 })
    }))

  it.effect("without extendOnProgress, progress does not restart the timeout", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const calling = yield* begin(session.callTool("x", {}, { timeout: 100, onProgress }))
      yield* TestClock.adjust(50)
      yield* raw.send(step(1))
      yield* TestClock.adjust(50)
      assert.deepStrictEqual(yield* Fiber.join(calling), { _tag: "Timeout", afterMillis: 100 })
    }))

  it.effect("[TMO-06] totalTimeout ends the call despite progress", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const calling = yield* begin(
        session.callTool("x", {}, { timeout: 100, extendOnProgress: true, totalTimeout: 250, onProgress })
      )
      for (let progress = 1; progress <= 4; progress++) {
        yield* TestClock.adjust(60)
        yield* raw.send(step(progress))
      }
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(yield* Fiber.join(calling), { _tag: "Timeout", afterMillis: 250 })
      yield* settled
      const cancelled = raw.received.flatMap((message) =>
        "method" in message && message.method === "notifications/cancelled" ? [message.params] : []
      )
      assert.deepStrictEqual(cancelled, [{ requestId: 1, reason: "no response within 250 ms" }])
    }))

  it.effect("[TMO-06] totalTimeout is requestTotalTimeout by default, and Infinity switches it off", () =>
    Effect.gen(function*() {
      const limits = { requestTotalTimeout: 250 }
      const { raw, session } = yield* withRawServer({ client: { limits } })
      const options = { timeout: 100, extendOnProgress: true, onProgress }
      const bounded = yield* begin(session.callTool("x", {}, options))
      const unlimited = yield* start(session.callTool("x", {}, { ...options, totalTimeout: "Infinity" }))
      for (let progress = 1; progress <= 4; progress++) {
        yield* TestClock.adjust(90)
        yield* raw.send(step(progress), JsonRpc.notification("notifications/progress", { progressToken: 2, progress }))
      }
      assert.deepStrictEqual(yield* Fiber.join(bounded), { _tag: "Timeout", afterMillis: 250 })
      assert.isUndefined(unlimited.pollUnsafe())
      yield* raw.send(JsonRpc.success(2, text("done")))
      yield* Fiber.join(unlimited)
    }))

  it.effect("[TMO-06] totalTimeout ends the call without progress", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer()
      const calling = yield* begin(session.callTool("x", {}, { timeout: "Infinity", totalTimeout: 250 }))
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(yield* Fiber.join(calling), { _tag: "Timeout", afterMillis: 250 })
    }))
})
