import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { MemoryTransport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { pendingCall, reply } from "./support/pendingCall.ts"
import * as RawServer from "./support/RawServer.ts"
import { client, performHandshake, settled, start, text, withRawClient, withRawServer } from "./support/sessions.ts"

const error = { code: -32602, message: "no such tool" }

/** Malformed responses to request 1. */
const malformed: ReadonlyArray<readonly [what: string, frame: object]> = [
  ["both a result and an error", { jsonrpc: "2.0", id: 1, result: text("wrong"), error }],
  ["neither a result nor an error", { jsonrpc: "2.0", id: 1 }],
  ["the id as a text and neither of both", { jsonrpc: "2.0", id: "1" }],
  ["no jsonrpc", { id: 1, result: text("wrong") }],
  ["another jsonrpc", { jsonrpc: "1.0", id: 1, result: text("wrong") }],
  ["another jsonrpc and a null error", { jsonrpc: "1.0", id: 1, result: text("wrong"), error: null }],
  ["an error that is null", { jsonrpc: "2.0", id: 1, error: null }],
  ["an error that is a text", { jsonrpc: "2.0", id: 1, error: "no" }],
  ["an error that is a list", { jsonrpc: "2.0", id: 1, error: [] }],
  ["an error without a code", { jsonrpc: "2.0", id: 1, error: { message: "no" } }],
  ["an error whose code is a fraction", { jsonrpc: "2.0", id: 1, error: { ...error, code: 1.5 } }],
  ["an error without a message", { jsonrpc: "2.0", id: 1, error: { code: "1" } }],
  ["a null result beside such an error", { jsonrpc: "2.0", id: 1, result: null, error: { code: 1 } }]
]

describe("a malformed response", () => {
  for (const [what, frame] of malformed) {
    it.effect(`[MSG-08] [MSG-10] law 1: with ${what} fails only its request, at once`, () =>
      Effect.gen(function*() {
        const { fiber, raw, record, sentSince, session } = yield* pendingCall()
        const other = yield* start(session.ping())
        yield* settled
        const before = sentSince().length
        yield* raw.send(frame)
        const { reason } = yield* Effect.flip(Fiber.join(fiber))
        const [event] = record.of("Malformed")
        assert.deepStrictEqual(reason, { _tag: "MalformedResponse", problem: event?.problem ?? "" })
        assert.lengthOf(record.of("Malformed"), 1)
        assert.isUndefined(other.pollUnsafe())
        // The peer has responded, so there is nothing to cancel.
        assert.lengthOf(sentSince(), before)
        assert.deepStrictEqual(yield* session.inFlight, { sent: 1, served: 0 })
        yield* raw.send(reply(1))
        assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Duplicate"])
        yield* raw.send(JsonRpc.success(2, {}))
        yield* Fiber.join(other)
      }))
  }

  const unmatched: ReadonlyArray<readonly [what: string, frame: object]> = [
    ["another id as a text", { jsonrpc: "2.0", id: "2" }],
    ["another id", { jsonrpc: "2.0", id: 2, error: "no" }],
    ["a fractional id", { jsonrpc: "2.0", id: 1.5, error: "no" }],
    ["no id", { jsonrpc: "2.0", error: "no" }],
    ["a method, so that it may be a request", { jsonrpc: "2.0", id: 1, method: "ping", result: {} }]
  ]
  for (const [what, frame] of unmatched) {
    it.effect(`[MSG-07] law 3: with ${what} changes nothing`, () =>
      Effect.gen(function*() {
        const { fiber, raw, record } = yield* pendingCall()
        yield* raw.send(frame)
        yield* settled
        assert.isUndefined(fiber.pollUnsafe())
        assert.lengthOf(record.of("Malformed"), 1)
        yield* raw.send(reply(1))
        assert.deepStrictEqual(yield* Fiber.join(fiber), text("answer"))
      }))
  }

  it.effect("law 1: changes nothing before its request was sent and after it has ended", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawServer()
      const [, broken = {}] = malformed[1] ?? []
      yield* raw.send(broken)
      const first = yield* start(session.ping())
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(first)
      yield* raw.send(broken)
      link.stall()
      const stalled = yield* start(session.ping())
      const unsent = yield* start(session.ping())
      yield* settled
      link.deliver({ jsonrpc: "2.0", id: 3 })
      yield* settled
      assert.isUndefined(unsent.pollUnsafe())
      link.resume()
      link.deliver(JsonRpc.success(2, {}))
      link.deliver(JsonRpc.success(3, {}))
      yield* Fiber.join(stalled)
      yield* Fiber.join(unsent)
      assert.lengthOf(record.of("Malformed"), 3)
    }))

  it.effect("law 4: is delivered after all earlier progress", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const steps: Array<number> = []
      const calling = yield* start(Effect.flip(session.callTool("x", {}, {
        onProgress: ({ progress }) => Effect.andThen(Effect.yieldNow, Effect.sync(() => steps.push(progress)))
      })))
      yield* settled
      for (const progress of [1, 2, 3]) {
        yield* raw.send(JsonRpc.notification("notifications/progress", { progressToken: 1, progress }))
      }
      yield* raw.send({ jsonrpc: "2.0", id: 1 })
      const { reason } = yield* Fiber.join(calling)
      assert.strictEqual(reason._tag, "MalformedResponse")
      assert.deepStrictEqual(steps, [1, 2, 3])
    }))

  it.effect("fails a request of a server", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const pinging = yield* start(Effect.flip(session.ping()))
      yield* settled
      const request = (yield* raw.pending).find((message) => "method" in message && message.method === "ping")
      link.deliver({ jsonrpc: "2.0", id: request !== undefined && "id" in request ? request.id : undefined })
      assert.strictEqual((yield* Fiber.join(pinging)).reason._tag, "MalformedResponse")
    }))

  it.effect("fails the handshake at once", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server, (message) => "id" in message ? [{ jsonrpc: "2.0", id: message.id }] : [])
      const { reason } = yield* Effect.flip(client(pair.client))
      assert.isTrue(reason._tag === "InvalidResult" && reason.problem.includes("no result and no error"))
    }))
})

/** Responses to request 1 that break a rule and still have one possible meaning. */
const tolerated: ReadonlyArray<readonly [what: string, frame: object, meant: object]> = [
  ["a null error beside a result", { jsonrpc: "2.0", id: 1, result: text("x"), error: null }, { result: text("x") }],
  ["a null result beside an error", { jsonrpc: "2.0", id: 1, result: null, error }, { error }],
  ["a code that is a number in a text", { jsonrpc: "2.0", id: 1, error: { ...error, code: "-32602" } }, { error }],
  [
    "a code that is a text",
    { jsonrpc: "2.0", id: 1, error: { code: "ENOENT", message: "no such tool", data: 7 } },
    { error: { code: -32603, message: "no such tool (code \"ENOENT\")", data: 7 } }
  ],
  [
    "a null result beside a code that is a number in a text",
    { jsonrpc: "2.0", id: 1, result: null, error: { ...error, code: "-32602" } },
    { error }
  ]
]

describe("a response that breaks a rule and has one possible meaning", () => {
  for (const [what, frame, meant] of tolerated) {
    it.effect(`with ${what} is tolerated, with an event`, () =>
      Effect.gen(function*() {
        const { fiber, raw, record } = yield* pendingCall()
        yield* raw.send(frame)
        const outcome = yield* Effect.match(Fiber.join(fiber), {
          onSuccess: (result) => ({ result }),
          onFailure: ({ reason }) => {
            if (reason._tag !== "ErrorResponse") return { reason }
            const { code, data, message } = reason.error
            return { error: { code, message, ...(data === undefined ? undefined : { data }) } }
          }
        })
        assert.deepStrictEqual<unknown>(outcome, meant)
        assert.deepStrictEqual(record.of("Tolerated").map(({ method }) => method), ["tools/call"])
        assert.deepStrictEqual(record.of("Malformed"), [])
        yield* raw.send(frame)
        assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Duplicate"])
      }))
  }

  it.effect("of a tool without content gets empty content, with an event", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      for (const [id, result] of [{}, { content: null }, { structuredContent: { a: 1 }, isError: false }].entries()) {
        const calling = yield* start(session.callTool("x"))
        yield* raw.send(JsonRpc.success(id + 1, result))
        assert.deepStrictEqual<unknown>(yield* Fiber.join(calling), { ...result, content: [] })
      }
      assert.deepStrictEqual(
        record.of("Tolerated").map(({ method, problem }) => [method, problem]),
        Array.from({ length: 3 }, () => ["tools/call", "the result of a tool has no content"])
      )
    }))

  it.effect("of a list whose cursor is null is the last page, with an event", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer({
        result: RawServer.initializeResult({ capabilities: { tools: {}, prompts: {}, resources: {} } })
      })
      const lists = [
        [Stream.runCount(session.tools), "tools/list", "tools"],
        [Stream.runCount(session.prompts), "prompts/list", "prompts"],
        [Stream.runCount(session.resources), "resources/list", "resources"],
        [Stream.runCount(session.resourceTemplates), "resources/templates/list", "resourceTemplates"]
      ] as const
      for (const [index, [counting, , member]] of lists.entries()) {
        const reading = yield* start(counting)
        yield* raw.send(JsonRpc.success(index + 1, { [member]: [], nextCursor: null }))
        assert.strictEqual(yield* Fiber.join(reading), 0)
      }
      assert.deepStrictEqual(
        record.of("Tolerated").map(({ method, problem }) => [method, problem]),
        lists.map(([, method]) => [method, "the nextCursor of a page is null"])
      )
    }))

  it.effect("of a tool with invalid content, or with a task, is an InvalidResult", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      for (const [id, result] of [{ content: "x" }, { task: {} }, { isError: "yes" }, [], null].entries()) {
        const calling = yield* start(Effect.flip(session.callTool("x")))
        yield* raw.send(JsonRpc.success(id + 1, result))
        assert.strictEqual((yield* Fiber.join(calling)).reason._tag, "InvalidResult")
      }
      assert.deepStrictEqual(record.of("Tolerated"), [])
    }))

  it.effect("law 3: with the text of its number as id completes that request alone, with an event", () =>
    Effect.gen(function*() {
      const { fiber, raw, record, session } = yield* pendingCall()
      const other = yield* start(session.callTool("y"))
      yield* settled
      yield* raw.send(JsonRpc.success("2", text("y")))
      assert.deepStrictEqual(yield* Fiber.join(other), text("y"))
      assert.isUndefined(fiber.pollUnsafe())
      yield* raw.send(JsonRpc.failure("1", error))
      const { reason } = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(reason._tag === "ErrorResponse" ? reason.error.message : undefined, error.message)
      assert.deepStrictEqual(record.of("Tolerated"), [
        {
          _tag: "Tolerated",
          method: "tools/call",
          problem: "the id of the response is \"2\", and that of the request 2"
        },
        {
          _tag: "Tolerated",
          method: "tools/call",
          problem: "the id of the response is \"1\", and that of the request 1"
        }
      ])
      // The same response again, in either form, changes nothing.
      for (const id of ["1", 1]) yield* raw.send(JsonRpc.success(id, text("again")))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Duplicate", "Duplicate"])
      assert.lengthOf(record.of("Tolerated"), 2)
    }))

  it.effect("law 3: with the text of its number as id, after its request timed out, is late", () =>
    Effect.gen(function*() {
      const { fiber, raw, record, session } = yield* pendingCall()
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason._tag, "Timeout")
      const other = yield* start(session.ping())
      yield* settled
      yield* raw.send(JsonRpc.success("1", text("late")))
      yield* settled
      assert.isUndefined(other.pollUnsafe())
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Late"])
      assert.deepStrictEqual(record.of("Tolerated"), [])
      yield* raw.send(JsonRpc.success("2", {}))
      yield* Fiber.join(other)
    }))

  it.effect("law 3: with the text of the number of a request that was not sent changes nothing", () =>
    Effect.gen(function*() {
      const { link, record, session } = yield* withRawServer()
      link.stall()
      const first = yield* start(session.ping())
      const second = yield* start(session.ping())
      yield* settled
      link.deliver(JsonRpc.success("2", {}))
      yield* settled
      assert.isUndefined(second.pollUnsafe())
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Unknown"])
      link.resume()
      link.deliver(JsonRpc.success(1, {}))
      link.deliver(JsonRpc.success(2, {}))
      yield* Fiber.join(first)
      yield* Fiber.join(second)
    }))

  it.effect("has the text of an error that is a text, up to 128 characters", () =>
    Effect.gen(function*() {
      const { fiber, raw } = yield* pendingCall()
      yield* raw.send({ jsonrpc: "2.0", id: 1, error: `unknown tool ${"x".repeat(1000)}` })
      const { reason } = yield* Effect.flip(Fiber.join(fiber))
      assert.isTrue(reason._tag === "MalformedResponse" && reason.problem.includes("unknown tool"))
      assert.isBelow(reason._tag === "MalformedResponse" ? reason.problem.length : 0, 250)
    }))
})

describe("a handshake", () => {
  const answering = (answer: (message: JsonRpc.Request) => unknown) =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server, (message) => JsonRpc.isRequest(message) ? [answer(message)] : [])
      return pair.client
    })

  const result = (protocolVersion: string) => ({
    protocolVersion,
    capabilities: {},
    serverInfo: { name: "old", version: "1" }
  })

  it.effect("takes responses whose ids are texts", () =>
    Effect.gen(function*() {
      const transport = yield* answering(({ id, method }) =>
        method === "initialize"
          ? JsonRpc.success(String(id), result("2025-06-18"))
          : JsonRpc.failure(String(id), { code: -32601, message: "Method not found" })
      )
      const { profile } = yield* client(transport, { revisions: [...Revision.legacy, ...Revision.modern] })
      assert.strictEqual(profile.revision, "2025-06-18")
    }))
})
