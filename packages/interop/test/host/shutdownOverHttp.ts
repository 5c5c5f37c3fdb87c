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
import { make, withScript } from "./conditions.ts"
import { serverRequest } from "./results.ts"

export const shutdownOverHttp = (it: Vitest.MethodsNonLive, listener: HttpListener.Listener) => {
  it.effect("[SHS-28] [law 1] [law 2] the host closes: calls fail with Closed, and the session is deleted", () => {
    const server = HttpListener.server(listener, () => `${listener.address()}/stateful`)
    const host = make(Revision.latestLegacy, server, { gracefulTimeout: "50 millis" })
    return Effect.gen(function*() {
      const scope = yield* Scope.make()
      const run = Effect.provideContext(yield* Layer.buildWithScope(host.layer, scope))
      const session = yield* run(ClientSession.ClientSession)
      const started = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const createMessage = () =>
        Effect.andThen(
          Deferred.succeed(started, undefined),
          Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
        )
      const params = { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 1 }
      const sampling = withScript(host, { createMessage }, run(serverRequest("sampling/createMessage", params)))
      const reminder = Effect.asVoid(session.callTool("remind", { text: "", afterMs: 60_000 }))
      const calls = yield* Effect.forkChild(
        Effect.forEach([reminder, Effect.asVoid(sampling)], Effect.flip, { concurrency: 2 })
      )
      yield* Deferred.await(started)
      yield* Scope.close(scope, Exit.void)
      const closed = { _tag: "Closed" as const, reason: { _tag: "Requested" as const }, isSent: true }
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
