import { JsonRpc, McpError } from "@effect-mcp/protocol"
import type { SessionEvent } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { requested } from "./support/closing.ts"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  codeOf,
  performHandshake,
  recorder,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("events of a session", () => {
  it.effect("an observer that throws does not affect the session", () =>
    Effect.gen(function*() {
      const record = recorder()
      const { raw, session } = yield* withRawServer({
        script: RawServer.replyToPings,
        client: {
          observe: (event) => {
            record.observe(event)
            throw new Error("a bug in the observer")
          }
        }
      })
      yield* raw.send(JsonRpc.success(99, {}), {}, JsonRpc.request(1, "no/such", undefined))
      yield* session.ping()
      assert.strictEqual(codeOf(raw.received.at(-2) ?? JsonRpc.success(0, {})), -32601)
      assert.deepStrictEqual(yield* session.close, requested)
      assert.deepStrictEqual(record.events.map(({ _tag }) => _tag), [
        "StateChanged",
        "StateChanged",
        "UnmatchedResponse",
        "Malformed",
        "Rejected",
        "StateChanged",
        "StateChanged",
        "Closed"
      ])
    }))

  it.effect("a request that is rejected before its handler is reported as Rejected", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* performHandshake(raw)
      yield* raw.send(JsonRpc.request(1, "acme/unknown", {}))
      yield* raw.send(JsonRpc.request(2, "tools/call", {}))
      yield* raw.send(call(3, "unknown"))
      yield* Effect.forEach([1, 2, 3], () => raw.response)
      // The handler of the third request replied with an error, which is no rejection.
      assert.deepStrictEqual(record.of("Rejected"), [
        { _tag: "Rejected", method: "acme/unknown", id: 1, code: -32601 },
        { _tag: "Rejected", method: "tools/call", id: 2, code: -32602 }
      ])
    }))

  it.effect("the stream of events has all events from its start to the end of the session, for each consumer", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const readers = yield* Effect.forEach([1, 2], () => start(Stream.runCollect(session.events)))
      const one = yield* start(Stream.runCollect(Stream.take(session.events, 1)))
      yield* settled
      yield* raw.send(JsonRpc.success(99, {}))
      yield* settled
      yield* raw.send({})
      yield* settled
      yield* session.close
      const tags = (events: ReadonlyArray<SessionEvent.SessionEvent>) => events.map(({ _tag }) => _tag)
      assert.deepStrictEqual(tags(yield* Fiber.join(one)), ["UnmatchedResponse"])
      for (const reader of readers) {
        assert.deepStrictEqual(tags(yield* Fiber.join(reader)), [
          "UnmatchedResponse",
          "Malformed",
          "StateChanged",
          "StateChanged",
          "Closed"
        ])
      }
      assert.deepStrictEqual(tags(yield* Stream.runCollect(session.events)), [])
    }))

  it.effect("law 12: a consumer of events that lags by more than 1,024 loses the oldest", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      const seen: Array<unknown> = []
      const reader = yield* start(
        Stream.runForEach(session.events, (event) =>
          Effect.andThen(
            Effect.sync(() => event._tag === "UnmatchedResponse" && seen.push(event.response.id)),
            seen.length === 0 ? Effect.sleep(1000) : Effect.void
          ))
      )
      yield* settled
      for (let id = 1000; id < 4000; id++) link.deliver(JsonRpc.success(id, {}))
      yield* TestClock.adjust(1000)
      yield* session.close
      yield* Fiber.join(reader)
      assert.isBelow(seen.length, 3000)
      assert.isAtLeast(seen.length, 1024)
      assert.strictEqual(seen.at(-1), 3999)
    }))

  it.effect("the defect of a handler is reported as HandlerFailed, and not sent to the peer", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({
        handlers: tools({
          die: Effect.die(new Error("a secret")),
          fail: Effect.fail(McpError.invalidParams("not a secret", { data: 1 })),
          "throw null": () => {
            throw null
          },
          "interrupt itself": Effect.interrupt,
          // This does not compile in TypeScript, but a program in JavaScript can do it.
          "fail with anything": Effect.fail(JSON.parse("{\"_tag\":\"Other\",\"code\":1}"))
        })
      })
      yield* performHandshake(raw)
      for (const [id, tool] of ["die", "throw null", "interrupt itself", "fail with anything"].entries()) {
        yield* raw.send(call(id, tool))
        assert.deepStrictEqual<unknown>(yield* raw.response, {
          jsonrpc: "2.0",
          id,
          error: { code: -32603, message: "Internal error" }
        })
      }
      yield* raw.send(call("f", "fail"))
      assert.deepStrictEqual<unknown>(yield* raw.response, {
        jsonrpc: "2.0",
        id: "f",
        error: { code: -32602, message: "not a secret", data: { data: 1 } }
      })
      assert.deepStrictEqual(record.of("HandlerFailed").map(({ method }) => method), [
        "tools/call",
        "tools/call",
        "tools/call",
        "tools/call"
      ])
    }))
})
