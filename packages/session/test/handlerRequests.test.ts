import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { MemoryTransport, RequestContext, type RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { leak } from "./support/leakedContext.ts"
import {
  call,
  connected,
  names,
  performHandshake,
  settled,
  start,
  text,
  tools,
  withRawClient
} from "./support/sessions.ts"

describe("requests of a handler to the client", () => {
  const ping = Effect.gen(function*() {
    const { request } = yield* RequestContext.RequestContext
    yield* Effect.mapError(request("ping", {}), (error) => McpError.invalidRequest(error.reason._tag))
    return text("pinged")
  })

  it.effect("[SHS-08] law 10: are sent on the stream of the handler's request", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      const { client } = yield* connected({ pair: Effect.succeed(pair), handlers: tools({ ping }) })
      assert.deepStrictEqual(
        yield* Effect.forEach([1, 2, 3], () => client.callTool("ping"), { concurrency: "unbounded" }),
        [text("pinged"), text("pinged"), text("pinged")]
      )
    }))

  it.effect("law 8: are cancelled when the request of the handler is cancelled", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ ping }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "ping"))
      assert.deepStrictEqual(names([yield* raw.receive]), ["ping"])
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* raw.pending, [
        JsonRpc.notification("notifications/cancelled", { requestId: 1, reason: "the caller no longer waits" })
      ])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[TMO-04] have their own timeout", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({
          x: Effect.gen(function*() {
            const { request } = yield* RequestContext.RequestContext
            const { reason } = yield* Effect.orDie(Effect.flip(request("ping", {}, { timeout: 20 })))
            return text(reason._tag)
          })
        })
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      yield* TestClock.adjust(20)
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, text("Timeout")))
    }))

  it.effect("fail with ExchangeEnded after the reply", () =>
    Effect.gen(function*() {
      const { effect, leaked } = leak()
      const { raw, session } = yield* withRawClient({ handlers: tools({ leak: effect }) })
      yield* performHandshake(raw)
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

  it.effect("fail with ExchangeEnded after a cancellation", () =>
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
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* TestClock.adjust(10)
      yield* settled
      assert.deepStrictEqual(reasons, [{ _tag: "ExchangeEnded" }])
      assert.deepStrictEqual(yield* raw.pending, [])
    }))
})
