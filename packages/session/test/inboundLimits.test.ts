import { ErrorCode, JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, type Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Weight from "../src/internal/engine/Weight.ts"
import {
  call,
  codeOf,
  forms,
  logMessage,
  names,
  performHandshake,
  server,
  settled,
  start,
  text,
  tools,
  upTo,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("requests beyond the limits", () => {
  for (const { form, pair } of forms) {
    it.effect(`law 12: one more than maxIncomingRequests is rejected as Overloaded, with the limit (${form})`, () =>
      Effect.gen(function*() {
        const { raw, record, session } = yield* withRawClient({
          pair,
          handlers: tools({ wait: Effect.never, x: Effect.succeed(text("x")) }),
          server: { limits: { maxIncomingRequests: 2 } }
        })
        yield* performHandshake(raw)
        yield* raw.send(call(1, "wait"))
        yield* raw.send(call(2, "wait"))
        yield* raw.send(call(3, "x"))
        assert.deepStrictEqual<unknown>(yield* raw.response, {
          jsonrpc: "2.0",
          id: 3,
          error: { code: -31010, message: "Overloaded: 2 requests are in flight, the limit" }
        })
        assert.deepStrictEqual(record.of("Rejected"), [
          { _tag: "Rejected", method: "tools/call", id: 3, code: ErrorCode.Overloaded }
        ])
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 2 })
        yield* raw.send(JsonRpc.request(4, "ping", undefined))
        assert.isFalse(JsonRpc.isFailure(yield* raw.response))
        yield* raw.send(call(1, "x"))
        assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidRequest)
        yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 2 }))
        yield* raw.send(call(5, "x"))
        assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(5, text("x")))
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      }))
  }

  it.effect("law 12: one beyond maxIncomingBytes is rejected as Overloaded, on a transport with bytes", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ wait: Effect.never, x: Effect.succeed(text("x")) }),
        server: { limits: { maxIncomingBytes: 3 * Weight.of(call(1, "wait")) - 1 } }
      })
      yield* performHandshake(raw)
      link.deliver(call(1, "wait"), 1)
      link.deliver(call(2, "wait"), 1)
      link.deliver(call(3, "wait"), 1)
      assert.deepStrictEqual<unknown>(yield* raw.response, {
        jsonrpc: "2.0",
        id: 3,
        error: {
          code: -31010,
          message: `Overloaded: the requests in flight would take more than ${
            3 * Weight.of(call(1, "wait")) - 1
          } bytes of memory, the limit`
        }
      })
      link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: 2 }), 1_000)
      link.deliver(call(4, "x"), 1)
      assert.deepStrictEqual(yield* raw.response, JsonRpc.success(4, text("x")))
      link.deliver(call(5, "x"), 1)
      assert.deepStrictEqual(yield* raw.response, JsonRpc.success(5, text("x")))
      // The text has fifteen hundred bytes; each of its arrays takes 56 bytes of memory.
      link.deliver(call(6, "x", { arguments: { x: Array.from({ length: 500 }, () => []) } }), 1)
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.Overloaded)
      // Without bytes the memory is not counted.
      link.deliver(call(7, "x", { arguments: { x: Array.from({ length: 500 }, () => []) } }))
      assert.deepStrictEqual(yield* raw.response, JsonRpc.success(7, text("x")))
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
    }))

  it.effect("law 12: by default, 256 requests can be in flight", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* performHandshake(raw)
      for (const id of upTo(258)) yield* raw.send(call(id, "wait"))
      assert.deepStrictEqual((yield* raw.pending).map((message) => [names([message])[0], codeOf(message)]), [
        [257, -31010],
        [258, -31010]
      ])
    }))

  it.effect("law 12: a cancelled handler counts until it has ended", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({ slow: Effect.uninterruptible(Effect.as(Effect.sleep(100), text("x"))) }),
        server: { limits: { maxIncomingRequests: 1 } }
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "slow"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* raw.send(call(2, "slow"))
      assert.strictEqual(codeOf(yield* raw.response), -31010)
      yield* TestClock.adjust(100)
      yield* raw.send(call(3, "slow"))
      yield* TestClock.adjust(100)
      assert.strictEqual((yield* raw.response).id, 3)
    }))
})

describe("progress beyond the limits", () => {
  const callWithProgress = Effect.fnUntraced(function*(progress: number | undefined, steps: number) {
    const delivered: Array<number> = []
    const { raw, record, session } = yield* withRawServer({
      client: progress === undefined ? {} : { limits: { maxProgressSteps: progress } }
    })
    const calling = yield* start(
      session.callTool("x", {}, {
        onProgress: (step) =>
          Effect.andThen(
            Effect.sync(() => delivered.push(step.progress)),
            step.progress === 1 ? Effect.sleep(50) : Effect.void
          )
      })
    )
    yield* settled
    yield* raw.send(
      ...upTo(steps).map((step) =>
        JsonRpc.notification("notifications/progress", { progressToken: 1, progress: step })
      ),
      JsonRpc.success(1, text("x"))
    )
    yield* TestClock.adjust(50)
    assert.deepStrictEqual(yield* Fiber.join(calling), text("x"))
    return { delivered, dropped: record.of("ProgressDropped").map(({ reason }) => reason) }
  })

  it.effect("[PRG-06] law 4: 256 steps wait for a slow consumer; then the oldest are dropped, with an event each", () =>
    Effect.gen(function*() {
      const { dropped, delivered } = yield* callWithProgress(undefined, 300)
      assert.deepStrictEqual(dropped, Array.from({ length: 300 - 1 - 256 }, () => "Overflow" as const))
      assert.deepStrictEqual(delivered, [1, ...upTo(300).slice(300 - 256)])
    }))

  it.effect("[PRG-06] law 4: maxProgressSteps steps wait, and none is dropped before", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* callWithProgress(4, 5), { delivered: [1, 2, 3, 4, 5], dropped: [] })
      assert.deepStrictEqual(yield* callWithProgress(4, 7), {
        delivered: [1, 4, 5, 6, 7],
        dropped: ["Overflow", "Overflow"]
      })
    }))

  it.effect("[PRG-04] law 4: a fast consumer receives all of a thousand steps before the response", () =>
    Effect.gen(function*() {
      const delivered: Array<number> = []
      const { raw, record, session } = yield* withRawServer()
      const calling = yield* start(
        session.callTool("x", {}, { onProgress: (step) => Effect.sync(() => delivered.push(step.progress)) })
      )
      yield* settled
      for (const batch of upTo(10)) {
        yield* raw.send(
          ...upTo(100).map((step) =>
            JsonRpc.notification("notifications/progress", { progressToken: 1, progress: batch * 100 + step })
          )
        )
        yield* settled
      }
      yield* raw.send(JsonRpc.success(1, text("x")))
      yield* Fiber.join(calling)
      assert.deepStrictEqual(record.of("ProgressDropped"), [])
      assert.deepStrictEqual(delivered, Array.from({ length: 1000 }, (_, index) => 101 + index))
    }))
})

describe("memory for a slow consumer, on a transport with bytes", () => {
  const padding = "x".repeat(1000)
  // Two messages with the padding fit, and three do not.
  const limits = { maxNotificationBytes: 6000 }

  it.effect("law 12: of progress is limited", () =>
    Effect.gen(function*() {
      const { link, record, session } = yield* withRawServer({ client: { limits } })
      const delivered: Array<number> = []
      const calling = yield* start(session.callTool("x", {}, {
        onProgress: ({ progress }) => Effect.delay(Effect.sync(() => delivered.push(progress)), progress === 1 ? 10 : 0)
      }))
      yield* settled
      for (const progress of upTo(4)) {
        link.deliver(
          JsonRpc.notification("notifications/progress", { progressToken: 1, progress, message: padding }),
          50
        )
      }
      link.deliver(JsonRpc.success(1, text("x")))
      yield* TestClock.adjust(10)
      yield* Fiber.join(calling)
      assert.deepStrictEqual([delivered, record.of("ProgressDropped")], [[1, 3, 4], [
        { _tag: "ProgressDropped", method: "tools/call", progressToken: 1, reason: "Overflow" }
      ]])
    }))

  it.effect("law 12: of notifications is limited, for their handlers and for each stream", () =>
    Effect.gen(function*() {
      const handled: Array<unknown> = []
      const { link, record, session } = yield* withRawServer({
        client: {
          limits,
          handlers: {
            "notifications/message": ({ data }) => Effect.delay(Effect.sync(() => handled.push(data)), 10)
          }
        }
      })
      const streamed: Array<unknown> = []
      const all: Array<unknown> = []
      const collectSlowly = <A>(to: Array<unknown>) =>
        Stream.runForEach((item: A) => Effect.delay(Effect.sync(() => to.push(item)), 10))
      yield* start(collectSlowly<{ readonly data: unknown }>(streamed)(session.notifications("notifications/message")))
      yield* start(collectSlowly<JsonRpc.Message>(all)(session.messages))
      yield* settled
      for (const id of upTo(5)) link.deliver(logMessage({ id, padding }), 40)
      yield* TestClock.adjust(1000)
      // The consumer has the first, and two have room.
      const expected = [1, 4, 5].map((id) => ({ id, padding }))
      assert.deepStrictEqual(handled, expected)
      assert.deepStrictEqual(streamed, expected.map((data) => ({ level: "info", data })))
      assert.deepStrictEqual(all, expected.map(logMessage))
      assert.strictEqual(record.of("NotificationIgnored").length, 2)
    }))

  it.effect("law 12: of unmatched responses is limited for consumers of events", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer({ client: { limits } })
      const read: Array<unknown> = []
      yield* start(Stream.runForEach(session.events, (event) =>
        Effect.delay(
          Effect.sync(() => read.push("response" in event && event.response.id)),
          10
        )))
      yield* settled
      for (const id of upTo(5)) {
        link.deliver(JsonRpc.success(`unknown ${id}`, { padding }), 40)
      }
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(read, ["unknown 1", "unknown 4", "unknown 5"])
    }).pipe(Effect.provide(Logger.layer([]))))
})

describe("error replies to malformed frames", () => {
  it.effect("law 12: are at most 10 per second", () =>
    Effect.gen(function*() {
      const { link, raw, record } = yield* withRawClient()
      yield* performHandshake(raw)
      for (const id of upTo(15)) link.deliver({ jsonrpc: "1.0", id, method: "ping" })
      for (const text of ["a", "b", "c"]) link.deliverUnreadable({ _tag: "NotJson", text })
      assert.deepStrictEqual(names(yield* raw.pending), upTo(10))
      assert.deepStrictEqual([record.of("Malformed").length, record.of("BadFrame").length], [15, 3])
      yield* raw.send(JsonRpc.request("p", "ping", undefined))
      yield* raw.send(JsonRpc.request("u", "unknown", undefined))
      assert.deepStrictEqual(names(yield* raw.pending), ["p", "u"])
      yield* TestClock.adjust(999)
      link.deliverUnreadable({ _tag: "NotJson", text: "d" })
      assert.deepStrictEqual(yield* raw.pending, [])
      yield* TestClock.adjust(1)
      for (const text of upTo(12)) link.deliverUnreadable({ _tag: "NotJson", text: `${text}` })
      assert.strictEqual((yield* raw.pending).length, 10)
    }))

  it.effect("law 12: are at most maxMalformedRepliesPerSecond, zero included", () =>
    Effect.gen(function*() {
      for (const maxMalformedRepliesPerSecond of [0, 3]) {
        const { link, raw } = yield* withRawClient({ server: { limits: { maxMalformedRepliesPerSecond } } })
        yield* performHandshake(raw)
        for (const id of upTo(5)) link.deliver({ jsonrpc: "1.0", id, method: "ping" })
        assert.strictEqual((yield* raw.pending).length, maxMalformedRepliesPerSecond)
      }
    }))

  it.effect("law 12: are limited at a client as well", () =>
    Effect.gen(function*() {
      const { link, raw } = yield* withRawServer()
      for (const id of upTo(20)) link.deliver({ jsonrpc: "1.0", id, method: "ping" })
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), upTo(10))
    }))

  it.effect("law 12: beyond the limit, the streams of malformed requests are closed", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      yield* server(pair.server, {}, { limits: { maxMalformedRepliesPerSecond: 1 } })
      const connection = yield* pair.client.connect
      const replies: Array<unknown> = []
      yield* start(connection.run(({ frame }) => replies.push(Result.getOrUndefined(frame))))
      const request = connection.request
      assert.isDefined(request)
      // The ids are not integers.
      const malformed = (id: number) => start(request({ jsonrpc: "2.0", id, method: "x" }))
      const streams = [yield* malformed(1.5), yield* malformed(2.5), yield* malformed(3.5)]
      yield* settled
      assert.strictEqual(replies.length, 1)
      assert.deepStrictEqual(streams.map((stream) => stream.pollUnsafe() !== undefined), [true, true, true])
    }))

  it.effect("[STD-04] law 12: are not sent by a client, which closes the streams of unreadable frames", () =>
    Effect.gen(function*() {
      const ended: Array<Transport.StreamOrigin> = []
      let deliver: (inbound: Transport.Inbound) => void = () => {}
      const { link } = yield* withRawServer({
        pair: Effect.map(MemoryTransport.make(), (pair) => ({
          ...pair,
          client: {
            connect: Effect.map(pair.client.connect, (connection) => ({
              ...connection,
              run: (take) => {
                deliver = take
                return connection.run(take)
              },
              endExchange: (origin) => ended.push(origin)
            }))
          }
        }))
      })
      const before = link.sent.length
      const origins = [{ name: "unreadable" }, { name: "too large" }, { name: "malformed" }]
      const frames = [
        Result.fail({ _tag: "NotJson", text: "{" } as const),
        Result.fail({ _tag: "TooLarge", limitBytes: 1 } as const),
        Result.succeed({ jsonrpc: "2.0" })
      ]
      for (const [index, origin] of origins.entries()) deliver({ frame: frames[index] ?? Result.succeed(null), origin })
      assert.deepStrictEqual(ended, origins)
      assert.strictEqual(link.sent.length, before)
    }))
})
