/** Laws of connections that break. */

import type { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import type { Transport } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import * as FiberCount from "../../FiberCount.ts"
import type { Era } from "../../laws/law/TransportLaw.ts"
import type { ClientEnd, SubjectFaults } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { eventually, type LawContext, stillServed, untilWaiting } from "./LawContext.ts"

/** Returns the rule about the failures of the handshake. */
const openingFails = (era: Era): string => era === "legacy" ? "[INIT-16] " : ""

/** Returns whether this is a close reason of a session whose connection broke. */
const isBreak = ({ _tag }: CloseReason.CloseReason): boolean => _tag === "PeerEnded" || _tag === "TransportFailed"

const sayBroken = (reason: CloseReason.CloseReason) =>
  assert.ok(isBreak(reason), `closed as ${reason._tag} and not as PeerEnded or TransportFailed`)

/** Returns an end whose connection a law can affect. */
const tampered = (
  end: ClientEnd,
  tamper: (connection: Transport.Connection) => Effect.Effect<Transport.Connection>
): ClientEnd => ({ connect: Effect.flatMap(end.connect, tamper) })

/** Returns a connection on which an action happens with its first message. */
const onFirstMessage = (connection: Transport.Connection, act: Effect.Effect<unknown>): Transport.Connection => {
  let first = true
  const meanwhile = <A, E>(send: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      if (!first) return send
      first = false
      return Effect.andThen(Effect.forkDetach(act), send)
    })
  const { request } = connection
  return {
    ...connection,
    send: (outbound) => meanwhile(connection.send(outbound)),
    ...(request !== undefined && { request: (message: JsonRpc.Request) => meanwhile(request(message)) })
  }
}

/** Returns the laws of a connection that breaks at any moment. */
export const brokenConnections = <Served extends ClientEnd>(
  { connect, era, form, open, serve }: LawContext<Served>,
  cut: NonNullable<SubjectFaults<Served>["cut"]>
): ReadonlyArray<Timeless> =>
  topic("a connection that breaks", [
    law(
      `${openingFails(era)}law 1: if it breaks before the first message, opening the session fails with a reason`,
      function*() {
        const served = yield* serve
        const end = tampered(served, (connection) => Effect.as(Effect.orDie(cut(served)), connection))
        const error = yield* Effect.flip(
          connect(end, { limits: { handshakeTimeout: "1 hour", discoverTimeout: "1 hour" } })
        )
        assert.strictEqual(error.reason._tag, "Closed")
        assert.ok(error.reason._tag === "Closed")
        sayBroken(error.reason.reason)
      }
    ),

    law(
      `${openingFails(era)}law 1: if it breaks at the first message, opening the session fails, or the session ends`,
      function*() {
        const served = yield* serve
        const end = tampered(
          served,
          (connection) => Effect.succeed(onFirstMessage(connection, Effect.orDie(cut(served))))
        )
        const reason = yield* connect(end, { limits: { handshakeTimeout: "1 hour", discoverTimeout: "1 hour" } }).pipe(
          Effect.matchEffect({
            onSuccess: (session) => session.closed,
            onFailure: ({ reason }) =>
              Effect.sync(() => {
                assert.ok(reason._tag === "Closed", `the handshake ended as ${reason._tag}`)
                return reason.reason
              })
          })
        )
        sayBroken(reason)
      }
    ),

    law("law 1: with nothing in flight the session ends, and later calls fail with its close reason", function*() {
      const served = yield* serve
      const session = yield* connect(served)
      yield* cut(served)
      const reason = yield* session.closed
      sayBroken(reason)
      assert.strictEqual((yield* session.state)._tag, "Closed")
      const { reason: ofLater } = yield* Effect.flip(stillServed(session))
      assert.deepStrictEqual(ofLater, { _tag: "Closed", reason, isSent: false })
    }),

    law("law 1: every call in flight ends once, with the close reason", function*() {
      const served = yield* serve
      const session = yield* connect(served)
      let steps = 0
      let endings = 0
      const pending = (tool: string, input: { readonly [name: string]: number } = {}) =>
        session.callTool(tool, input, {
          timeout: "Infinity",
          totalTimeout: "Infinity",
          onProgress: () => Effect.sync(() => steps++)
        }).pipe(
          Effect.flip,
          Effect.tap(() => Effect.sync(() => endings++)),
          Effect.forkChild
        )
      const calls = [
        yield* pending("wait"),
        yield* pending("wait"),
        yield* pending("steps", { count: 1_000_000, gapMillis: 5 })
      ]
      yield* untilWaiting(session, 2)
      yield* eventually(Effect.sync(() => steps > 0))
      yield* cut(served)
      const ends = yield* Effect.forEach(calls, Fiber.join)
      const reason = yield* session.closed
      sayBroken(reason)
      for (const end of ends) {
        // With a stream for each request, that stream may be the first to end.
        const ofStream = form === "StreamPerRequest" &&
          (end.reason._tag === "SendFailed" || end.reason._tag === "OutcomeUnknown")
        if (!ofStream) assert.deepStrictEqual(end.reason, { _tag: "Closed", reason, isSent: true })
      }
      assert.strictEqual(endings, 3)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }),

    law("law 1: a call during whose question it breaks ends with the close reason", function*() {
      const served = yield* serve
      let asked = 0
      const session = yield* connect(served, {
        handlers: {
          "elicitation/create": () =>
            Effect.suspend(() => {
              asked++
              return Effect.never
            })
        }
      })
      const asking = yield* Effect.forkChild(
        Effect.flip(session.callTool("ask", { message: "Still there?" }, { timeout: "Infinity" }))
      )
      yield* eventually(Effect.sync(() => asked === 1))
      yield* cut(served)
      const { reason: end } = yield* Fiber.join(asking)
      const reason = yield* session.closed
      sayBroken(reason)
      // In a session the call is in flight meanwhile: its stream may be the first to end, or its handler the first to
      // fail, because the server has lost the client.
      const inSession = era === "legacy" &&
        (end._tag === "SendFailed" || end._tag === "OutcomeUnknown" || end._tag === "ErrorResponse")
      if (!inSession) assert.deepStrictEqual(end, { _tag: "Closed", reason, isSent: true })
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }),

    law("law 1: the close reason of a closing session does not change", function*() {
      const served = yield* serve
      const session = yield* connect(served)
      const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("wait", {}, { timeout: "Infinity" })))
      yield* untilWaiting(session, 1)
      const closing = yield* Effect.forkChild(session.close, { startImmediately: true })
      yield* cut(served)
      assert.deepStrictEqual(yield* Fiber.join(closing), { _tag: "Requested" })
      assert.deepStrictEqual((yield* Fiber.join(waiting)).reason, {
        _tag: "Closed",
        reason: { _tag: "Requested" },
        isSent: true
      })
    }),

    law("law 2: nothing is left of a session whose connection broke", function*() {
      const fibers = FiberCount.make()
      yield* fibers.count(Effect.gen(function*() {
        const scope = yield* Scope.make()
        const served = yield* Scope.provide(serve, scope)
        const session = yield* Scope.provide(connect(served), scope)
        const calls = yield* Effect.forEach(
          ["wait", "wait"],
          (tool) => Effect.forkDetach(Effect.exit(session.callTool(tool, {}, { timeout: "Infinity" })))
        )
        yield* untilWaiting(session, 2)
        yield* cut(served)
        yield* Effect.forEach(calls, Fiber.join)
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      }))
      yield* eventually(Effect.sync(() => fibers.living() === 0))
    }),

    law("law 10: the session of another connection continues", function*() {
      const served = yield* serve
      const broken = yield* connect(served)
      const other = yield* open()
      const waiting = yield* Effect.forkChild(other.callTool("wait"))
      yield* untilWaiting(other, 1)
      yield* cut(served)
      yield* broken.closed
      assert.strictEqual(waiting.pollUnsafe(), undefined)
      yield* stillServed(other)
    })
  ])
