/** Laws of clients that leave. */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import type { ClientEnd, Subject, SubjectFaults } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { eventually, type LawContext, reported, untilWaiting } from "./LawContext.ts"

/** Returns the law of a client that leaves a server without sessions. */
const withoutSession = <Served extends ClientEnd>({ connect, serve }: Pick<LawContext<Served>, "connect" | "serve">) =>
  law("[CAN-12] law 2: the handlers of its requests are interrupted", function*() {
    const served = yield* serve
    const scope = yield* Scope.make()
    const session = yield* Scope.provide(connect(served), scope)
    const other = yield* connect(served)
    const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("wait", {}, { timeout: "Infinity" })))
    yield* untilWaiting(other, 1)
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual((yield* Fiber.join(waiting)).reason._tag, "Closed")
    yield* eventually(Effect.map(reported(other), ({ interrupted }) => interrupted === 1))
  })

/**
 * Returns the laws of clients that leave: a transport closes its connection with its scope, and the server observes it.
 */
export const clientDisconnects = <Served extends ClientEnd>(
  { connect, connectRaw, era, serve, sessionFirst }: LawContext<Served>,
  ended: NonNullable<Subject<Served>["ended"]>,
  stall: SubjectFaults<Served>["stall"]
): ReadonlyArray<Timeless> =>
  topic("a client that leaves", [
    law("law 2: the connection ends with the scope of its session", function*() {
      const served = yield* serve
      const scope = yield* Scope.make()
      const session = yield* Scope.provide(connect(served), scope)
      const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("wait", {}, { timeout: "Infinity" })))
      yield* untilWaiting(session, 1)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(waiting)).reason._tag, "Closed")
      yield* ended(served)
    }),

    law("law 2: it ends also if no message was ever sent", function*() {
      const served = yield* serve
      yield* Effect.scoped(connectRaw(served))
      yield* ended(served)
    }),

    // Its server has no connection that could end, but a request of another client shows what it still serves.
    ...era === "modern" && sessionFirst ? [withoutSession({ connect, serve })] : [],

    ...stall === undefined ? [] : [
      law("law 2: it ends also if the server has stopped reading", function*() {
        const served = yield* serve
        const scope = yield* Scope.make()
        const session = yield* Scope.provide(connect(served, { limits: { gracefulTimeout: 100 } }), scope)
        yield* stall.begin(served)
        const call = yield* Effect.forkChild(Effect.flip(session.callTool("echo", { value: 1 })))
        yield* Effect.sleep(20)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual((yield* Fiber.join(call)).reason._tag, "Closed")
        yield* stall.end(served)
        yield* ended(served)
      })
    ]
  ])
