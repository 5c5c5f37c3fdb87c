/** Laws of clients that leave. */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import type { TransportLaw } from "../../laws/TransportLaw.ts"
import type { ClientEnd, Subject, SubjectFaults } from "../../laws/TransportSubject.ts"
import { law, topic } from "./Law.ts"
import { type LawContext, untilWaiting } from "./LawContext.ts"

/**
 * Returns the laws of clients that leave: a transport closes its connection with its scope, and the server observes it.
 */
export const clientDisconnects = <Served extends ClientEnd>(
  { connect, connectRaw, serve }: LawContext<Served>,
  ended: NonNullable<Subject<Served>["ended"]>,
  stall: SubjectFaults<Served>["stall"]
): ReadonlyArray<TransportLaw> =>
  topic("a client that leaves", [
    law(
      "law 2: the connection ends with the scope of its session",
      Effect.gen(function*() {
        const served = yield* serve
        const scope = yield* Scope.make()
        const session = yield* Scope.provide(connect(served), scope)
        const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("wait", {}, { timeout: "Infinity" })))
        yield* untilWaiting(session, 1)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual((yield* Fiber.join(waiting)).reason._tag, "Closed")
        yield* ended(served)
      })
    ),

    law(
      "law 2: it ends also if no message was ever sent",
      Effect.gen(function*() {
        const served = yield* serve
        yield* Effect.scoped(connectRaw(served))
        yield* ended(served)
      })
    ),

    ...stall === undefined ? [] : [
      law(
        "law 2: it ends also if the server has stopped reading",
        Effect.gen(function*() {
          const served = yield* serve
          const scope = yield* Scope.make()
          const session = yield* Scope.provide(connect(served, { limits: { gracefulCloseTimeout: 100 } }), scope)
          yield* stall.begin(served)
          const call = yield* Effect.forkChild(Effect.flip(session.callTool("echo", { value: 1 })))
          yield* Effect.sleep(20)
          yield* Scope.close(scope, Exit.void)
          assert.strictEqual((yield* Fiber.join(call)).reason._tag, "Closed")
          yield* stall.end(served)
          yield* ended(served)
        })
      )
    ]
  ])
