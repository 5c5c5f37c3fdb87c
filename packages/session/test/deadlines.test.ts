import { JsonRpc, type Progress } from "@effect-mcp/protocol"
import type { ClientSession, RequestError } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import {
  forms,
  names,
  performHandshake,
  reasonOf,
  settled,
  start,
  text,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const timeout = (afterMillis: number): RequestError.RequestErrorReason => ({ _tag: "Timeout", afterMillis })

const cancelled = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) =>
    "method" in message && message.method === "notifications/cancelled" ? [message.params] : []
  )

describe("deadlines", () => {
  for (const { form, pair } of forms) {
    it.effect(`[TMO-01] [TMO-02] [TOOL-14] [MSG-27] a request times out after exactly 60 seconds (${form})`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawServer({ pair })
        const call = yield* start(session.callTool("x"))
        yield* TestClock.adjust(59_999)
        assert.isUndefined(call.pollUnsafe())
        assert.deepStrictEqual(cancelled(raw.received), [])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* reasonOf(call), timeout(60_000))
      }))

    it.effect(`[TMO-03] [CAN-08] a request that times out sends one cancellation with a reason (${form})`, () =>
      Effect.gen(function*() {
        const { raw, record, session } = yield* withRawServer({ pair })
        const call = yield* start(session.callTool("x", {}, { timeout: "2 seconds" }))
        yield* TestClock.adjust("2 seconds")
        yield* reasonOf(call)
        yield* Fiber.interrupt(call)
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(cancelled(raw.received), [{ requestId: 1, reason: "no response within 2000 ms" }])
        assert.deepStrictEqual(record.of("CancelSent"), [
          { _tag: "CancelSent", method: "tools/call", id: 1, reason: "no response within 2000 ms" }
        ])
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      }))
  }

  it.effect("[TMO-04] requestTimeout sets the deadline for a session", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer({ client: { limits: { requestTimeout: "5 seconds" } } })
      const call = yield* start(session.callTool("x"))
      const longer = yield* start(session.callTool("x", {}, { timeout: 6000 }))
      yield* TestClock.adjust(5000)
      assert.deepStrictEqual(yield* reasonOf(call), timeout(5000))
      assert.isUndefined(longer.pollUnsafe())
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* reasonOf(longer), timeout(6000))
    }))

  it.effect("[TMO-04] timeout sets the deadline for a call, in every form of a duration", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer()
      const calls = yield* Effect.forEach(
        [5, "5 millis", "0.005 seconds", { milliseconds: 5 }] as const,
        (deadline) => start(session.callTool("x", {}, { timeout: deadline }))
      )
      yield* TestClock.adjust(5)
      for (const call of calls) assert.deepStrictEqual(yield* reasonOf(call), timeout(5))
    }))

  it.effect("[TMO-04] a timeout of a fraction of a millisecond sends the request", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const call = yield* start(session.callTool("x", {}, { timeout: 0.25 }))
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* reasonOf(call), timeout(0.25))
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("[TMO-04] \"Infinity\" waits without a limit, for a call and for a session", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ client: { limits: { requestTimeout: "Infinity" } } })
      const one = yield* start(session.callTool("x", {}, { timeout: "Infinity" }))
      const two = yield* start(session.callTool("x"))
      yield* TestClock.adjust("1000 days")
      assert.deepStrictEqual([one.pollUnsafe(), two.pollUnsafe()], [undefined, undefined])
      yield* raw.send(JsonRpc.success(1, text("1")), JsonRpc.success(2, text("2")))
      assert.deepStrictEqual([yield* Fiber.join(one), yield* Fiber.join(two)], [text("1"), text("2")])
    }))

  it.effect("[TMO-04] a timeout of 90 days works", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer()
      const call = yield* start(session.callTool("x", {}, { timeout: "90 days" }))
      yield* TestClock.adjust("89 days")
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* reasonOf(call), timeout(90 * 24 * 3600 * 1000))
    }))

  for (const deadline of [0, -1, "0 seconds"] as const) {
    it.effect(`[TMO-04] a timeout of ${JSON.stringify(deadline)} fails at once, sends nothing, and uses no id`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawServer()
        const error = yield* Effect.flip(session.callTool("x", {}, { timeout: deadline }))
        assert.deepStrictEqual(error.reason, timeout(0))
        assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
        yield* start(session.ping())
        yield* settled
        assert.deepStrictEqual(raw.received.at(-1), { jsonrpc: "2.0", id: 1, method: "ping" })
      }))
  }

  for (const totalTimeout of [0, -1]) {
    it.effect(`[TMO-06] a totalTimeout of ${totalTimeout} fails at once and sends nothing`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawServer()
        const error = yield* Effect.flip(session.callTool("x", {}, { totalTimeout }))
        assert.deepStrictEqual(error.reason, timeout(0))
        assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
      }))
  }

  it.effect("[TMO-02] a request with a consumer of progress has a deadline without an option", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const call = yield* start(session.callTool("x", {}, { onProgress: () => Effect.void }))
      yield* TestClock.adjust("59 seconds")
      yield* raw.send(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }))
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* reasonOf(call), timeout(60_000))
    }))

  it.effect("[TMO-02] requests of a server have deadlines", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ server: { limits: { requestTimeout: 100 } } })
      yield* performHandshake(raw)
      const ping = yield* start(session.ping())
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* reasonOf(ping), timeout(100))
      assert.deepStrictEqual(names(yield* raw.pending), ["ping", "notifications/cancelled"])
    }))

  it.effect("[TMO-02] requests with many deadlines time out in the order of their deadlines", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer()
      const ended: Array<number> = []
      const deadlines = [500, 100, 300, 100, 900, 200, 1, 700, 300]
      for (const deadline of deadlines) {
        yield* start(
          Effect.tapError(
            session.callTool("x", {}, { timeout: deadline }),
            () => Effect.sync(() => ended.push(deadline))
          )
        )
      }
      for (let now = 0; now < 1000; now += 50) {
        yield* TestClock.adjust(50)
        assert.deepStrictEqual(
          ended.toSorted((a, b) => a - b),
          deadlines.filter((deadline) => deadline <= now + 50).toSorted((a, b) => a - b)
        )
      }
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[TMO-02] law 2: one fiber waits for all deadlines, and none exists without deadlines", () =>
    Effect.gen(function*() {
      // The TestClock starts a fiber at its first use; this census must not count it.
      yield* TestClock.adjust(1)
      const census = FiberCount.make()
      yield* census.count(
        Effect.gen(function*() {
          const { session } = yield* withRawServer()
          // Until then the timer still waits for the deadline of the handshake.
          yield* TestClock.adjust("30 seconds")
          yield* settled
          const idle = census.living()
          const first = yield* start(Effect.flip(session.callTool("x", {}, { timeout: 1000 })))
          const one = census.living()
          // The call and the timer.
          assert.strictEqual(one, idle + 2)
          const more = yield* Effect.forEach(
            Array.from({ length: 50 }, (_, index) => 2000 - index * 30),
            (deadline) => start(Effect.flip(session.callTool("x", {}, { timeout: deadline })))
          )
          yield* settled
          assert.strictEqual(census.living(), one + 50)
          yield* TestClock.adjust(2000)
          yield* Effect.forEach([first, ...more], Fiber.join)
          yield* settled
          assert.strictEqual(census.living(), idle)
        }).pipe(Effect.scoped)
      )
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("[TMO-02] law 1: a request that is sent when another one times out has its own deadline", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const retrying = yield* start(
        Effect.catch(
          session.callTool("first", {}, { timeout: 100 }),
          () => session.callTool("second", {}, { timeout: 100 })
        )
      )
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled", "tools/call"])
      yield* TestClock.adjust(100)
      yield* settled
      assert.isDefined(retrying.pollUnsafe(), "the timer misses the second deadline")
      assert.deepStrictEqual(yield* reasonOf(retrying), timeout(100))
    }))

  it.effect("[TMO-02] law 1: a request that is sent at a timeout does not affect a third deadline", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer()
      yield* start(
        Effect.catch(
          session.callTool("first", {}, { timeout: 100 }),
          () => session.callTool("second", {}, { timeout: 60_000 })
        )
      )
      const third = yield* start(session.callTool("third", {}, { timeout: 200 }))
      yield* TestClock.adjust(200)
      yield* settled
      assert.isDefined(third.pollUnsafe(), "the timer misses the third deadline")
    }))

  it.effect("[TMO-02] law 1: a deadline that is set at a timeout can precede the other deadlines", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer()
      const second = yield* start(
        Effect.catch(
          session.callTool("first", {}, { timeout: 100 }),
          () => session.callTool("second", {}, { timeout: 50 })
        )
      )
      yield* start(session.callTool("third", {}, { timeout: 1000 }))
      yield* TestClock.adjust(150)
      yield* settled
      assert.isDefined(second.pollUnsafe(), "the timer misses the second deadline until the third")
    }))

  it.effect("[TMO-02] a response to one request does not move the deadline of another", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const early = yield* start(session.callTool("x", {}, { timeout: 100 }))
      const late = yield* start(session.callTool("x", {}, { timeout: 300 }))
      yield* settled
      yield* raw.send(JsonRpc.success(1, text("in time")))
      yield* Fiber.join(early)
      yield* TestClock.adjust(299)
      assert.isUndefined(late.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* reasonOf(late), timeout(300))
    }))

  it.effect("[TMO-03] [CAN-01] a request that times out before it is sent is neither sent nor cancelled", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawServer()
      link.stall()
      const stuck = yield* start(session.callTool("stuck", {}, { timeout: 2000 }))
      const waiting = yield* start(session.callTool("waiting", {}, { timeout: 1000 }))
      const longer = yield* start(session.callTool("patient", {}, { timeout: 5000 }))
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* reasonOf(waiting), timeout(1000))
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* reasonOf(stuck), timeout(2000))
      link.resume()
      yield* settled
      const sent = raw.received.slice(2).map((message) => "params" in message ? message.params : undefined)
      assert.deepStrictEqual(sent, [
        { name: "stuck", arguments: {} },
        { name: "patient", arguments: {} },
        { requestId: 1, reason: "no response within 2000 ms" }
      ])
      assert.isUndefined(longer.pollUnsafe())
    }))

  it.effect("[CAN-01] a request whose caller is interrupted before it is sent is neither sent nor cancelled", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawServer()
      link.stall()
      yield* start(session.ping())
      const waiting = yield* start(session.callTool("waiting"))
      yield* Fiber.interrupt(waiting)
      link.resume()
      yield* settled
      assert.deepStrictEqual(record.of("CancelSent"), [])
      assert.deepStrictEqual(names(raw.received).slice(2), ["ping"])
    }))

  const callWithin1s = (
    session: ClientSession.ClientSessionShape,
    consumer: (step: Progress.Progress) => Effect.Effect<void>
  ) => session.callTool("x", {}, { timeout: 1000, onProgress: consumer })

  const step = (progress: number) => JsonRpc.notification("notifications/progress", { progressToken: 1, progress })

  it.effect("[TMO-05] [TMO-06] progress does not move the deadline", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const call = yield* start(callWithin1s(session, () => Effect.void))
      yield* TestClock.adjust(900)
      yield* raw.send(step(1))
      yield* TestClock.adjust(99)
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* reasonOf(call), timeout(1000))
    }))

  it.effect("[TMO-03] law 1: a call whose consumer of progress never returns times out and is cancelled", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const call = yield* start(callWithin1s(session, () => Effect.never))
      yield* settled
      yield* raw.send(step(1))
      yield* TestClock.adjust(1000)
      yield* settled
      assert.deepStrictEqual(cancelled(raw.received).map((params) => params?.["requestId"]), [1])
      assert.isDefined(call.pollUnsafe(), "the call outlives its deadline")
      assert.deepStrictEqual(yield* reasonOf(call), timeout(1000))
    }))

  it.effect("[TMO-03] a response before the deadline counts, even if the consumer of progress is slow", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const call = yield* start(callWithin1s(session, () => Effect.sleep(3000)))
      yield* settled
      yield* raw.send(step(1), step(2), JsonRpc.success(1, text("in time")))
      yield* TestClock.adjust(6000)
      assert.deepStrictEqual(yield* Fiber.join(call), text("in time"))
      assert.deepStrictEqual(cancelled(raw.received), [])
    }))
})
