import { JsonRpc, McpError, Revision } from "@effect-mcp/protocol"
import {
  ClientSession,
  type Handlers,
  MemoryTransport,
  RequestContext,
  type RequestError,
  ServerSession
} from "@effect-mcp/session"
import { Census } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import {
  call,
  codeOf,
  connected,
  forms,
  info,
  introduce,
  names,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const logging = { capabilities: { logging: {} } }

/** What the client is told of progress. */
const progressOf = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) =>
    "method" in message && message.method === "notifications/progress" ? [message.params] : []
  )

/** A tool that gives its context away, for whoever wants to use it later. */
const leak = () => {
  const leaked = Deferred.makeUnsafe<RequestContext.RequestContext["Service"]>()
  const effect = Effect.map(RequestContext.RequestContext, (context) => {
    Deferred.doneUnsafe(leaked, Exit.succeed(context))
    return text("leaked")
  })
  return { leaked: Deferred.await(leaked), effect }
}

describe("what a handler knows", () => {
  it.effect("its request's id, method and metadata, and who asks", () =>
    Effect.gen(function*() {
      const { effect, leaked } = leak()
      const { raw } = yield* withRawClient({ handlers: tools({ leak: effect }) })
      yield* introduce(raw, "2025-06-18")
      yield* raw.send(call("seven", "leak", { _meta: { progressToken: 0, "example.org/x": [1] } }))
      const context = yield* leaked
      assert.deepStrictEqual([context.id, context.method, context.meta, context.profile], [
        "seven",
        "tools/call",
        { progressToken: 0, "example.org/x": [1] },
        { revision: "2025-06-18", capabilities: {}, info }
      ])
    }))

  it.effect("no metadata where there is none", () =>
    Effect.gen(function*() {
      const { effect, leaked } = leak()
      const { raw } = yield* withRawClient({ handlers: tools({ leak: effect }) })
      yield* introduce(raw)
      yield* raw.send(call(1, "leak"))
      assert.isUndefined((yield* leaked).meta)
    }))

  it.effect("law 10: each of several at once knows its own", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({
          who: (input) =>
            Effect.gen(function*() {
              yield* Effect.sleep(Number(input["wait"]))
              const { id, meta } = yield* RequestContext.RequestContext
              return text(`${id} ${String(meta?.["name"])}`)
            })
        })
      })
      const calls = yield* Effect.forEach([30, 10, 20], (wait) =>
        start(client.callTool("who", { wait }, { meta: { name: `after ${wait}` } })))
      yield* TestClock.adjust(30)
      assert.deepStrictEqual(yield* Effect.forEach(calls, Fiber.join), [
        text("1 after 30"),
        text("2 after 10"),
        text("3 after 20")
      ])
    }))
})

describe("progress", () => {
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
      const { raw, record } = yield* withRawClient({ handlers: tools({ leak: effect }), server: logging })
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

describe("log", () => {
  it.effect("[LOG-01] without the declared capability it is dropped and seen, and the handler goes on", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient({
        handlers: tools({ x: Effect.as(RequestContext.log({ level: "info", data: "x" }), text("x")) })
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      const [event] = record.of("NotificationIgnored")
      assert.strictEqual(event?.method, "notifications/message")
      assert.include(event?.problem, "logging")
      assert.deepStrictEqual((yield* Effect.flip(session.log({ level: "info", data: "x" }))).reason, {
        _tag: "MissingCapability",
        capability: "logging"
      })
    }))

  it.effect("[LOG-01] with it, it is sent before the result", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({
          x: Effect.as(RequestContext.log({ level: "emergency", data: { a: [1] }, logger: "l" }), text("x"))
        }),
        server: logging
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(yield* raw.pending, [
        JsonRpc.notification("notifications/message", { level: "emergency", data: { a: [1] }, logger: "l" }),
        JsonRpc.success(1, text("x"))
      ])
    }))
})

describe("asking the client", () => {
  const ask = Effect.gen(function*() {
    const { request } = yield* RequestContext.RequestContext
    yield* Effect.mapError(request("ping", {}), (error) => McpError.invalidRequest(error.reason._tag))
    return text("asked")
  })

  it.effect("[SHS-08] law 10: a handler's questions travel on its request's own stream", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      const { client } = yield* connected({ pair: Effect.succeed(pair), handlers: tools({ ask }) })
      assert.deepStrictEqual(
        yield* Effect.forEach([1, 2, 3], () => client.callTool("ask"), { concurrency: "unbounded" }),
        [text("asked"), text("asked"), text("asked")]
      )
    }))

  it.effect("law 8: a question is cancelled when its handler is", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ ask }) })
      yield* introduce(raw)
      yield* raw.send(call(1, "ask"))
      assert.deepStrictEqual(names([yield* raw.receive]), ["ping"])
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* raw.pending, [
        JsonRpc.notification("notifications/cancelled", { requestId: 1, reason: "no longer wanted" })
      ])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[TMO-04] a question has a deadline of its own", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({
          x: Effect.gen(function*() {
            const { request } = yield* RequestContext.RequestContext
            const { reason } = yield* Effect.orDie(Effect.flip(request("ping", {}, { deadline: 20 })))
            return text(reason._tag)
          })
        })
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      yield* TestClock.adjust(20)
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, text("Timeout")))
    }))

  it.effect("[RES-03] a handler tells its client what it has changed, on its own stream, and not after the reply", () =>
    Effect.gen(function*() {
      const later = Deferred.makeUnsafe<RequestContext.RequestContext["Service"]>()
      const uri = "note:///a"
      const { raw } = yield* withRawClient({
        handlers: {
          ...tools({
            change: Effect.gen(function*() {
              yield* Effect.orDie(RequestContext.notify("notifications/resources/updated", { uri }))
              yield* Deferred.succeed(later, yield* RequestContext.RequestContext)
              return text("changed")
            })
          }),
          "resources/subscribe": () => Effect.succeed({})
        },
        // There is no standalone stream here.
        pair: MemoryTransport.makeMultiStream()
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "change"))
      assert.deepStrictEqual(names([yield* raw.receive, yield* raw.receive]), ["notifications/resources/updated", 1])
      const context = yield* Deferred.await(later)
      const { reason } = yield* Effect.flip(context.notify("notifications/resources/updated", { uri }))
      assert.deepStrictEqual(reason, { _tag: "ExchangeEnded" })
    }))

  it.effect("ExchangeEnded: not after the reply", () =>
    Effect.gen(function*() {
      const { effect, leaked } = leak()
      const { raw, session } = yield* withRawClient({ handlers: tools({ leak: effect }) })
      yield* introduce(raw)
      yield* raw.send(call(1, "leak"))
      const context = yield* leaked
      yield* settled
      yield* raw.pending
      const error = yield* Effect.flip(context.request("ping", {}))
      assert.deepStrictEqual([error.method, error.reason], ["ping", { _tag: "ExchangeEnded" }])
      assert.deepStrictEqual(yield* raw.pending, [])
      const ping = yield* start(session.ping())
      assert.deepStrictEqual(yield* raw.receive, { jsonrpc: "2.0", id: 1, method: "ping" })
      yield* Fiber.interrupt(ping)
    }))

  it.effect("ExchangeEnded: nor after a cancellation", () =>
    Effect.gen(function*() {
      const reasons: Array<RequestError.RequestErrorReason> = []
      const { raw } = yield* withRawClient({
        handlers: tools({
          x: Effect.uninterruptible(Effect.gen(function*() {
            const { request } = yield* RequestContext.RequestContext
            yield* Effect.sleep(10)
            reasons.push((yield* Effect.orDie(Effect.flip(request("ping", {})))).reason)
            return text("x")
          }))
        })
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* TestClock.adjust(10)
      yield* settled
      assert.deepStrictEqual(reasons, [{ _tag: "ExchangeEnded" }])
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[SHS-14] NoRoute: what belongs to no request needs a standalone stream", () =>
    Effect.gen(function*() {
      const { client, records, server } = yield* connected({
        pair: MemoryTransport.makeMultiStream(),
        handlers: tools({ x: Effect.succeed(text("x")) })
      })
      const log = yield* Effect.flip(server.log({ level: "info", data: "x" }))
      const ping = yield* Effect.flip(server.ping())
      for (const { reason } of [log, ping]) {
        assert.strictEqual(reason._tag, "SendFailed")
        assert.strictEqual(reason._tag === "SendFailed" && reason.error.reason._tag, "NoRoute")
      }
      assert.deepStrictEqual(records.server.of("SendFailed").map(({ method }) => method), [
        "notifications/message",
        "ping"
      ])
      assert.deepStrictEqual(yield* server.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
      assert.deepStrictEqual(records.client.of("UnmatchedResponse"), [])
    }))

  it.effect("[SHS-14] with a standalone stream it has one", () =>
    Effect.gen(function*() {
      const heard: Array<unknown> = []
      const { server } = yield* connected({
        pair: MemoryTransport.makeMultiStream({ standalone: true }),
        client: { handlers: { "notifications/message": ({ data }) => Effect.sync(() => heard.push(data)) } }
      })
      yield* server.log({ level: "info", data: "x" })
      yield* server.ping()
      assert.deepStrictEqual(heard, ["x"])
    }))

  it.effect("[SHS-08] log and progress of a handler need no standalone stream", () =>
    Effect.gen(function*() {
      const heard: Array<unknown> = []
      const { client } = yield* connected({
        pair: MemoryTransport.makeMultiStream(),
        handlers: tools({
          x: Effect.gen(function*() {
            yield* RequestContext.log({ level: "info", data: "log" })
            yield* RequestContext.progress({ progress: 1 })
            return text("x")
          })
        }),
        client: { handlers: { "notifications/message": ({ data }) => Effect.sync(() => heard.push(data)) } }
      })
      yield* client.callTool("x", {}, { onProgress: ({ progress }) => Effect.sync(() => heard.push(progress)) })
      assert.deepStrictEqual(heard, ["log", 1])
    }))

  it.effect("[CAN-04] on streams, a cancelled request's stream is closed, and the next one is unharmed", () =>
    Effect.gen(function*() {
      const { client, records, server } = yield* connected({
        pair: MemoryTransport.makeMultiStream(),
        handlers: tools({ wait: Effect.never, x: Effect.succeed(text("x")) })
      })
      const waiting = yield* start(client.callTool("wait"))
      yield* settled
      yield* Fiber.interrupt(waiting)
      yield* settled
      assert.deepStrictEqual(yield* server.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
      assert.deepStrictEqual([records.client.of("SendFailed"), records.server.of("SendFailed")], [[], []])
    }))

  it.effect("ExchangeEnded: a stream that the peer ends without a response ends only its request", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      const { raw, session } = yield* withRawServer({ pair: Effect.succeed(pair) })
      const one = yield* start(session.callTool("one"))
      const two = yield* start(session.callTool("two"))
      yield* settled
      yield* raw.settle(1)
      const error = yield* Effect.flip(Fiber.join(one))
      assert.deepStrictEqual(
        error.reason._tag === "SendFailed" ? error.reason.error.reason : error.reason,
        { _tag: "ExchangeEnded" }
      )
      yield* settled
      assert.notInclude(names(raw.received), "notifications/cancelled")
      yield* raw.say(JsonRpc.success(2, text("two")))
      assert.deepStrictEqual(yield* Fiber.join(two), text("two"))
    }))
})

describe("streams that outlive their response", () => {
  it.effect("[CAN-04] law 2: a stream whose caller has left is given up at once, though the peer leaves it open", () =>
    Effect.gen(function*() {
      const census = Census.make()
      const { raw, session } = yield* census.count(withRawServer({ pair: MemoryTransport.makeMultiStream() }))
      yield* TestClock.adjust("30 seconds")
      yield* settled
      const idle = census.living()
      yield* Fiber.interrupt(yield* start(session.callTool("x", {}, { deadline: "Infinity" })))
      yield* settled
      assert.strictEqual(census.living(), idle)
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("[SHS-09] law 2: a stream that the peer leaves open behind its response is given up", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      const census = Census.make()
      const { raw, session } = yield* census.count(withRawServer({ pair: Effect.succeed(pair) }))
      yield* TestClock.adjust("30 seconds")
      yield* settled
      const idle = census.living()
      for (const id of [1, 2, 3]) {
        const calling = yield* start(session.callTool("x"))
        yield* settled
        yield* raw.sayOpen(id, JsonRpc.success(id, text("x")))
        yield* Fiber.join(calling)
      }
      yield* TestClock.adjust("60 seconds")
      yield* settled
      assert.strictEqual(census.living(), idle, "each answered request has left a fiber behind")
    }))
})

class Greeting extends Context.Service<Greeting, { readonly words: string }>()("test/Greeting") {}

class Heard extends Context.Service<Heard, Array<unknown>>()("test/Heard") {}

describe("services", () => {
  const handlers = {
    "tools/call": () =>
      Effect.gen(function*() {
        const { words } = yield* Greeting
        const { id } = yield* RequestContext.RequestContext
        return text(`${words} ${id}`)
      })
  }

  it.effect("a handler's services are those of where its session was made", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const serving: Layer.Layer<ServerSession.ServerSession, unknown> = ServerSession.layer(handlers, { info }).pipe(
        Layer.provide(MemoryTransport.layer(pair.server)),
        Layer.provide(Layer.succeed(Greeting, { words: "hello" }))
      )
      const program = Effect.gen(function*() {
        yield* ServerSession.ServerSession
        const session = yield* ClientSession.ClientSession
        const result = yield* session.callTool("x")
        assert.deepStrictEqual(result, text("hello 1"))
      })
      yield* program.pipe(
        // What is provided where the session is used is none of its business.
        Effect.provideService(Greeting, { words: "from elsewhere" }),
        Effect.provide(
          Layer.provideMerge(
            Layer.provide(ClientSession.layer({ info }), MemoryTransport.layer(pair.client)),
            serving
          )
        )
      )
    }))

  it.effect("so are those of a notification's handler, and of a sink those of its caller", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const heard: Array<unknown> = []
      const listening = ClientSession.layer({
        info,
        handlers: {
          "notifications/message": ({ data }) => Effect.flatMap(Heard, (list) => Effect.sync(() => list.push(data)))
        }
      }).pipe(Layer.provide(MemoryTransport.layer(pair.client)), Layer.provide(Layer.succeed(Heard, heard)))
      const serving = ServerSession.layer(
        tools({
          x: Effect.gen(function*() {
            yield* RequestContext.log({ level: "info", data: "log" })
            yield* RequestContext.progress({ progress: 1 })
            return text("x")
          })
        }),
        { info, ...logging }
      ).pipe(Layer.provide(MemoryTransport.layer(pair.server)))
      const others: Array<unknown> = []
      yield* Effect.gen(function*() {
        const session = yield* ClientSession.ClientSession
        yield* session.callTool("x", {}, {
          onProgress: ({ progress }) => Effect.flatMap(Heard, (list) => Effect.sync(() => list.push(progress)))
        })
      }).pipe(Effect.provideService(Heard, others), Effect.provide(Layer.merge(listening, serving)))
      assert.deepStrictEqual([heard, others], [["log"], [1]])
    }))

  it.effect("the types say what is missing, and that the session gives its handlers their context", () =>
    Effect.gen(function*() {
      type Needs = Handlers.ServicesOf<typeof handlers, "client">
      const needs: Greeting extends Needs ? Needs extends Greeting ? true : false : false = true
      const none: [Handlers.ServicesOf<ReturnType<typeof tools>, "client">] extends [never] ? true : false = true
      assert.isTrue(needs && none)
      const typed: Handlers.Handlers<"client"> = {
        "tools/list": ({ cursor }) => Effect.succeed({ tools: [], nextCursor: `after ${cursor ?? "the start"}` })
      }
      const { client } = yield* connected({ handlers: typed })
      const { nextCursor } = yield* client.listTools({ cursor: "x" })
      assert.strictEqual(nextCursor, "after x")
    }))

  it.effect("[TOOL-01] what has a handler is declared", () =>
    Effect.gen(function*() {
      const bare = yield* connected({ server: { capabilities: {} } })
      assert.deepStrictEqual(bare.client.profile.capabilities, {})
      const listed = yield* connected({ handlers: { "tools/list": () => Effect.succeed({ tools: [] }) } })
      assert.deepStrictEqual(listed.client.profile.capabilities, { tools: {}, logging: {} })
      const more = yield* connected({ handlers: tools({}), server: { capabilities: { tools: { listChanged: true } } } })
      assert.deepStrictEqual(more.client.profile.capabilities, { tools: { listChanged: true } })
    }))

  it.effect("ServerSession.serve runs until the session has closed, and says why", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const serving = yield* start(
        ServerSession.serve(tools({ x: Effect.succeed(text("x")) }), { info }).pipe(
          Effect.provide(MemoryTransport.layer(pair.server))
        )
      )
      yield* Effect.gen(function*() {
        const session = yield* ClientSession.ClientSession
        yield* session.callTool("x")
        assert.strictEqual(session.profile.revision, Revision.latest)
      }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), MemoryTransport.layer(pair.client))))
      assert.deepStrictEqual(yield* Fiber.join(serving), { _tag: "PeerEnded", exit: undefined })
    }))
})
