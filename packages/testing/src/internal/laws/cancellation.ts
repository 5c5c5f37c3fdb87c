/** Laws of cancellation. */

import { JsonRpc } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as assert from "node:assert/strict"
import type { TransportLaw } from "../../laws/TransportLaw.ts"
import type { ClientEnd } from "../../laws/TransportSubject.ts"
import { law, topic } from "./Law.ts"
import { call, eventually, isRecord, type LawContext, reported, structured } from "./LawContext.ts"

/** Returns the laws of cancelled requests, on both sides. */
export const cancellation = <Served extends ClientEnd>(
  { open, openRawAndInitialized }: LawContext<Served>
): ReadonlyArray<TransportLaw> =>
  topic("cancellation", [
    law(
      "[CAN-04] law 8: interrupting the caller interrupts the handler, once",
      Effect.gen(function*() {
        const session = yield* open()
        const waiting = yield* Effect.forkChild(session.callTool("wait"))
        yield* eventually(Effect.map(reported(session), (report) => report.waiting === 1))
        yield* Fiber.interrupt(waiting)
        yield* eventually(Effect.map(reported(session), (report) => report.interrupted === 1))
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      })
    ),

    law(
      "[TMO-03] [TMO-04] a deadline ends the call on both sides",
      Effect.gen(function*() {
        const session = yield* open()
        // On a busy machine, a call may end before it is sent, and the server never knows of it.
        for (const timeout of [50, 500, 4_000]) {
          const error = yield* Effect.flip(session.callTool("wait", {}, { timeout }))
          assert.deepStrictEqual(error.reason, { _tag: "Timeout", afterMillis: timeout })
          const { waiting } = yield* reported(session)
          if (waiting === 0) continue
          return yield* eventually(Effect.map(reported(session), (report) => report.interrupted === report.waiting))
        }
        assert.fail("no call reached the server before its deadline")
      })
    ),

    law(
      "[CAN-07] law 8: a cancellation directly after its request is not lost",
      Effect.gen(function*() {
        const peer = yield* openRawAndInitialized
        for (let id = 1; id <= 10; id++) {
          yield* peer.send(call(id, "wait"))
          yield* peer.send(JsonRpc.notification("notifications/cancelled", { requestId: id }))
        }
        yield* eventually(Effect.gen(function*() {
          yield* peer.send(call(100, "report"))
          const report = structured(yield* peer.response)
          return isRecord(report) && report["waiting"] === report["interrupted"] && report["waiting"] === 10
        }))
        assert.deepStrictEqual(yield* peer.pending, [])
      })
    ),

    law(
      "[CAN-05] [CAN-09] cancelling an unknown or finished request does nothing",
      Effect.gen(function*() {
        const peer = yield* openRawAndInitialized
        yield* peer.send(call(1, "echo", { value: 1 }))
        yield* peer.response
        for (const requestId of [1, "1", 99, null, {}]) {
          yield* peer.send(JsonRpc.notification("notifications/cancelled", { requestId }))
        }
        yield* peer.send(call(2, "echo", { value: 2 }))
        assert.deepStrictEqual(structured(yield* peer.response), { value: 2 })
      })
    )
  ])
