/** Laws of cancellation. */

import { JsonRpc } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as assert from "node:assert/strict"
import type { Era } from "../../laws/law/TransportLaw.ts"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { memberOf } from "../arbitrary/jsonValues.ts"
import { law, type Timeless, topic } from "./Law.ts"
import {
  answering,
  eventually,
  type LawContext,
  reported,
  stillServed,
  structured,
  untilWaiting
} from "./LawContext.ts"

/** Returns the rule that the receiver of a cancellation stops. */
const receiverStops = (era: Era): string => era === "legacy" ? "[CAN-04]" : "[CAN-12]"

/** Returns the law of cancellations that cancel nothing. */
const irrelevantCancellations = <Served extends ClientEnd>(
  { call, openReady }: Pick<LawContext<Served>, "call" | "openReady">
) =>
  law("[CAN-05] [CAN-09] cancelling an unknown or finished request does nothing", function*() {
    const peer = yield* openReady
    yield* peer.send(call(1, "echo", { value: 1 }))
    yield* peer.response
    for (const requestId of [1, "1", 99, null, {}]) {
      yield* peer.send(JsonRpc.notification("notifications/cancelled", { requestId }))
    }
    yield* peer.send(call(2, "echo", { value: 2 }))
    assert.deepStrictEqual(structured(yield* peer.response), { value: 2 })
  })

/** Returns the law of a question to the client whose call is cancelled. */
const interruptedAnswer = <Served extends ClientEnd>({ era, open }: Pick<LawContext<Served>, "era" | "open">) =>
  law(
    `${era === "legacy" ? "[CAN-04] " : ""}law 8: interrupting a call while the client is asked interrupts the answer`,
    function*() {
      let asked = 0
      let interrupted = 0
      const session = yield* open({
        handlers: {
          "elicitation/create": () =>
            Effect.suspend(() => {
              asked++
              return Effect.onInterrupt(Effect.never, () =>
                Effect.sync(() => {
                  interrupted++
                }))
            })
        }
      })
      const asking = yield* Effect.forkChild(session.callTool("ask", { message: "How long?" }))
      yield* eventually(Effect.sync(() => asked === 1))
      yield* Fiber.interrupt(asking)
      yield* eventually(Effect.sync(() => interrupted === 1))
      yield* eventually(Effect.map(session.inFlight, ({ sent, served }) => sent === 0 && served === 0))
      yield* stillServed(session)
      assert.strictEqual(asked, 1)
    }
  )

/** Returns the laws of cancelled requests, on both sides. */
export const cancellation = <Served extends ClientEnd>(
  { call, cancel, cancelsByStream, era, form, open, openReady }: LawContext<Served>
): ReadonlyArray<Timeless> =>
  topic("cancellation", [
    law(`${receiverStops(era)} law 8: interrupting the caller interrupts the handler, once`, function*() {
      const session = yield* open()
      const waiting = yield* Effect.forkChild(session.callTool("wait"))
      yield* eventually(Effect.map(reported(session), (report) => report.waiting === 1))
      yield* Fiber.interrupt(waiting)
      yield* eventually(Effect.map(reported(session), (report) => report.interrupted === 1))
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }),

    law("[TMO-03] [TMO-04] a deadline ends the call on both sides", function*() {
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
    }),

    law("[CAN-07] law 8: a cancellation directly after its request is not lost", function*() {
      const peer = yield* openReady
      let next = 100
      const report = Effect.gen(function*() {
        yield* peer.send(call(next++, "report"))
        return structured(yield* peer.response)
      })
      for (let id = 1; id <= 10; id++) {
        yield* peer.send(call(id, "wait"))
        // A stream that is closed too early never carries its request.
        if (cancelsByStream) yield* eventually(Effect.map(report, (report) => memberOf(report, "waiting") === id))
        yield* cancel(peer, id)
      }
      yield* eventually(
        Effect.map(report, (report) => memberOf(report, "waiting") === 10 && memberOf(report, "interrupted") === 10)
      )
      assert.deepStrictEqual(yield* peer.pending, [])
    }),

    // In a session with streams, the server cannot withdraw its question: the client has closed the stream for it.
    ...era === "legacy" && form === "StreamPerRequest" ? [] : [interruptedAnswer({ era, open })],

    law(
      `${receiverStops(era)} law 8: interrupting a call after the client was asked interrupts the handler, once`,
      function*() {
        const session = yield* open({ handlers: answering })
        const waiting = yield* Effect.forkChild(session.callTool("ask", { message: "Wait?", thenWait: true }))
        yield* untilWaiting(session, 1)
        yield* Fiber.interrupt(waiting)
        yield* eventually(Effect.map(reported(session), (report) => report.interrupted === 1))
        assert.deepStrictEqual(yield* reported(session), { waiting: 1, interrupted: 1, listening: 0 })
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      }
    ),

    // A stream that has ended cannot be closed.
    ...cancelsByStream ? [] : [irrelevantCancellations({ call, openReady })]
  ])
