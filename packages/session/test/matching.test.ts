import { JsonRpc, McpError, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, type RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as RawServer from "./support/RawServer.ts"
import {
  connected,
  forms,
  initialized,
  introduce,
  names,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const answered = (id: number, words = "answer") => JsonRpc.success(id, text(words))

const tagOf = (error: RequestError.RequestError) => error.reason._tag

describe("matching", () => {
  /** A call that waits for the scripted server to answer request 1. */
  const waiting = Effect.fnUntraced(function*(options: Parameters<typeof withRawServer>[0] = {}) {
    const all = yield* withRawServer(options)
    const fiber = yield* start(all.session.callTool("x"))
    yield* settled
    const said = all.raw.received.length
    return { ...all, fiber, saidSince: () => all.raw.received.slice(said) }
  })

  for (const { form, pair } of forms) {
    it.effect(`[MSG-07] answers in another order than the questions (${form})`, () =>
      Effect.gen(function*() {
        const { raw, record, session } = yield* withRawServer({ pair })
        const calls = yield* Effect.forEach([1, 2, 3, 4, 5], () => start(session.callTool("x")))
        yield* settled
        for (const id of [3, 5, 1, 4, 2]) yield* raw.say(answered(id, `for ${id}`))
        const results = yield* Effect.forEach(calls, Fiber.join)
        assert.deepStrictEqual(results, [1, 2, 3, 4, 5].map((id) => text(`for ${id}`)))
        assert.deepStrictEqual(record.of("UnmatchedResponse"), [])
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      }))
  }

  const strange: ReadonlyArray<readonly [string, unknown, "Unknown" | "NoId" | "Malformed"]> = [
    ["an id that was never given out", answered(2), "Unknown"],
    ["a negative id", answered(-1), "Unknown"],
    ["the id as a string", JsonRpc.success("1", text("wrong")), "Unknown"],
    ["a name that every object has", JsonRpc.success("__proto__", text("wrong")), "Unknown"],
    ["an error for the id as a string", JsonRpc.failure("1", McpError.invalidRequest("wrong")), "Unknown"],
    ["an error with a null id", JsonRpc.failure(null, McpError.invalidRequest("what?")), "NoId"],
    ["an error without an id", JsonRpc.failure(undefined, McpError.invalidRequest("what?")), "NoId"],
    ["a result with a null id", { jsonrpc: "2.0", id: null, result: text("wrong") }, "Malformed"],
    ["a result without an id", { jsonrpc: "2.0", result: text("wrong") }, "Malformed"],
    ["a fractional id", { jsonrpc: "2.0", id: 1.5, result: text("wrong") }, "Malformed"],
    ["an id that is a list", { jsonrpc: "2.0", id: [1], result: text("wrong") }, "Malformed"],
    ["an error whose id is an object", { jsonrpc: "2.0", id: {}, error: { code: 1, message: "" } }, "Malformed"],
    ["an id that is true", { jsonrpc: "2.0", id: true, result: text("wrong") }, "Malformed"],
    [
      "both a result and an error",
      { jsonrpc: "2.0", id: 1, result: text("wrong"), error: { code: 1, message: "wrong" } },
      "Malformed"
    ],
    ["neither a result nor an error", { jsonrpc: "2.0", id: 1 }, "Malformed"],
    ["a method as well", { jsonrpc: "2.0", id: 1, method: "ping", result: text("wrong") }, "Malformed"],
    ["another jsonrpc", { jsonrpc: "1.0", id: 1, result: text("wrong") }, "Malformed"],
    ["no jsonrpc", { id: 1, result: text("wrong") }, "Malformed"],
    ["an error without a message", { jsonrpc: "2.0", id: 1, error: { code: 1 } }, "Malformed"],
    ["an error with half a code", { jsonrpc: "2.0", id: 1, error: { code: 1.5, message: "" } }, "Malformed"],
    ["an error that is null", { jsonrpc: "2.0", id: 1, error: null }, "Malformed"],
    ["an error that is a string", { jsonrpc: "2.0", id: 1, error: "no" }, "Malformed"],
    ["a batch of one", [answered(1, "wrong")], "Malformed"],
    ["null", null, "Malformed"],
    ["a number", 1, "Malformed"]
  ]

  for (const [what, frame, kind] of strange) {
    it.effect(`[MSG-08] [MSG-10] law 3: a response with ${what} changes nothing, is not answered, and is seen`, () =>
      Effect.gen(function*() {
        const { fiber, raw, record, saidSince, session } = yield* waiting()
        yield* raw.say(frame)
        yield* settled
        assert.isUndefined(fiber.pollUnsafe())
        assert.deepStrictEqual(yield* session.inFlight, { sent: 1, served: 0 })
        assert.deepStrictEqual(saidSince(), [])
        if (kind === "Malformed") {
          assert.strictEqual(record.of("Malformed").length, 1)
          assert.deepStrictEqual(record.of("UnmatchedResponse"), [])
        } else {
          assert.deepStrictEqual<ReadonlyArray<unknown>>(record.of("UnmatchedResponse"), [
            { _tag: "UnmatchedResponse", kind, response: frame }
          ])
        }
        yield* raw.say(answered(1))
        assert.deepStrictEqual(yield* Fiber.join(fiber), text("answer"))
      }))
  }

  it.effect("law 3: a response that comes before its question is none", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      yield* raw.say(answered(1, "prophecy"))
      const fiber = yield* start(session.callTool("x"))
      yield* settled
      assert.isUndefined(fiber.pollUnsafe())
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Unknown"])
      yield* raw.say(answered(1))
      assert.deepStrictEqual(yield* Fiber.join(fiber), text("answer"))
    }))

  it.effect("law 3: a response to a request that the transport was not given yet is none", () =>
    Effect.gen(function*() {
      const { link, record, session } = yield* withRawServer()
      link.stall()
      const first = yield* start(session.ping())
      const second = yield* start(session.callTool("x"))
      yield* settled
      link.deliver(answered(2, "prophecy"))
      yield* settled
      assert.isUndefined(second.pollUnsafe(), "a guess became the answer")
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Unknown"])
      link.recover()
      link.deliver(JsonRpc.success(1, {}))
      link.deliver(answered(2))
      assert.deepStrictEqual(yield* Fiber.join(second), text("answer"))
      yield* Fiber.join(first)
    }))

  it.effect("[CAN-06] [CAN-07] a response after the cancellation is late", () =>
    Effect.gen(function*() {
      const { fiber, raw, record, saidSince, session } = yield* waiting()
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(names(saidSince()), ["notifications/cancelled"])
      yield* raw.say(answered(1), JsonRpc.failure(1, McpError.invalidRequest("cancelled")))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind).slice(0, 1), ["Late"])
      assert.strictEqual(record.of("UnmatchedResponse").length, 2)
      assert.strictEqual(saidSince().length, 1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[TMO-03] [CAN-06] a response after the deadline is late", () =>
    Effect.gen(function*() {
      const { fiber, raw, record } = yield* waiting()
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(tagOf(yield* Effect.flip(Fiber.join(fiber))), "Timeout")
      yield* raw.say(answered(1))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Late"])
    }))

  it.effect("[TMO-03] a response after the deadline is late, also while progress is still being told", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const fiber = yield* start(
        Effect.exit(session.callTool("x", {}, { deadline: 1000, onProgress: () => Effect.sleep(5000) }))
      )
      yield* settled
      yield* raw.say(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }))
      yield* TestClock.adjust(1000)
      yield* raw.say(answered(1))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Late"])
      yield* TestClock.adjust(5000)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
    }))

  it.effect("law 3: a second response to one request is a duplicate", () =>
    Effect.gen(function*() {
      const { fiber, raw, record, session } = yield* waiting()
      yield* raw.say(answered(1, "first"), answered(1, "second"))
      assert.deepStrictEqual(yield* Fiber.join(fiber), text("first"))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Duplicate"])
      yield* raw.say(JsonRpc.failure(1, McpError.invalidRequest("third")))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Duplicate", "Duplicate"])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("law 3: a second response is a duplicate while the first one still waits behind progress", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const fiber = yield* start(session.callTool("x", {}, { onProgress: () => Effect.sleep(100) }))
      yield* settled
      yield* raw.say(
        JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }),
        answered(1, "first"),
        answered(1, "second")
      )
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Duplicate"])
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(fiber), text("first"))
    }))

  it.effect("[MSG-10] an error arrives with its code, message and data", () =>
    Effect.gen(function*() {
      const { fiber, raw } = yield* waiting()
      yield* raw.say({ jsonrpc: "2.0", id: 1, error: { code: -32002, message: "gone", data: [1, null], more: true } })
      const { method, reason } = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(method, "tools/call")
      assert.strictEqual(reason._tag, "ErrorResponse")
      if (reason._tag !== "ErrorResponse") return
      assert.deepStrictEqual([reason.error.code, reason.error.message, reason.error.data], [-32002, "gone", [1, null]])
    }))

  for (const code of [1e300, 2 ** 53, -(2 ** 60)]) {
    it.effect(`[MSG-10] law 7: an error with the code ${code} costs at most its request`, () =>
      Effect.gen(function*() {
        const { fiber, link, session } = yield* waiting()
        const other = yield* start(session.ping())
        yield* settled
        assert.doesNotThrow(() => link.deliver({ jsonrpc: "2.0", id: 1, error: { code, message: "far out" } }))
        link.deliver(JsonRpc.success(2, {}))
        yield* Fiber.join(other)
        yield* TestClock.adjust("60 seconds")
        assert.include(["ErrorResponse", "Timeout"], tagOf(yield* Effect.flip(Fiber.join(fiber))))
      }))
  }

  it.effect("[MSG-27] InvalidResult: says which method and where, and only that request fails", () =>
    Effect.gen(function*() {
      const { fiber, raw, session } = yield* waiting()
      yield* raw.say(JsonRpc.success(1, { content: [{ type: "text", text: 42 }] }))
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error.method, "tools/call")
      assert.strictEqual(error.reason._tag, "InvalidResult")
      if (error.reason._tag !== "InvalidResult") return
      assert.include(error.reason.problem, "content")
      assert.notInclude(error.reason.problem, "\n")
      const ping = yield* start(session.ping())
      yield* raw.say(JsonRpc.success(2, {}))
      yield* Fiber.join(ping)
    }))

  for (const result of [null, [], "text", 0, {}, { content: null }, { content: {} }]) {
    it.effect(`InvalidResult: ${JSON.stringify(result)} is no result of tools/call`, () =>
      Effect.gen(function*() {
        const { fiber, raw } = yield* waiting()
        yield* raw.say({ jsonrpc: "2.0", id: 1, result })
        assert.strictEqual(tagOf(yield* Effect.flip(Fiber.join(fiber))), "InvalidResult")
      }))
  }

  it.effect("the result is the very object that was received, unknown members and all", () =>
    Effect.gen(function*() {
      const { fiber, raw } = yield* waiting({ pair: MemoryTransport.make({ serialization: "none" }) })
      const result = {
        content: [{ type: "text", text: "x", annotations: { audience: ["user"] }, future: { deep: [1] } }],
        structuredContent: { a: 1 },
        resultType: "complete",
        __proto__: null
      }
      yield* raw.say(JsonRpc.success(1, result))
      assert.isTrue((yield* Fiber.join(fiber)) as unknown === result)
    }))

  it.effect("unknown members survive a real wire", () =>
    Effect.gen(function*() {
      const { fiber, raw } = yield* waiting()
      const result = { content: [{ type: "text", text: "x", future: [1, { a: null }] }], resultType: "complete" }
      yield* raw.say({ jsonrpc: "2.0", id: 1, result, trace: "an envelope may have more, too" })
      assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
    }))

  it.effect("[PRG-02] law 10: two requests with sinks do not hear each other's progress", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const seen: Array<string> = []
      const listen = (name: string) =>
        start(
          session.callTool(name, {}, {
            onProgress: ({ progress }) => Effect.sync(() => seen.push(`${name}${progress}`))
          })
        )
      yield* listen("a")
      yield* listen("b")
      yield* settled
      const step = (progressToken: number | string, progress: number) =>
        JsonRpc.notification("notifications/progress", { progressToken, progress })
      yield* raw.say(step(1, 1), step(2, 1), step("1", 2), step(2, 2), step(3, 1), step(1, 2), answered(1), answered(2))
      yield* settled
      assert.sameMembers(seen, ["a1", "b1", "b2", "a2"])
      assert.deepStrictEqual(seen.filter((step) => step.startsWith("a")), ["a1", "a2"])
      const tokens = raw.received.flatMap((message) =>
        "method" in message && message.method === "tools/call" ? [message.params?.["_meta"]] : []
      )
      assert.deepStrictEqual(tokens, [{ progressToken: 1 }, { progressToken: 2 }])
    }))

  it.effect("[PRG-01] [PRG-04] metadata goes along, and a token only with a sink", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      yield* start(session.callTool("x", {}, { meta: { "example.org/a": 1 } }))
      yield* start(
        session.request("tools/call", { name: "y", _meta: { own: true, twice: 1 } }, {
          meta: { twice: 2 },
          onProgress: () => Effect.void
        })
      )
      yield* start(session.listTools())
      yield* settled
      assert.deepStrictEqual(
        raw.received.slice(2).map((message) => "params" in message ? message.params : undefined),
        [
          { name: "x", arguments: {}, _meta: { "example.org/a": 1 } },
          { name: "y", _meta: { own: true, twice: 2, progressToken: 2 } },
          undefined
        ]
      )
    }))

  it.effect("[PRG-05] progress after the response, or for nobody, goes nowhere", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const seen: Array<number> = []
      const fiber = yield* start(
        session.callTool("x", {}, { onProgress: ({ progress }) => Effect.sync(() => seen.push(progress)) })
      )
      yield* start(session.callTool("no sink"))
      yield* settled
      const step = (progressToken: number | string, progress: number) =>
        JsonRpc.notification("notifications/progress", { progressToken, progress })
      yield* raw.say(step(1, 1), answered(1), step(1, 2), step(2, 1), step("nobody", 1))
      yield* Fiber.join(fiber)
      yield* settled
      assert.deepStrictEqual(seen, [1])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), [
        "UnknownToken",
        "UnknownToken",
        "UnknownToken"
      ])
    }))

  it.effect("[PRG-05] law 4: progress behind the response goes nowhere, though the response still waits for a sink", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const seen: Array<number> = []
      const fiber = yield* start(
        session.callTool("x", {}, {
          onProgress: ({ progress }) => Effect.andThen(Effect.sleep(10), Effect.sync(() => seen.push(progress)))
        })
      )
      yield* settled
      const step = (progress: number) => JsonRpc.notification("notifications/progress", { progressToken: 1, progress })
      yield* raw.say(step(1), step(2), answered(1), step(3))
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(fiber), text("answer"))
      assert.deepStrictEqual(seen, [1, 2])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), ["UnknownToken"])
    }))

  it.effect("[PRG-03] progress that does not grow, or is none, is dropped", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const seen: Array<number> = []
      const fiber = yield* start(
        session.callTool("x", {}, { onProgress: ({ progress }) => Effect.sync(() => seen.push(progress)) })
      )
      yield* settled
      for (const progress of [-1, 0, 0, 0.5, 0.4, 2]) {
        yield* raw.say(JsonRpc.notification("notifications/progress", { progressToken: 1, progress }))
      }
      for (const params of [undefined, {}, { progressToken: 1 }, { progressToken: 1, progress: "3" }]) {
        yield* raw.say(JsonRpc.notification("notifications/progress", params))
      }
      yield* raw.say(answered(1))
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, [-1, 0, 0.5, 2])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), [
        "NotIncreasing",
        "NotIncreasing"
      ])
      assert.strictEqual(record.of("NotificationIgnored").length, 4)
    }))
})

describe("matching on the server's side", () => {
  it.effect("law 3: responses to nothing change nothing, before the handshake and after", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient()
      yield* raw.send(JsonRpc.success(1, {}))
      yield* introduce(raw)
      yield* raw.send(JsonRpc.success(1, {}))
      yield* raw.send(JsonRpc.success(0, {}))
      yield* raw.send(JsonRpc.failure(null, McpError.invalidRequest("what?")))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), [
        "Unknown",
        "Unknown",
        "Unknown",
        "NoId"
      ])
      assert.deepStrictEqual(yield* raw.pending, [])
      const ping = yield* start(session.ping())
      yield* raw.send(JsonRpc.success("1", {}))
      yield* settled
      assert.isUndefined(ping.pollUnsafe())
      yield* raw.send(JsonRpc.success(1, { _meta: { more: true } }))
      yield* Fiber.join(ping)
    }))

  it.effect("[MSG-05] both sides count for themselves: the same id in both directions is two exchanges", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* introduce(raw)
      yield* raw.send(JsonRpc.request(1, "tools/call", { name: "wait" }))
      const ping = yield* start(session.ping())
      assert.deepStrictEqual(yield* session.inFlight, { sent: 1, served: 1 })
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(ping)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
    }))

  for (const revision of Revision.supported) {
    it.effect(`[MSG-09] what cannot be read is answered as ${revision} has it`, () =>
      Effect.gen(function*() {
        const { link, raw } = yield* withRawClient()
        yield* settled
        link.deliverBad({ _tag: "NotJson", text: "{" })
        const before = yield* raw.response
        assert.isFalse("id" in before)
        yield* introduce(raw, revision)
        link.deliverBad({ _tag: "NotJson", text: "{" })
        link.deliverBad({ _tag: "TooLarge", limitBytes: 10 })
        link.deliver([])
        link.deliver({ jsonrpc: "2.0", id: 1.5, method: "ping" })
        link.deliver({ jsonrpc: "1.0", id: "known", method: "ping" })
        const replies = yield* Effect.forEach([1, 2, 3, 4, 5], () => raw.response)
        const id = revision === "2025-11-25" ? undefined : null
        assert.deepStrictEqual(replies.map((reply) => reply.id), [id, id, id, id, "known"])
        assert.deepStrictEqual(replies.map((reply) => "id" in reply), [
          id === null,
          id === null,
          id === null,
          id === null,
          true
        ])
        assert.deepStrictEqual(
          replies.map((reply) => JsonRpc.isFailure(reply) ? reply.error.code : undefined),
          [-32700, -32700, -32600, -32600, -32600]
        )
      }))
  }

  it.effect("[MSG-12] law 7: between two good frames, a bad one costs only itself", () =>
    Effect.gen(function*() {
      const { link, raw, record } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* introduce(raw)
      link.deliver(JsonRpc.request(1, "tools/call", { name: "x" }))
      link.deliverBad({ _tag: "NotJson", text: "}" })
      link.deliver(JsonRpc.request(2, "tools/call", { name: "x" }))
      link.deliver({})
      link.deliver(initialized)
      link.deliver(JsonRpc.request(3, "tools/call", { name: "x" }))
      assert.deepStrictEqual(names(yield* raw.pending), [1, undefined, 2, 3])
      assert.deepStrictEqual(record.of("BadFrame").map(({ error }) => error), [{ _tag: "NotJson", text: "}" }])
      assert.strictEqual(record.of("Malformed").length, 1)
    }))
})

describe("any frame at all", () => {
  const orNull = <const Values extends ReadonlyArray<string | number | boolean>>(values: Values) =>
    Schema.Union([Schema.Literals(values), Schema.Null])
  const anything = Schema.Union([
    orNull([true, 0, 1, 2, -1, 1.5, 1e300, "", "1", "2.0", "ping", "x"]),
    Schema.Struct({}),
    Schema.Array(orNull([1, "x"])),
    Schema.Struct({ code: orNull([1, -32600, 1.5, "1"]), message: orNull(["no", 1]) }),
    Schema.Struct({
      name: orNull(["x", "wait", "die", 1]),
      arguments: Schema.optionalKey(orNull([1])),
      _meta: Schema.optionalKey(Schema.Union([
        orNull([1, "x"]),
        Schema.Struct({ progressToken: orNull([1, "1", 1.5]) })
      ]))
    }),
    Schema.Struct({
      requestId: Schema.optionalKey(orNull([0, 1, "1"])),
      progressToken: Schema.optionalKey(orNull([0, 1, "1"])),
      progress: Schema.optionalKey(orNull([1, -1, "1"])),
      level: Schema.optionalKey(Schema.Literals(["info", "loud"])),
      data: Schema.optionalKey(orNull([1]))
    })
  ])
  const methods = orNull([
    "ping",
    "initialize",
    "tools/list",
    "tools/call",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "__proto__",
    "no/such",
    1
  ])
  const Frame = Schema.Union([
    anything,
    Schema.Struct({
      jsonrpc: Schema.optionalKey(Schema.Literals(["2.0", "2.0", "2.0", "1.0", 2])),
      id: Schema.optionalKey(orNull([0, 1, 2, 3, "1", "", 1.5])),
      method: Schema.optionalKey(methods),
      params: Schema.optionalKey(anything),
      result: Schema.optionalKey(anything),
      error: Schema.optionalKey(anything)
    })
  ])

  const harmless = Effect.fnUntraced(function*(frames: ReadonlyArray<unknown>) {
    const { client, links, server } = yield* connected({
      handlers: tools({ x: Effect.succeed(text("x")), wait: Effect.never, die: Effect.die("x") }),
      client: { handlers: { "notifications/message": () => Effect.void } }
    })
    const waiting = yield* start(Effect.exit(client.callTool("wait", {}, { onProgress: () => Effect.void })))
    yield* settled
    for (const frame of frames) {
      for (const link of [links.client, links.server]) link.deliver(JSON.parse(JSON.stringify(frame)))
    }
    yield* settled
    yield* client.ping()
    yield* server.ping()
    assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
    // Nothing may have answered for what the client has not asked for.
    assert.deepStrictEqual([(yield* client.state)._tag, (yield* server.state)._tag], ["Operating", "Operating"])
    yield* Fiber.interrupt(waiting)
    assert.strictEqual((yield* client.inFlight).sent, 0)
  })

  it.effect("[MSG-01] [MSG-11] law 7: costs only itself, on either side", () =>
    Effect.gen(function*() {
      const outcome = yield* Arbitrary.checkEffect(
        Arbitrary.array(Arbitrary.schema(Frame), { maxLength: 12 }),
        (frames) => Effect.as(Effect.scoped(harmless(frames)), true),
        { runs: 300 }
      )
      assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
    }))
})

describe("matching on the client's side", () => {
  it.effect("[STD-04] a client never answers what it cannot read", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawServer({ script: RawServer.pongs })
      const said = raw.received.length
      link.deliverBad({ _tag: "NotJson", text: "Listening on port 3000" })
      link.deliverBad({ _tag: "TooLarge", limitBytes: 10 })
      link.deliver("Debugger attached.")
      link.deliver([])
      link.deliver({ jsonrpc: "2.0", id: null, method: "ping" })
      yield* settled
      assert.strictEqual(raw.received.length, said)
      assert.deepStrictEqual([record.of("BadFrame").length, record.of("Malformed").length], [2, 3])
      link.deliver({ jsonrpc: "1.0", id: 9, method: "ping" })
      yield* settled
      assert.deepStrictEqual(names(raw.received.slice(said)), [9])
      yield* session.ping()
    }))

  it.effect("the table is empty after every kind of end", () =>
    Effect.gen(function*() {
      const { client, links } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")), wait: Effect.never, die: Effect.die("x") })
      })
      yield* client.callTool("x")
      yield* Effect.flip(client.callTool("die"))
      yield* Effect.flip(client.callTool("unknown"))
      yield* Fiber.interrupt(yield* start(client.callTool("wait")))
      const late = yield* start(Effect.flip(client.callTool("wait", {}, { deadline: 5 })))
      yield* TestClock.adjust(5)
      yield* Fiber.join(late)
      yield* Effect.flip(client.callTool("x", { no: 1n }))
      yield* settled
      assert.deepStrictEqual(yield* client.inFlight, { sent: 0, served: 0 })
      const handed = names(links.client.handed).filter((name) => name === "notifications/cancelled")
      assert.strictEqual(handed.length, 2)
    }))
})
