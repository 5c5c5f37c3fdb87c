import { JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { pendingCall } from "./support/pendingCall.ts"
import { reasonOf, settled, start } from "./support/sessions.ts"

describe("a response", () => {
  it.effect("[MSG-10] with an error fails the request with its code, message and data", () =>
    Effect.gen(function*() {
      const { fiber, raw } = yield* pendingCall()
      yield* raw.send({ jsonrpc: "2.0", id: 1, error: { code: -32002, message: "gone", data: [1, null], more: true } })
      const { method, reason } = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(method, "tools/call")
      assert.strictEqual(reason._tag, "ErrorResponse")
      if (reason._tag !== "ErrorResponse") return
      assert.deepStrictEqual([reason.error.code, reason.error.message, reason.error.data], [-32002, "gone", [1, null]])
    }))

  it.effect("[MSG-25] with a code from -32000 to -32019 fails only its request, with this code", () =>
    Effect.gen(function*() {
      const { fiber, link, session } = yield* pendingCall()
      yield* Fiber.interrupt(fiber)
      for (let code = -32000; code >= -32019; code--) {
        const id = 1 - 32000 - code + 1
        const calling = yield* start(session.callTool("x"))
        yield* settled
        link.deliver({ jsonrpc: "2.0", id, error: { code, message: "server error" } })
        const reason = yield* reasonOf(calling)
        const error = reason._tag === "ErrorResponse" ? reason.error : undefined
        assert.deepStrictEqual([reason._tag, error?.code, error?.message], [
          "ErrorResponse",
          code,
          "server error"
        ])
        assert.strictEqual((yield* session.state)._tag, "Operating")
      }
    }))

  for (const code of [1e300, 2 ** 53, -(2 ** 60)]) {
    it.effect(`[MSG-10] law 7: with the error code ${code} fails only its request`, () =>
      Effect.gen(function*() {
        const { fiber, link, session } = yield* pendingCall()
        const other = yield* start(session.ping())
        yield* settled
        assert.doesNotThrow(() => link.deliver({ jsonrpc: "2.0", id: 1, error: { code, message: "out of range" } }))
        link.deliver(JsonRpc.success(2, {}))
        yield* Fiber.join(other)
        assert.strictEqual((yield* reasonOf(fiber))._tag, "MalformedResponse")
      }))
  }

  it.effect("[MSG-27] with an invalid result fails only its request, with the method and the path", () =>
    Effect.gen(function*() {
      const { fiber, raw, session } = yield* pendingCall()
      yield* raw.send(JsonRpc.success(1, { content: [{ type: "text", text: 42 }] }))
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error.method, "tools/call")
      assert.strictEqual(error.reason._tag, "InvalidResult")
      if (error.reason._tag !== "InvalidResult") return
      assert.include(error.reason.problem, "content")
      assert.notInclude(error.reason.problem, "\n")
      const ping = yield* start(session.ping())
      yield* raw.send(JsonRpc.success(2, {}))
      yield* Fiber.join(ping)
    }))

  for (const result of [null, [], "text", 0, { content: {} }]) {
    it.effect(`with the result ${JSON.stringify(result)} fails tools/call as InvalidResult`, () =>
      Effect.gen(function*() {
        const { fiber, raw } = yield* pendingCall()
        yield* raw.send({ jsonrpc: "2.0", id: 1, result })
        assert.strictEqual((yield* reasonOf(fiber))._tag, "InvalidResult")
      }))
  }

  it.effect("returns the received result object itself, with its unknown members", () =>
    Effect.gen(function*() {
      const { fiber, raw } = yield* pendingCall({ pair: MemoryTransport.make({ serialization: "none" }) })
      const result = {
        content: [{ type: "text", text: "x", annotations: { audience: ["user"] }, future: { deep: [1] } }],
        structuredContent: { a: 1 },
        resultType: "complete",
        __proto__: null
      }
      yield* raw.send(JsonRpc.success(1, result))
      assert.strictEqual<unknown>(yield* Fiber.join(fiber), result)
    }))

  it.effect("keeps unknown members over a transport that serializes", () =>
    Effect.gen(function*() {
      const { fiber, raw } = yield* pendingCall()
      const result = { content: [{ type: "text", text: "x", future: [1, { a: null }] }], resultType: "complete" }
      yield* raw.send({ jsonrpc: "2.0", id: 1, result, trace: "an unknown member" })
      assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
    }))
})
