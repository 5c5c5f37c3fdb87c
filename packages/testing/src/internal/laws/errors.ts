/** Laws of errors. */

import { JsonRpc } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as assert from "node:assert/strict"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { errorCode, type LawContext, stillServed, structured } from "./LawContext.ts"

/** Returns the laws of errors, and of their consequences. */
export const errors = <Served extends ClientEnd>(
  { call, cancelsByStream, open, openReady, request }: LawContext<Served>
): ReadonlyArray<Timeless> =>
  topic("errors", [
    law("[MSG-10] an error keeps its code and message", function*() {
      const session = yield* open()
      const error = yield* Effect.flip(session.callTool("fail", { code: -4711, message: "not today" }))
      assert.strictEqual(error.reason._tag, "ErrorResponse")
      assert.strictEqual(error.reason._tag === "ErrorResponse" && error.reason.error.code, -4711)
      assert.strictEqual(error.reason._tag === "ErrorResponse" && error.reason.error.message, "not today")
    }),

    law("law 5: the reply for a handler that dies, or throws null, does not contain the defect", function*() {
      const session = yield* open()
      for (const tool of ["die", "throwNull"]) {
        const { reason } = yield* Effect.flip(session.callTool(tool))
        assert.strictEqual(reason._tag, "ErrorResponse")
        if (reason._tag !== "ErrorResponse") return
        assert.strictEqual(reason.error.code, -32603)
        assert.strictEqual(reason.error.message, "Internal error")
        assert.strictEqual(reason.error.data, undefined)
      }
      yield* stillServed(session)
    }),

    law("an unknown method is rejected with −32601, invalid params with −32602", function*() {
      const peer = yield* openReady
      for (const method of ["no/such", "__proto__", "constructor", "sampling/createMessage"]) {
        yield* peer.send(request(method, method))
        const response = yield* peer.response
        assert.deepStrictEqual([response.id, errorCode(response)], [method, -32601])
      }
      yield* peer.send(request(2, "tools/call", { name: 1 }))
      assert.strictEqual(errorCode(yield* peer.response), -32602)
    }),

    law("[MSG-12] law 7: a frame that is not a message affects only itself", function*() {
      const peer = yield* openReady
      yield* peer.send(call(1, "echo", { value: 1 }))
      yield* peer.send({ ...request(0, "tools/list"), id: 1.5 })
      // Where each request has a stream, such a client sends nothing else.
      if (!cancelsByStream) {
        yield* peer.send(JsonRpc.notification("no/such/notification"))
        yield* peer.send(JsonRpc.success("never sent", {}))
      }
      yield* peer.send(call(2, "echo", { value: 2 }))
      const answers: Array<JsonRpc.Response> = []
      while (answers.length < 3) answers.push(yield* peer.response)
      assert.deepStrictEqual(answers.filter((response) => JsonRpc.isFailure(response)).map(errorCode), [-32600])
      const returned = answers.flatMap((response) => structured(response) ?? [])
      // Both are served at the same time, so either may be the first.
      assert.deepStrictEqual(new Set(returned), new Set([{ value: 1 }, { value: 2 }]))
    })
  ])
