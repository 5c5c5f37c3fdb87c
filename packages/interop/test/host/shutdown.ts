import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Child from "../fixtures/child.ts"
import { make, type Peer, withScript } from "./conditions.ts"
import { serverRequest } from "./results.ts"

export const shutdown = (peer: Peer) => {
  const connect = Effect.gen(function*() {
    const host = make(Revision.latestLegacy, Child.server(Child.file(peer.file)), { gracefulTimeout: "50 millis" })
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(host.layer, scope)
    const run = Effect.provideContext(context)
    return { host, run, session: yield* run(ClientSession.ClientSession), close: Scope.close(scope, Exit.void) }
  })

  /** Starts two calls of the host, one of which waits for a request to the host. */
  const pending = Effect.fnUntraced(function*({ host, run, session }: Effect.Success<typeof connect>) {
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
    return {
      reasons: Effect.map(Fiber.join(calls), (errors) => errors.map(({ reason }) => reason)),
      interrupted: Deferred.await(interrupted)
    }
  })

  it.live("[law 1] [law 2] the server exits: calls fail with its exit code, its requests are interrupted", () =>
    Effect.gen(function*() {
      const connection = yield* connect
      const { close, host: { server }, session } = connection
      const { interrupted, reasons } = yield* pending(connection)
      const { reason } = yield* Effect.flip(session.callTool("exit", { code: 3 }))
      assert(reason._tag === "Closed")
      assert(reason.reason._tag === "PeerEnded")
      assert.strictEqual(reason.reason.exit?.exitCode, 3)
      assert.deepStrictEqual(yield* reasons, [reason, reason])
      yield* interrupted
      assert.deepStrictEqual(yield* session.closed, reason.reason)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      yield* close
      assert.isFalse(Child.isRunning(server.pid()))
    }))

  it.live("[STD-07] [law 1] [law 2] the host closes: in-flight calls fail with Closed, and the server exits", () =>
    Effect.gen(function*() {
      const connection = yield* connect
      const { close, host: { server }, session } = connection
      const { interrupted, reasons } = yield* pending(connection)
      yield* close
      const closed = { _tag: "Closed" as const, reason: { _tag: "Requested" as const }, isSent: true }
      assert.deepStrictEqual(yield* reasons, [closed, closed])
      yield* interrupted
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.isFalse(Child.isRunning(server.pid()))
    }))
}
