/** Laws of sessions that this side closes. */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import * as FiberCount from "../../FiberCount.ts"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { eventually, type LawContext, reported, stillServed } from "./LawContext.ts"

/** Returns the laws of sessions that this side closes. */
export const closing = <Served extends ClientEnd>({ open }: LawContext<Served>): ReadonlyArray<Timeless> =>
  topic("the end", [
    law("law 1: requests in flight when the session closes end with the close reason", function*() {
      const session = yield* open()
      const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("wait")))
      yield* eventually(Effect.map(reported(session), (report) => report.waiting === 1))
      assert.deepStrictEqual(yield* session.close, { _tag: "Requested" })
      const { reason } = yield* Fiber.join(waiting)
      assert.deepStrictEqual(reason, { _tag: "Closed", reason: { _tag: "Requested" }, isSent: true })
      const later = yield* Effect.flip(stillServed(session))
      assert.deepStrictEqual(later.reason, { _tag: "Closed", reason: { _tag: "Requested" }, isSent: false })
    }),

    law(
      "law 2: after the scope has closed, also while the client is asked, no fiber and no exchange is left",
      function*() {
        const fibers = FiberCount.make()
        yield* fibers.count(Effect.gen(function*() {
          const scope = yield* Scope.make()
          let asked = 0
          const session = yield* Scope.provide(
            open({
              handlers: {
                "elicitation/create": () =>
                  Effect.suspend(() => {
                    asked++
                    return Effect.never
                  })
              }
            }),
            scope
          )
          const calls = yield* Effect.forEach(
            ["wait", "echo", "pingClient", "ask"],
            (tool) => Effect.forkDetach(Effect.exit(session.callTool(tool)))
          )
          yield* eventually(Effect.map(reported(session), (report) => report.waiting === 1 && asked === 1))
          yield* Scope.close(scope, Exit.void)
          yield* Effect.forEach(calls, Fiber.join)
          assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
          assert.strictEqual((yield* session.state)._tag, "Closed")
        }))
        yield* eventually(Effect.sync(() => fibers.living() === 0))
      }
    ),

    law("law 10: two sessions do not affect each other", function*() {
      const [one, two] = [yield* open(), yield* open()]
      const waiting = yield* Effect.forkChild(one.callTool("wait"))
      yield* eventually(Effect.map(reported(one), (report) => report.waiting === 1))
      assert.deepStrictEqual(yield* reported(two), { waiting: 0, interrupted: 0, listening: 0 })
      yield* one.close
      yield* Fiber.await(waiting)
      yield* stillServed(two)
    })
  ])
