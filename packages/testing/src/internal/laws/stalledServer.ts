/** Laws of a server that stops reading. */

import type { SessionEvent } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as assert from "node:assert/strict"
import type { Era } from "../../laws/law/TransportLaw.ts"
import type { ClientEnd, SubjectFaults } from "../../laws/law/TransportSubject.ts"
import { memberOf } from "../arbitrary/jsonValues.ts"
import { law, type Timeless, topic, type Unsorted } from "./Law.ts"
import { eventually, isOdd, type LawContext, reported, structured } from "./LawContext.ts"

/** More than all buffers on the way hold, in messages of a size that every reader accepts. */
const padding = "x".repeat(1024 * 1024)
const paddings = 24

/** Returns the rule that a sender cancels only its own requests in flight. */
const ownRequests = (era: Era): string => era === "legacy" ? "[CAN-01]" : "[CAN-10]"

/** On a connection with one stream, messages leave in order. */
const ofOneStream = <Served extends ClientEnd>(
  { connect, era, serve }: Pick<LawContext<Served>, "connect" | "era" | "serve">,
  stall: NonNullable<SubjectFaults<Served>["stall"]>
): ReadonlyArray<Unsorted> => [
  law(
    `${ownRequests(era)} laws 8 and 12: a request that waits for the transport is withdrawn without a message`,
    function*() {
      const told: Array<SessionEvent.SessionEvent> = []
      const served = yield* serve
      const session = yield* connect(served, { observe: (event) => event._tag === "CancelSent" && told.push(event) })
      yield* stall.begin(served)
      const fillers = yield* Effect.forEach(
        Array.from({ length: paddings }),
        () => Effect.forkChild(session.callTool("unit", { padding }))
      )
      const waiting = yield* Effect.forkChild(session.callTool("wait"))
      yield* Effect.sleep(20)
      yield* Fiber.interrupt(waiting)
      yield* stall.end(served)
      yield* Effect.forEach(fillers, Fiber.join)
      assert.deepStrictEqual(told, [])
      assert.deepStrictEqual(yield* reported(session), { waiting: 0, interrupted: 0, listening: 0 })
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }
  ),

  law(
    "laws 1 and 12: a session with a peer that reads nothing for too long ends, and every call with its close reason",
    function*() {
      const served = yield* serve
      const session = yield* connect(served, { limits: { writeTimeout: 100 } })
      yield* stall.begin(served)
      const calls = yield* Effect.forEach(
        Array.from({ length: paddings }),
        () => Effect.forkChild(Effect.flip(session.callTool("unit", { padding }, { timeout: "Infinity" })))
      )
      const stalled = { _tag: "PeerStalled", afterMillis: 100 }
      assert.deepStrictEqual(yield* session.closed, stalled)
      for (const { reason } of yield* Effect.forEach(calls, Fiber.join)) {
        // Those that still waited for the transport were not sent.
        const isSent = reason._tag === "Closed" && reason.isSent
        assert.deepStrictEqual(reason, { _tag: "Closed", reason: stalled, isSent })
      }
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }
  )
]

/** Returns the law of the order of messages that wait. */
const ofOrder = <Served extends ClientEnd>(
  { call, cancel, connectReady, serve }: Pick<LawContext<Served>, "call" | "cancel" | "connectReady" | "serve">,
  stall: NonNullable<SubjectFaults<Served>["stall"]>
) =>
  law(
    "[CAN-07] law 8: waiting messages are sent in their order, so that no cancellation arrives before its request",
    function*() {
      const served = yield* serve
      const peer = yield* connectReady(served)
      yield* stall.begin(served)
      const sending = yield* Effect.forkChild(Effect.gen(function*() {
        for (let id = 1; id <= 10; id++) {
          yield* peer.send(call(id, "wait"))
          yield* cancel(peer, id)
        }
      }))
      yield* Effect.sleep(20)
      yield* stall.end(served)
      yield* Fiber.join(sending)
      let id = 100
      yield* eventually(Effect.gen(function*() {
        yield* peer.send(call(id++, "report"))
        const report = structured(yield* peer.response)
        return memberOf(report, "waiting") === 10 && memberOf(report, "interrupted") === 10
      }))
      assert.deepStrictEqual(yield* peer.pending, [])
    }
  )

/** Returns the laws of a server that stops reading for some time. */
export const stalledServer = <Served extends ClientEnd>(
  { call, cancel, cancelsByStream, connect, connectReady, era, form, serve }: LawContext<Served>,
  stall: NonNullable<SubjectFaults<Served>["stall"]>
): ReadonlyArray<Timeless> =>
  topic("a stalled peer", [
    law("[MSG-07] laws 1 and 3: requests sent meanwhile are answered afterwards, and none is lost", function*() {
      const odd: Array<SessionEvent.SessionEvent> = []
      const served = yield* serve
      const session = yield* connect(served, { observe: (event) => isOdd(event) && odd.push(event) })
      yield* stall.begin(served)
      const values = Array.from({ length: 20 }, (_, index) => `value ${index}`)
      const calls = yield* Effect.forEach(values, (value) => Effect.forkChild(session.callTool("echo", { value })))
      yield* Effect.sleep(20)
      yield* stall.end(served)
      const results = yield* Effect.forEach(calls, Fiber.join)
      assert.deepStrictEqual(results.map((result) => result.structuredContent), values.map((value) => ({ value })))
      assert.deepStrictEqual(odd, [])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }),

    // A cancellation that closes a stream has no place in an order.
    ...cancelsByStream ? [] : [ofOrder({ call, cancel, connectReady, serve }, stall)],

    law("[TMO-03] law 1: a deadline ends a call meanwhile, and the session continues", function*() {
      const served = yield* serve
      const session = yield* connect(served)
      yield* stall.begin(served)
      const { reason } = yield* Effect.flip(session.callTool("echo", { value: 1 }, { timeout: 50 }))
      assert.deepStrictEqual(reason, { _tag: "Timeout", afterMillis: 50 })
      yield* stall.end(served)
      const { structuredContent } = yield* session.callTool("echo", { value: 2 })
      assert.deepStrictEqual(structuredContent, { value: 2 })
    }),

    law(
      `[${era === "legacy" ? "CAN-04" : "CAN-12"}] law 8: a request interrupted meanwhile is not left running`,
      function*() {
        const served = yield* serve
        const session = yield* connect(served)
        yield* stall.begin(served)
        const waiting = yield* Effect.forkChild(session.callTool("wait"))
        yield* Effect.sleep(20)
        yield* Fiber.interrupt(waiting)
        yield* stall.end(served)
        // The request may have been withdrawn, or started and cancelled. A later call shows which.
        yield* session.callTool("echo", { value: 1 })
        yield* eventually(Effect.map(reported(session), ({ interrupted, waiting }) => waiting === interrupted))
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      }
    ),

    ...form === "StreamPerRequest" ? [] : ofOneStream({ connect, era, serve }, stall)
  ])
