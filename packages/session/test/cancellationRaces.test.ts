import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { closedFor, requested } from "./support/closing.ts"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  codeOf,
  connected,
  names,
  performHandshake,
  reasonOf,
  settled,
  start,
  text,
  tools,
  traced,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("races with cancellations", () => {
  it.effect("[CAN-04] law 8: a handler that causes its own cancellation while it starts is interrupted", () =>
    Effect.gen(function*() {
      let cancel = () => {}
      const { seen, effect } = traced(Effect.never)
      const { link, raw, record, session } = yield* withRawClient({
        handlers: tools({
          x: Effect.suspend(() => {
            cancel()
            return effect
          })
        })
      })
      cancel = () => link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* performHandshake(raw)
      link.deliver(call(1, "x"))
      yield* settled
      assert.notInclude(seen, "finished")
      assert.strictEqual(record.of("Cancelled").length, 1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[CAN-05] [CAN-07] a cancellation after the reply is ignored", () =>
    Effect.gen(function*() {
      const { link, raw, record } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* performHandshake(raw)
      link.deliver(call(1, "x"))
      link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      assert.deepStrictEqual(record.of("CancelIgnored").map(({ id }) => id), [1])
    }))

  it.effect("[CAN-04] [CAN-07] the reply of a cancelled handler that cannot be interrupted is not sent", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient({
        handlers: tools({ x: Effect.uninterruptible(Effect.as(Effect.sleep(100), text("x"))) })
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1, reason: "not needed" }))
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      yield* TestClock.adjust(100)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(record.of("Cancelled"), [
        { _tag: "Cancelled", method: "tools/call", id: 1, reason: "not needed" }
      ])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[CAN-07] law 5: the id of a cancelled request is free at once", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({
          slow: Effect.uninterruptible(Effect.as(Effect.sleep(100), text("old"))),
          x: Effect.succeed(text("new"))
        })
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "slow"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* raw.send(call(1, "x"))
      yield* TestClock.adjust(100)
      yield* settled
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* raw.pending, [JsonRpc.success(1, text("new"))])
    }))

  it.effect("[CAN-07] law 5: a duplicate id is rejected, and the first request can still be cancelled", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.never)
      const { raw, session } = yield* withRawClient({ handlers: tools({ wait: effect }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "wait"))
      yield* raw.send(call(1, "wait"))
      assert.strictEqual(codeOf(yield* raw.response), -32600)
      assert.deepStrictEqual(seen, ["started"])
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: "1" }))
      assert.deepStrictEqual(seen, ["started"])
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual(seen, ["started", "interrupted"])
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[PING-01] law 5: a ping with an id in flight, or with invalid params, is rejected", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "wait"))
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      assert.strictEqual(codeOf(yield* raw.response), -32600)
      yield* raw.send(JsonRpc.request(2, "ping", { _meta: 1 }))
      assert.strictEqual(codeOf(yield* raw.response), -32602)
      yield* raw.send(JsonRpc.request(3, "ping", { _meta: { progressToken: 1 }, more: 1 }))
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(3, {}))
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
    }))

  it.effect("[CAN-05] [CAN-09] invalid cancellations, and a cancellation of initialize, have no effect", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.never)
      const { link, raw, record } = yield* withRawClient({ handlers: tools({ wait: effect }) })
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 0 }))
      yield* performHandshake(raw)
      yield* raw.send(call(1, "wait"))
      for (
        const params of [undefined, {}, { requestId: null }, { requestId: [1] }, { requestId: 1.5 }, { requestId: 0 }]
      ) {
        yield* raw.send(JsonRpc.notification("notifications/cancelled", params))
      }
      link.deliver({ jsonrpc: "2.0", method: "notifications/cancelled", params: [1] })
      yield* settled
      assert.deepStrictEqual(seen, ["started"])
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.strictEqual(record.of("Cancelled").length, 0)
    }))

  it.effect("[CAN-06] [CAN-07] a response that crosses the cancellation is reported as late", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer({
        script: (message) =>
          "method" in message && message.method === "notifications/cancelled"
            ? [JsonRpc.success(1, text("crossing"))]
            : []
      })
      const calling = yield* start(session.callTool("x"))
      yield* settled
      yield* Fiber.interrupt(calling)
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Late"])
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("[CAN-01] [CAN-07] a caller that is interrupted after the response sends no cancellation", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const calling = yield* start(session.callTool("x", {}, { onProgress: () => Effect.never }))
      yield* settled
      yield* raw.send(
        JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }),
        JsonRpc.success(1, text("x"))
      )
      yield* Fiber.interrupt(calling)
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call"])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[CAN-04] law 8: an interruption of the caller sends one cancellation", () =>
    Effect.gen(function*() {
      const { client, links, records, server } = yield* connected({ handlers: tools({ wait: Effect.never }) })
      const calling = yield* start(client.callTool("wait"))
      yield* settled
      yield* Fiber.interrupt(calling)
      yield* Fiber.interrupt(calling)
      yield* settled
      assert.deepStrictEqual(names(links.client.sent).slice(2), ["tools/call", "notifications/cancelled"])
      assert.deepStrictEqual(records.server.of("Cancelled").map(({ id, reason }) => [id, reason]), [[
        1,
        "the caller no longer waits"
      ]])
      assert.deepStrictEqual([yield* client.inFlight, yield* server.inFlight], [
        { sent: 0, served: 0 },
        { sent: 0, served: 0 }
      ])
    }))

  it.effect("law 9: a consumer of progress that dies fails only its call, which is cancelled", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ script: RawServer.replyToPings })
      const calling = yield* start(session.callTool("x", {}, { onProgress: () => Effect.die("broken") }))
      yield* settled
      yield* raw.send(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }))
      const exit = yield* Fiber.await(calling)
      assert.isTrue(Exit.hasDies(exit))
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
      yield* session.ping()
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("law 9: a consumer of progress that throws fails only its call", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ script: RawServer.replyToPings })
      const calling = yield* start(
        session.callTool("x", {}, {
          onProgress: () => {
            throw new Error("broken")
          }
        })
      )
      yield* settled
      yield* raw.send(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }))
      assert.isTrue(Exit.hasDies(yield* Fiber.await(calling)))
      yield* session.ping()
    }))

  it.effect("law 1: the end of the session ends a call whose consumer of progress never returns", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ script: RawServer.replyToPings })
      const calling = yield* start(session.callTool("x", {}, { onProgress: () => Effect.never }))
      yield* settled
      yield* raw.send(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }))
      yield* session.ping()
      yield* session.close
      yield* settled
      assert.isDefined(calling.pollUnsafe(), "the call has not ended with its session")
      assert.deepStrictEqual(yield* reasonOf(calling), closedFor(requested))
    }))
})
