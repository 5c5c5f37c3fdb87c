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
    it.effect(`[TMO-01] [TMO-02] [MSG-27] a request waits 60 seconds, to the millisecond (${form})`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawServer({ pair })
        const call = yield* start(session.callTool("x"))
        yield* TestClock.adjust(59_999)
        assert.isUndefined(call.pollUnsafe())
        assert.deepStrictEqual(cancelled(raw.received), [])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* reasonOf(call), timeout(60_000))
      }))

    it.effect(`[TMO-03] [CAN-08] then the peer is told to cancel it, once, and why (${form})`, () =>
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

  it.effect("[TMO-04] per session", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer({ client: { limits: { requestTimeout: "5 seconds" } } })
      const call = yield* start(session.callTool("x"))
      const patient = yield* start(session.callTool("x", {}, { timeout: 6000 }))
      yield* TestClock.adjust(5000)
      assert.deepStrictEqual(yield* reasonOf(call), timeout(5000))
      assert.isUndefined(patient.pollUnsafe())
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* reasonOf(patient), timeout(6000))
    }))

  it.effect("[TMO-04] per call, in every form a duration takes", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer()
      const calls = yield* Effect.forEach(
        [5, "5 millis", "0.005 seconds", { milliseconds: 5 }] as const,
        (deadline) => start(session.callTool("x", {}, { timeout: deadline }))
      )
      yield* TestClock.adjust(5)
      for (const call of calls) assert.deepStrictEqual(yield* reasonOf(call), timeout(5))
    }))

  it.effect("[TMO-04] a fraction of a millisecond is not none", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const call = yield* start(session.callTool("x", {}, { timeout: 0.25 }))
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* reasonOf(call), timeout(0.25))
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("[TMO-04] \"Infinity\" waits for ever, per call and per session", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ client: { limits: { requestTimeout: "Infinity" } } })
      const one = yield* start(session.callTool("x", {}, { timeout: "Infinity" }))
      const two = yield* start(session.callTool("x"))
      yield* TestClock.adjust("1000 days")
      assert.deepStrictEqual([one.pollUnsafe(), two.pollUnsafe()], [undefined, undefined])
      yield* raw.send(JsonRpc.success(1, text("1")), JsonRpc.success(2, text("2")))
      assert.deepStrictEqual([yield* Fiber.join(one), yield* Fiber.join(two)], [text("1"), text("2")])
    }))

  it.effect("[TMO-04] a deadline of months", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer()
      const call = yield* start(session.callTool("x", {}, { timeout: "90 days" }))
      yield* TestClock.adjust("89 days")
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* reasonOf(call), timeout(90 * 24 * 3600 * 1000))
    }))

  for (const deadline of [0, -1, "0 seconds"] as const) {
    it.effect(`[TMO-04] ${JSON.stringify(deadline)} fails at once, sends nothing, and takes no id`, () =>
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
    it.effect(`[TMO-06] a total of ${totalTimeout} fails at once and sends nothing, as a deadline does`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawServer()
        const error = yield* Effect.flip(session.callTool("x", {}, { totalTimeout }))
        assert.deepStrictEqual(error.reason, timeout(0))
        assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
      }))
  }

  it.effect("[TMO-02] a server's requests have deadlines, too", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ server: { limits: { requestTimeout: 100 } } })
      yield* performHandshake(raw)
      const ping = yield* start(session.ping())
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* reasonOf(ping), timeout(100))
      assert.deepStrictEqual(names(yield* raw.pending), ["ping", "notifications/cancelled"])
    }))

  it.effect("[TMO-02] many deadlines, each at its time, whatever the order they were set in", () =>
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

  it.effect("[TMO-02] law 2: one fiber waits for all of them, and none once nothing is due", () =>
    Effect.gen(function*() {
      // The test's clock warns of its first use from a fiber of its own; not in this census, please.
      yield* TestClock.adjust(1)
      const census = FiberCount.make()
      yield* census.count(
        Effect.gen(function*() {
          const { session } = yield* withRawServer()
          // The handshake's own deadline is still watched for.
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

  it.effect("[TMO-02] law 1: a request sent because another one's time was up has a deadline of its own", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const stubborn = yield* start(
        Effect.catch(
          session.callTool("first", {}, { timeout: 100 }),
          () => session.callTool("second", {}, { timeout: 100 })
        )
      )
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled", "tools/call"])
      yield* TestClock.adjust(100)
      yield* settled
      assert.isDefined(stubborn.pollUnsafe(), "nobody watches the second deadline")
      assert.deepStrictEqual(yield* reasonOf(stubborn), timeout(100))
    }))

  it.effect("[TMO-02] law 1: nor is the deadline of a third one forgotten over that", () =>
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
      assert.isDefined(third.pollUnsafe(), "nobody watches the third deadline")
    }))

  it.effect("[TMO-02] law 1: nor is an earlier one, set because another one's time was up", () =>
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
      assert.isDefined(second.pollUnsafe(), "the second deadline comes with the third")
    }))

  it.effect("[TMO-02] a deadline is not moved by one that was answered", () =>
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

  it.effect("[TMO-03] [CAN-01] a request that was not sent in time is not sent at all, nor cancelled", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawServer()
      link.stall()
      const stuck = yield* start(session.callTool("stuck", {}, { timeout: 2000 }))
      const waiting = yield* start(session.callTool("waiting", {}, { timeout: 1000 }))
      const patient = yield* start(session.callTool("patient", {}, { timeout: 5000 }))
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* reasonOf(waiting), timeout(1000))
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* reasonOf(stuck), timeout(2000))
      link.resume()
      yield* settled
      const said = raw.received.slice(2).map((message) => "params" in message ? message.params : undefined)
      assert.deepStrictEqual(said, [
        { name: "stuck", arguments: {} },
        { name: "patient", arguments: {} },
        { requestId: 1, reason: "no response within 2000 ms" }
      ])
      assert.isUndefined(patient.pollUnsafe())
    }))

  it.effect("[CAN-01] a request whose caller left before it was sent is not sent at all, nor cancelled", () =>
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

  const slowly = (session: ClientSession.ClientSessionShape, sink: (step: Progress.Progress) => Effect.Effect<void>) =>
    session.callTool("x", {}, { timeout: 1000, onProgress: sink })

  const step = (progress: number) => JsonRpc.notification("notifications/progress", { progressToken: 1, progress })

  it.effect("[TMO-05] [TMO-06] progress does not move the deadline", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const call = yield* start(slowly(session, () => Effect.void))
      yield* TestClock.adjust(900)
      yield* raw.send(step(1))
      yield* TestClock.adjust(99)
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* reasonOf(call), timeout(1000))
    }))

  it.effect("[TMO-03] law 1: the deadline ends a call, and cancels it, though its sink never returns", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const call = yield* start(slowly(session, () => Effect.never))
      yield* settled
      yield* raw.send(step(1))
      yield* TestClock.adjust(1000)
      yield* settled
      assert.deepStrictEqual(cancelled(raw.received).map((params) => params?.["requestId"]), [1])
      assert.isDefined(call.pollUnsafe(), "the call outlives its deadline")
      assert.deepStrictEqual(yield* reasonOf(call), timeout(1000))
    }))

  it.effect("[TMO-03] an answer in time is in time, though its sink takes longer than the deadline", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const call = yield* start(slowly(session, () => Effect.sleep(3000)))
      yield* settled
      yield* raw.send(step(1), step(2), JsonRpc.success(1, text("in time")))
      yield* TestClock.adjust(6000)
      assert.deepStrictEqual(yield* Fiber.join(call), text("in time"))
      assert.deepStrictEqual(cancelled(raw.received), [])
    }))
})
