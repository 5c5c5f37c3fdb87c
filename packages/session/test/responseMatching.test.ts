import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { pendingCall, reply } from "./support/pendingCall.ts"
import {
  connected,
  forms,
  names,
  performHandshake,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("the matching of responses at a client", () => {
  for (const { form, pair } of forms) {
    it.effect(`[MSG-07] responses complete their requests in any order (${form})`, () =>
      Effect.gen(function*() {
        const { raw, record, session } = yield* withRawServer({ pair })
        const calls = yield* Effect.forEach([1, 2, 3, 4, 5], () => start(session.callTool("x")))
        yield* settled
        for (const id of [3, 5, 1, 4, 2]) yield* raw.send(reply(id, `for ${id}`))
        const results = yield* Effect.forEach(calls, Fiber.join)
        assert.deepStrictEqual(results, [1, 2, 3, 4, 5].map((id) => text(`for ${id}`)))
        assert.deepStrictEqual(record.of("UnmatchedResponse"), [])
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      }))
  }

  const unmatched: ReadonlyArray<readonly [string, unknown, "Unknown" | "NoId" | "Malformed"]> = [
    ["an unused id", reply(2), "Unknown"],
    ["a negative id", reply(-1), "Unknown"],
    ["another number as a text", JsonRpc.success("2", text("wrong")), "Unknown"],
    ["the id as a text with a leading zero", JsonRpc.success("01", text("wrong")), "Unknown"],
    ["the id as a text with a space", JsonRpc.success(" 1", text("wrong")), "Unknown"],
    ["the id as a text with a fraction", JsonRpc.success("1.0", text("wrong")), "Unknown"],
    ["the id as a text with an exponent", JsonRpc.success("1e0", text("wrong")), "Unknown"],
    ["the text of a number beyond 2^53", JsonRpc.success("9007199254740993", text("wrong")), "Unknown"],
    ["`__proto__` as id", JsonRpc.success("__proto__", text("wrong")), "Unknown"],
    ["an error for another number as a text", JsonRpc.failure("2", McpError.invalidRequest("wrong")), "Unknown"],
    ["an error with a null id", JsonRpc.failure(null, McpError.invalidRequest("no id")), "NoId"],
    ["an error without an id", JsonRpc.failure(undefined, McpError.invalidRequest("no id")), "NoId"],
    ["a result with a null id", { jsonrpc: "2.0", id: null, result: text("wrong") }, "Malformed"],
    ["a result without an id", { jsonrpc: "2.0", result: text("wrong") }, "Malformed"],
    ["a fractional id", { jsonrpc: "2.0", id: 1.5, result: text("wrong") }, "Malformed"],
    ["an array as id", { jsonrpc: "2.0", id: [1], result: text("wrong") }, "Malformed"],
    ["an error whose id is an object", { jsonrpc: "2.0", id: {}, error: { code: 1, message: "" } }, "Malformed"],
    ["`true` as id", { jsonrpc: "2.0", id: true, result: text("wrong") }, "Malformed"],
    ["a method as well", { jsonrpc: "2.0", id: 1, method: "ping", result: text("wrong") }, "Malformed"],
    ["a batch of two", [reply(1, "wrong"), reply(1, "wrong")], "Malformed"],
    ["null", null, "Malformed"],
    ["a number", 1, "Malformed"]
  ]

  for (const [what, frame, kind] of unmatched) {
    it.effect(`[MSG-08] [MSG-10] law 3: a response with ${what} changes nothing, gets no reply, and is reported`, () =>
      Effect.gen(function*() {
        const { fiber, raw, record, sentSince, session } = yield* pendingCall()
        yield* raw.send(frame)
        yield* settled
        assert.isUndefined(fiber.pollUnsafe())
        assert.deepStrictEqual(yield* session.inFlight, { sent: 1, served: 0 })
        assert.deepStrictEqual(sentSince(), [])
        if (kind === "Malformed") {
          assert.strictEqual(record.of("Malformed").length, 1)
          assert.deepStrictEqual(record.of("UnmatchedResponse"), [])
        } else {
          assert.deepStrictEqual<ReadonlyArray<unknown>>(record.of("UnmatchedResponse"), [
            { _tag: "UnmatchedResponse", kind, response: frame }
          ])
        }
        yield* raw.send(reply(1))
        assert.deepStrictEqual(yield* Fiber.join(fiber), text("answer"))
      }))
  }

  it.effect("law 3: a response before its request is unmatched", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      yield* raw.send(reply(1, "early"))
      const fiber = yield* start(session.callTool("x"))
      yield* settled
      assert.isUndefined(fiber.pollUnsafe())
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Unknown"])
      yield* raw.send(reply(1))
      assert.deepStrictEqual(yield* Fiber.join(fiber), text("answer"))
    }))

  it.effect("law 3: a response to a request that the transport has not received is unmatched", () =>
    Effect.gen(function*() {
      const { link, record, session } = yield* withRawServer()
      link.stall()
      const first = yield* start(session.ping())
      const second = yield* start(session.callTool("x"))
      yield* settled
      link.deliver(reply(2, "early"))
      yield* settled
      assert.isUndefined(second.pollUnsafe(), "a response to an unsent request completed it")
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Unknown"])
      link.resume()
      link.deliver(JsonRpc.success(1, {}))
      link.deliver(reply(2))
      assert.deepStrictEqual(yield* Fiber.join(second), text("answer"))
      yield* Fiber.join(first)
    }))

  it.effect("the table is empty after every end of a request", () =>
    Effect.gen(function*() {
      const { client, links } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")), wait: Effect.never, die: Effect.die("x") })
      })
      yield* client.callTool("x")
      yield* Effect.flip(client.callTool("die"))
      yield* Effect.flip(client.callTool("unknown"))
      yield* Fiber.interrupt(yield* start(client.callTool("wait")))
      const late = yield* start(Effect.flip(client.callTool("wait", {}, { timeout: 5 })))
      yield* TestClock.adjust(5)
      yield* Fiber.join(late)
      yield* Effect.flip(client.callTool("x", { no: 1n }))
      yield* settled
      assert.deepStrictEqual(yield* client.inFlight, { sent: 0, served: 0 })
      const handed = names(links.client.sent).filter((name) => name === "notifications/cancelled")
      assert.strictEqual(handed.length, 2)
    }))
})

describe("the matching of responses at a server", () => {
  it.effect("law 3: unmatched responses change nothing, before the handshake and after it", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient()
      yield* raw.send(JsonRpc.success(1, {}))
      yield* performHandshake(raw)
      yield* raw.send(JsonRpc.success(1, {}))
      yield* raw.send(JsonRpc.success(0, {}))
      yield* raw.send(JsonRpc.failure(null, McpError.invalidRequest("no id")))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), [
        "Unknown",
        "Unknown",
        "Unknown",
        "NoId"
      ])
      assert.deepStrictEqual(yield* raw.pending, [])
      const ping = yield* start(session.ping())
      yield* raw.send(JsonRpc.success("01", {}))
      yield* settled
      assert.isUndefined(ping.pollUnsafe())
      yield* raw.send(JsonRpc.success(1, { _meta: { more: true } }))
      yield* Fiber.join(ping)
    }))

  it.effect("[MSG-05] each side has its own ids: the same id in both directions is two exchanges", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* performHandshake(raw)
      yield* raw.send(JsonRpc.request(1, "tools/call", { name: "wait" }))
      const ping = yield* start(session.ping())
      assert.deepStrictEqual(yield* session.inFlight, { sent: 1, served: 1 })
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(ping)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
    }))
})
