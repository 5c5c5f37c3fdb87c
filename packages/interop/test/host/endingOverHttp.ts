import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert, type Vitest } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as HttpListener from "../fixtures/httpListener.ts"
import { answering, make } from "./conditions.ts"
import { asked } from "./results.ts"

export const endingOverHttp = (it: Vitest.MethodsNonLive, listener: HttpListener.Listener) => {
  it.effect("[SHS-28] [law 1] [law 2] the host ends: calls in hand end with that, and the server is told to forget the session", () => {
    const server = HttpListener.server(listener, () => `${listener.address()}/stateful`)
    const host = make(Revision.latest, server, { gracefulCloseTimeout: "50 millis" })
    return Effect.gen(function*() {
      const scope = yield* Scope.make()
      const run = Effect.provideContext(yield* Layer.buildWithScope(host.layer, scope))
      const session = yield* run(ClientSession.ClientSession)
      const begun = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const createMessage = () =>
        Effect.andThen(
          Deferred.succeed(begun, undefined),
          Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
        )
      const question = { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 1 }
      const asking = answering(host, { createMessage }, run(asked("sampling/createMessage", question)))
      const reminding = Effect.asVoid(session.callTool("remind", { text: "", afterMs: 60_000 }))
      const calls = yield* Effect.forkChild(
        Effect.forEach([reminding, Effect.asVoid(asking)], Effect.flip, { concurrency: 2 })
      )
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      const closed = { _tag: "Closed" as const, reason: { _tag: "Requested" as const } }
      assert.deepStrictEqual((yield* Fiber.join(calls)).map(({ reason }) => reason), [closed, closed])
      yield* Deferred.await(interrupted)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      const last = server.calls.at(-1)
      assert.deepInclude(last, { method: "DELETE", status: 200 })
      const status = yield* Effect.promise(() =>
        fetch(`${listener.address()}/stateful`, {
          method: "DELETE",
          headers: { "mcp-session-id": last?.sessionId ?? "" }
        }).then(({ status }) => status)
      )
      assert.strictEqual(status, 404)
    })
  })
}
