import { JsonRpc } from "@effect-mcp/protocol"
import {
  ClientRequestContext,
  MemoryTransport,
  RequestContext,
  StatelessServer,
  type Transport
} from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import { leak } from "./support/leakedContext.ts"
import {
  call,
  codeOf,
  forms,
  info,
  names,
  performHandshake,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

/** Returns the params of all notifications of progress. */
const progressOf = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) =>
    "method" in message && message.method === "notifications/progress" ? [message.params] : []
  )

/** Records messages in groups: each group has the messages that one turn of the event loop sends. */
const makeTurnRecorder = () => {
  const turns: Array<Array<JsonRpc.Message>> = []
  let turn: Array<JsonRpc.Message> | undefined
  return {
    turns,
    record: (message: JsonRpc.Frame) => {
      if (turn === undefined) {
        turns.push(turn = [])
        queueMicrotask(() => {
          turn = undefined
        })
      }
      turn.push(...JsonRpc.messages(message))
    }
  }
}

/** Replaces the server's end by one that records the sent messages by turn. */
const recordedPair = (pair: Effect.Effect<MemoryTransport.Pair>) =>
  Effect.map(pair, ({ client, server }) => {
    const { record, turns } = makeTurnRecorder()
    const recordedServer: Transport.Transport["Service"] = {
      connect: Effect.map(server.connect, (connection) => ({
        ...connection,
        send: (outbound) => {
          record(outbound.message)
          return connection.send(outbound)
        }
      }))
    }
    return { pair: Effect.succeed({ client, server: recordedServer }), turns }
  })

describe("a reply after progress", () => {
  const handlers = tools({
    x: Effect.as(RequestContext.progress({ progress: 1 }), text("done")),
    fails: Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.die(new Error("broken"))),
    quiet: Effect.succeed(text("done"))
  })
  const token = { _meta: { progressToken: "t" } }

  for (const { form, pair } of forms) {
    it.effect(`[PRG-04] is sent in the turn after the last step (${form})`, () =>
      Effect.gen(function*() {
        const { pair: recordedServer, turns } = yield* recordedPair(pair)
        const { raw } = yield* withRawClient({ pair: recordedServer, handlers })
        yield* performHandshake(raw)
        for (const name of ["x", "fails"]) {
          turns.length = 0
          yield* raw.send(call(name, name, token))
          yield* settled
          assert.deepStrictEqual(turns.map(names), [["notifications/progress"], [name]])
        }
      }).pipe(Effect.provide(Logger.layer([]))))
  }

  it.effect("is sent at once if no step was sent", () =>
    Effect.gen(function*() {
      const { pair, turns } = yield* recordedPair(MemoryTransport.make())
      const { link, raw } = yield* withRawClient({ pair, handlers })
      yield* performHandshake(raw)
      turns.length = 0
      link.deliver(call(1, "x"))
      link.deliver(call(2, "quiet", token))
      assert.deepStrictEqual(turns.map(names), [[1, 2]])
    }))

  it.effect("[CAN-07] law 5: stays if a cancellation or another request with its id arrives", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawClient({ handlers })
      yield* performHandshake(raw)
      link.deliver(call(1, "x", token))
      link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      link.deliver(call(1, "quiet"))
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      yield* settled
      const replies = (yield* raw.pending).filter((message) => !("method" in message))
      assert.deepStrictEqual(replies.map((reply) => [names([reply])[0], codeOf(reply)]), [[1, -32600], [1, undefined]])
      assert.strictEqual(record.of("CancelIgnored").length, 1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  for (const gracefulTimeout of [0, "5 seconds"] as const) {
    it.effect(`law 5: is sent before the session closes (gracefulTimeout: ${gracefulTimeout})`, () =>
      Effect.gen(function*() {
        const { link, raw, session } = yield* withRawClient({
          handlers,
          server: { limits: { gracefulTimeout } }
        })
        yield* performHandshake(raw)
        link.deliver(call(1, "x", token))
        const closing = yield* start(session.close)
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(closing)
        assert.deepStrictEqual(names(yield* raw.pending), ["notifications/progress", 1])
      }))
  }

  it.effect("of a client is sent in the turn after the last step", () =>
    Effect.gen(function*() {
      const { record, turns } = makeTurnRecorder()
      const { link, session } = yield* withRawServer({
        client: {
          handlers: {
            "roots/list": () =>
              Effect.as(
                Effect.flatMap(ClientRequestContext.ClientRequestContext, ({ progress }) => progress({ progress: 1 })),
                { roots: [] }
              )
          }
        },
        pair: Effect.map(MemoryTransport.make(), ({ client, server }) => ({
          server,
          client: {
            connect: Effect.map(client.connect, (connection) => ({
              ...connection,
              send: (outbound) => {
                record(outbound.message)
                return connection.send(outbound)
              }
            }))
          }
        }))
      })
      turns.length = 0
      link.deliver(JsonRpc.request("q", "roots/list", token))
      yield* settled
      assert.deepStrictEqual(turns.map(names), [["notifications/progress"], ["q"]])
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("of a stateless server is sent in the turn after the last step", () =>
    Effect.gen(function*() {
      const { record, turns } = makeTurnRecorder()
      const server = yield* StatelessServer.make(handlers, { info })
      const reply = yield* start(
        Effect.map(
          server.handle(call(1, "x", token), {
            revision: "2025-11-25",
            notify: (message) => Effect.sync(() => record(message))
          }),
          (reply) => reply === undefined ? undefined : record(reply)
        )
      )
      yield* Fiber.join(reply)
      assert.deepStrictEqual(turns.map(names), [["notifications/progress"], [1]])
    }))
})

describe("progress of a handler", () => {
  it.effect("[PRG-03] a total that is not finite is not sent, and does not exempt a step from the interval", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({
        handlers: tools({
          reporting: Effect.gen(function*() {
            const totals = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
            for (const [index, total] of totals.entries()) {
              yield* RequestContext.progress({ progress: index + 1, total, message: "working" })
            }
            return text("done")
          })
        }),
        server: { limits: { progressInterval: "100 millis" } }
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "reporting", { _meta: { progressToken: "t" } }))
      yield* settled
      assert.deepStrictEqual(progressOf(yield* raw.pending), [{
        progressToken: "t",
        progress: 1,
        message: "working"
      }])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), ["TooSoon", "TooSoon"])
    }))

  it.effect("[PRG-06] a step beyond the total is sent, like one that reaches it", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({
          reporting: Effect.gen(function*() {
            yield* RequestContext.progress({ progress: 1, total: 6 })
            yield* RequestContext.progress({ progress: 7, total: 6 })
            return text("done")
          })
        }),
        server: { limits: { progressInterval: "100 millis" } }
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "reporting", { _meta: { progressToken: "t" } }))
      yield* settled
      assert.deepStrictEqual(progressOf(yield* raw.pending).map((params) => params?.["progress"]), [1, 7])
    }))

  it.effect("[PRG-06] steps within progressInterval are dropped, except one that reaches the total", () =>
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
      yield* performHandshake(raw)
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
        yield* performHandshake(raw)
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

  it.effect("[PRG-01] 0 and the empty string are valid tokens", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ x: steps(1) }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x", { _meta: { progressToken: 0 } }))
      yield* raw.send(call(2, "x", { _meta: { progressToken: "" } }))
      assert.deepStrictEqual(progressOf(yield* raw.pending).map((params) => params?.["progressToken"]), [0, ""])
    }))

  it.effect("[PRG-04] is not sent if the request has no token", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({ handlers: tools({ x: steps(1, 2, 2) }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      yield* raw.send(call(2, "x", { _meta: {} }))
      assert.deepStrictEqual(names(yield* raw.pending), [1, 2])
      assert.deepStrictEqual(record.of("ProgressDropped"), [])
    }))

  it.effect("[PRG-01] an invalid token is rejected before the handler runs", () =>
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
      yield* performHandshake(raw)
      for (const progressToken of [null, 1.5, {}, [1], true]) {
        yield* raw.send(call("x", "x", { _meta: { progressToken } }))
        assert.strictEqual(codeOf(yield* raw.response), -32602, JSON.stringify(progressToken))
      }
      assert.strictEqual(ran, 0)
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[PRG-03] a step that does not grow is dropped with an event", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({ handlers: tools({ x: steps(-5, -5, 0, 0.1, 0.1, 3, 2) }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x", { _meta: { progressToken: 1 } }))
      assert.deepStrictEqual(progressOf(yield* raw.pending).map((params) => params?.["progress"]), [-5, 0, 0.1, 3])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), [
        "NotIncreasing",
        "NotIncreasing",
        "NotIncreasing"
      ])
    }))

  it.effect("[PRG-03] a step that is not finite is dropped, and later steps are sent", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({
        handlers: tools({ x: steps(1, Number.NaN, 2, Number.NEGATIVE_INFINITY, 1, Number.POSITIVE_INFINITY, 3) })
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x", { _meta: { progressToken: 1 } }))
      assert.deepStrictEqual(progressOf(yield* raw.pending).map((params) => params?.["progress"]), [1, 2, 3])
      assert.strictEqual(record.of("ProgressDropped").length, 4)
    }))

  it.effect("[PRG-05] a step after the reply is dropped with an event", () =>
    Effect.gen(function*() {
      const { effect, leaked } = leak()
      const { raw, record } = yield* withRawClient({
        handlers: tools({ leak: effect }),
        server: { capabilities: { logging: {} } }
      })
      yield* performHandshake(raw)
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

  it.effect("[PRG-05] [CAN-04] a step after a cancellation is dropped, even if the handler continues", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({
        handlers: tools({ x: Effect.uninterruptible(Effect.andThen(Effect.sleep(10), steps(1, 2))) })
      })
      yield* performHandshake(raw)
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
