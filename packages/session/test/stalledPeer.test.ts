import { type CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { closedEvents, closedFor } from "./support/closing.ts"
import {
  call,
  connected,
  forms,
  performHandshake,
  reasonOf,
  settled,
  start,
  tools,
  traced,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("a peer that reads no bytes", () => {
  // If each request has a stream, only the stream is aborted: see `lanes.test.ts`.
  for (const { form, pair } of forms.filter(({ form }) => form !== "a stream for each request")) {
    it.effect(`ends the session as PeerStalled after 30 seconds with one message (${form})`, () =>
      Effect.gen(function*() {
        const { effect, seen } = traced(Effect.never)
        const census = FiberCount.make()
        const { links, records, server } = yield* census.count(connected({ handlers: tools({ wait: effect }), pair }))
        links.server.deliver(call("w", "wait"))
        links.server.stall()
        const ping = yield* start(server.ping({ timeout: "Infinity" }))
        yield* settled
        yield* TestClock.adjust(29_999)
        assert.isUndefined(ping.pollUnsafe())
        yield* TestClock.adjust(1)
        const reason: CloseReason.CloseReason = { _tag: "PeerStalled", afterMillis: 30_000 }
        assert.deepStrictEqual(yield* reasonOf(ping), closedFor(reason))
        assert.deepStrictEqual(yield* server.closed, reason)
        assert.deepStrictEqual(seen, ["started", "interrupted"])
        assert.deepStrictEqual(closedEvents(records.server).map((event) => event.reason), [reason])
      }))
  }

  it.effect("ends the session as PeerStalled after writeTimeout, also with a reply", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ server: { limits: { writeTimeout: "1 second" } } })
      yield* performHandshake(raw)
      link.stall()
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* session.closed, { _tag: "PeerStalled", afterMillis: 1000 })
    }))

  it.effect("is not stalled while it reads a message within each writeTimeout", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        server: { capabilities: { logging: {} }, limits: { writeTimeout: "1 second" } }
      })
      yield* performHandshake(raw)
      link.stall()
      for (const data of [1, 2, 3, 4, 5]) yield* session.log({ level: "info", data })
      for (let count = 0; count < 5; count++) {
        yield* TestClock.adjust(999)
        link.releaseOne()
        yield* settled
      }
      assert.strictEqual((yield* raw.pending).length, 5)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("is not stalled while the session sends nothing", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      link.stall()
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("law 2: leaves no timer after the session ends, even if requests have deadlines", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { link, session } = yield* census.count(withRawServer())
      link.stall()
      const calls = yield* Effect.forEach(
        ["10 minutes", "20 minutes"] as const,
        (deadline) => start(Effect.exit(session.callTool("x", {}, { timeout: deadline })))
      )
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* session.closed)._tag, "PeerStalled")
      yield* Fiber.joinAll(calls)
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("[TMO-02] is detected as stalled while deadlines of requests pass", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      link.stall()
      const calls = yield* Effect.forEach([1, 5, 29, 31], (seconds) =>
        start(Effect.flip(session.callTool("x", {}, { timeout: seconds * 1000 }))))
      yield* TestClock.adjust(29_000)
      assert.deepStrictEqual(
        calls.map((fiber) =>
          fiber.pollUnsafe() !== undefined
        ),
        [true, true, true, false]
      )
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* session.closed, { _tag: "PeerStalled", afterMillis: 30_000 })
      const last = calls[3]
      assert.isDefined(last)
      assert.strictEqual((yield* Fiber.join(last)).reason._tag, "Closed")
    }))
})
