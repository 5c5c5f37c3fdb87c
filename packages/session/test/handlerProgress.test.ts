import { JsonRpc } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { leak } from "./support/leakedContext.ts"
import { call, codeOf, forms, introduce, names, settled, text, tools, withRawClient } from "./support/sessions.ts"

/** What the client is told of progress. */
const progressOf = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) =>
    "method" in message && message.method === "notifications/progress" ? [message.params] : []
  )

describe("progress", () => {
  it.effect("[PRG-03] a total that is no number is left out, and so it is no total to have reached", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({
        handlers: tools({
          vague: Effect.gen(function*() {
            const totals = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
            for (const [index, total] of totals.entries()) {
              yield* RequestContext.progress({ progress: index + 1, total, message: "on the way" })
            }
            return text("done")
          })
        }),
        server: { limits: { progressInterval: "100 millis" } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "vague", { _meta: { progressToken: "t" } }))
      yield* settled
      assert.deepStrictEqual(progressOf(yield* raw.pending), [{
        progressToken: "t",
        progress: 1,
        message: "on the way"
      }])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), ["TooSoon", "TooSoon"])
    }))

  it.effect("[PRG-06] a step beyond the total is told like the one that reaches it", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({
          far: Effect.gen(function*() {
            yield* RequestContext.progress({ progress: 1, total: 6 })
            yield* RequestContext.progress({ progress: 7, total: 6 })
            return text("done")
          })
        }),
        server: { limits: { progressInterval: "100 millis" } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "far", { _meta: { progressToken: "t" } }))
      yield* settled
      assert.deepStrictEqual(progressOf(yield* raw.pending).map((params) => params?.["progress"]), [1, 7])
    }))

  it.effect("[PRG-06] a handler that reports more often than it may is thinned out; the total is always told", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({
        handlers: tools({
          busy: Effect.gen(function*() {
            for (const progress of [1, 2, 3, 4]) {
              yield* RequestContext.progress({ progress, total: 6 })
              yield* Effect.sleep("40 millis")
            }
            yield* RequestContext.progress({ progress: 2 })
            yield* RequestContext.progress({ progress: 5 })
            yield* RequestContext.progress({ progress: 6, total: 6 })
            return text("done")
          }),
          other: Effect.as(RequestContext.progress({ progress: 1 }), text("done"))
        }),
        server: { limits: { progressInterval: "100 millis" } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "busy", { _meta: { progressToken: "t" } }))
      yield* raw.send(call(2, "other", { _meta: { progressToken: "u" } }))
      yield* TestClock.adjust("160 millis")
      assert.deepStrictEqual(
        progressOf(yield* raw.pending).map((params) => [params?.["progressToken"], params?.["progress"]]),
        [["t", 1], ["u", 1], ["t", 4], ["t", 6]]
      )
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), [
        "TooSoon",
        "TooSoon",
        "NotIncreasing",
        "TooSoon"
      ])
    }))

  const steps = (...values: ReadonlyArray<number>) =>
    Effect.as(
      Effect.forEach(values, (progress) => RequestContext.progress({ progress, total: 10, message: `at ${progress}` })),
      text("done")
    )

  for (const { form, pair } of forms) {
    it.effect(`[PRG-04] is sent with the token, on the request's own stream, and before the result (${form})`, () =>
      Effect.gen(function*() {
        const { raw } = yield* withRawClient({ pair, handlers: tools({ x: steps(1, 2) }) })
        yield* introduce(raw)
        yield* raw.send(call(1, "x", { _meta: { progressToken: "token" } }))
        yield* settled
        assert.deepStrictEqual(yield* raw.pending, [
          JsonRpc.notification("notifications/progress", {
            progress: 1,
            total: 10,
            message: "at 1",
            progressToken: "token"
          }),
          JsonRpc.notification("notifications/progress", {
            progress: 2,
            total: 10,
            message: "at 2",
            progressToken: "token"
          }),
          JsonRpc.success(1, text("done"))
        ])
      }))
  }

  it.effect("[PRG-01] a token may be 0 or empty", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ x: steps(1) }) })
      yield* introduce(raw)
      yield* raw.send(call(1, "x", { _meta: { progressToken: 0 } }))
      yield* raw.send(call(2, "x", { _meta: { progressToken: "" } }))
      assert.deepStrictEqual(progressOf(yield* raw.pending).map((params) => params?.["progressToken"]), [0, ""])
    }))

  it.effect("[PRG-04] nobody asked: nothing is sent", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({ handlers: tools({ x: steps(1, 2, 2) }) })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      yield* raw.send(call(2, "x", { _meta: {} }))
      assert.deepStrictEqual(names(yield* raw.pending), [1, 2])
      assert.deepStrictEqual(record.of("ProgressDropped"), [])
    }))

  it.effect("[PRG-01] a token that is none is refused before the handler runs", () =>
    Effect.gen(function*() {
      let ran = 0
      const { raw } = yield* withRawClient({
        handlers: tools({
          x: Effect.suspend(() => {
            ran++
            return steps(1)
          })
        })
      })
      yield* introduce(raw)
      for (const progressToken of [null, 1.5, {}, [1], true]) {
        yield* raw.send(call("x", "x", { _meta: { progressToken } }))
        assert.strictEqual(codeOf(yield* raw.response), -32602, JSON.stringify(progressToken))
      }
      assert.strictEqual(ran, 0)
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[PRG-03] what does not grow is dropped and seen", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({ handlers: tools({ x: steps(-5, -5, 0, 0.1, 0.1, 3, 2) }) })
      yield* introduce(raw)
      yield* raw.send(call(1, "x", { _meta: { progressToken: 1 } }))
      assert.deepStrictEqual(progressOf(yield* raw.pending).map((params) => params?.["progress"]), [-5, 0, 0.1, 3])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), [
        "NotIncreasing",
        "NotIncreasing",
        "NotIncreasing"
      ])
    }))

  it.effect("[PRG-03] what is not a finite number does not grow, and spoils nothing", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({
        handlers: tools({ x: steps(1, Number.NaN, 2, Number.NEGATIVE_INFINITY, 1, Number.POSITIVE_INFINITY, 3) })
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x", { _meta: { progressToken: 1 } }))
      assert.deepStrictEqual(progressOf(yield* raw.pending).map((params) => params?.["progress"]), [1, 2, 3])
      assert.strictEqual(record.of("ProgressDropped").length, 4)
    }))

  it.effect("[PRG-05] after the reply it is dropped and seen", () =>
    Effect.gen(function*() {
      const { effect, leaked } = leak()
      const { raw, record } = yield* withRawClient({
        handlers: tools({ leak: effect }),
        server: { capabilities: { logging: {} } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "leak", { _meta: { progressToken: 1 } }))
      const context = yield* leaked
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      yield* context.progress({ progress: 1 })
      yield* context.log({ level: "info", data: "too late" })
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), ["ExchangeEnded"])
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method }) => method), ["notifications/message"])
    }))

  it.effect("[PRG-05] [CAN-04] after a cancellation, too, though the handler goes on", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({
        handlers: tools({ x: Effect.uninterruptible(Effect.andThen(Effect.sleep(10), steps(1, 2))) })
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x", { _meta: { progressToken: 1 } }))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* TestClock.adjust(10)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), [
        "ExchangeEnded",
        "ExchangeEnded"
      ])
    }))
})
