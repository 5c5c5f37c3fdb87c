import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import { pendingCall, reply } from "./support/pendingCall.ts"
import { names, reasonOf, settled, start, text, upTo, withRawServer } from "./support/sessions.ts"

describe("late and repeated responses", () => {
  it.effect("[CAN-06] [CAN-07] a response after the cancellation is late", () =>
    Effect.gen(function*() {
      const { fiber, raw, record, sentSince, session } = yield* pendingCall()
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(names(sentSince()), ["notifications/cancelled"])
      yield* raw.send(reply(1), JsonRpc.failure(1, McpError.invalidRequest("cancelled")))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind).slice(0, 1), ["Late"])
      assert.strictEqual(record.of("UnmatchedResponse").length, 2)
      assert.strictEqual(sentSince().length, 1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[TMO-03] [CAN-06] a response after the deadline is late", () =>
    Effect.gen(function*() {
      const { fiber, raw, record } = yield* pendingCall()
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* reasonOf(fiber))._tag, "Timeout")
      yield* raw.send(reply(1))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Late"])
    }))

  it.effect("[TMO-03] a response after the deadline is late, even while progress is being delivered", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const fiber = yield* start(
        Effect.exit(session.callTool("x", {}, { timeout: 1000, onProgress: () => Effect.sleep(5000) }))
      )
      yield* settled
      yield* raw.send(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }))
      yield* TestClock.adjust(1000)
      yield* raw.send(reply(1))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Late"])
      yield* TestClock.adjust(5000)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
    }))

  it.effect("law 3: a second response to a request is a duplicate", () =>
    Effect.gen(function*() {
      const { fiber, raw, record, session } = yield* pendingCall()
      yield* raw.send(reply(1, "first"), reply(1, "second"))
      assert.deepStrictEqual(yield* Fiber.join(fiber), text("first"))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Duplicate"])
      yield* raw.send(JsonRpc.failure(1, McpError.invalidRequest("third")))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Duplicate", "Duplicate"])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("law 3: a second response is a duplicate while the first waits for the delivery of progress", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const fiber = yield* start(session.callTool("x", {}, { onProgress: () => Effect.sleep(100) }))
      yield* settled
      yield* raw.send(
        JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }),
        reply(1, "first"),
        reply(1, "second")
      )
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Duplicate"])
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(fiber), text("first"))
    }))
})

describe("responses that match no request", () => {
  it.effect("[MSG-07] are logged as warnings, at most ten per second; late ones are not logged", () => {
    const warnings: Array<unknown> = []
    const logging = Logger.layer([
      Logger.make(({ logLevel, message }) =>
        warnings.push([logLevel, ...(Array.isArray(message) ? message : [message])])
      )
    ])
    return Effect.gen(function*() {
      const { fiber, link } = yield* pendingCall()
      yield* Fiber.interrupt(fiber)
      link.deliver(reply(1))
      assert.deepStrictEqual(warnings, [])
      for (const id of upTo(15)) link.deliver(JsonRpc.success(`unknown ${id}`, { secret: true }))
      assert.strictEqual(warnings.length, 10)
      assert.deepStrictEqual(warnings[0], ["Warn", "received a response that matches no request", { id: "unknown 1" }])
      yield* TestClock.adjust("1 second")
      link.deliver(JsonRpc.success("another", {}))
      assert.strictEqual(warnings.length, 11)
      link.deliver(JsonRpc.success(`a\n${"x".repeat(1_000_000)}`, {}))
      assert.deepStrictEqual(warnings[11], [
        "Warn",
        "received a response that matches no request",
        { id: `a\\n${"x".repeat(124)}…` }
      ])
    }).pipe(Effect.provide(logging))
  })
})
