import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert, type Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpListener from "../fixtures/httpListener.ts"
import * as TcpProxy from "../fixtures/tcpProxy.ts"
import { make } from "./conditions.ts"
import { callForText, textOf } from "./results.ts"

/** Tests the host over a proxy that disconnects, with a server that has an event store. */
export const resumption = (it: Vitest.MethodsNonLive, listener: HttpListener.Listener) => {
  const run = <A, E>(
    program: (
      proxy: TcpProxy.TcpProxy,
      server: HttpListener.Server,
      host: ReturnType<typeof make>
    ) => Effect.Effect<A, E, ClientSession.ClientSession | Notifications.Notifications>
  ) =>
    Effect.gen(function*() {
      const proxy = yield* TcpProxy.make(`${listener.address()}/resumable`)
      const server = HttpListener.server(listener, () => proxy.url)
      const host = make(Revision.latestLegacy, server)
      return yield* Effect.provide(program(proxy, server, host), host.layer)
    })

  it.effect("[SHS-07] [SHS-19] [law 4] a call survives lost connections, and no progress is lost or duplicated", () =>
    run(Effect.fnUntraced(function*(proxy, { calls }, { events }) {
      const { callTool } = yield* ClientSession.ClientSession
      const received: Array<number> = []
      yield* proxy.disconnectAfterProgress(3)
      const result = yield* callTool("count", { to: 20, delayMs: 1 }, {
        onProgress: ({ progress }) => Effect.sync(() => received.push(progress))
      })
      assert.strictEqual(textOf(result), "20")
      assert.deepStrictEqual(received, Array.from({ length: 20 }, (_, index) => index + 1))
      assert.isTrue(calls.some(({ lastEventId, method }) => method === "GET" && lastEventId !== undefined))
      assert.includeMembers(
        events.flatMap((event) => event._tag === "StreamLost" || event._tag === "StreamResumed" ? [event.method] : []),
        ["tools/call", undefined]
      )
    })))

  it.effect("[SHS-06] [SHS-07] the host resumes the stream of a call after the server closes it", () =>
    run(Effect.fnUntraced(function*(_, { calls }) {
      assert.strictEqual(yield* callForText("close-stream", { afterMs: 100 }), "finished")
      assert.isTrue(calls.some(({ lastEventId, method }) => method === "GET" && lastEventId !== undefined))
    })))

  it.effect("[SHS-19] notifications that are sent while the standalone stream is disconnected arrive later, once", () =>
    run(Effect.fnUntraced(function*(proxy) {
      const { ping } = yield* ClientSession.ClientSession
      const method = "notifications/resources/updated"
      const notify = (number: number) => callForText("notify", { method, params: { uri: `bead:///${number}` } })
      const nextUpdate = Effect.map(Notifications.next(method), ({ params }) => params)
      // These servers start this stream without an event id, so that messages before the first event cannot be resumed.
      yield* notify(0)
      assert.deepStrictEqual(yield* nextUpdate, { uri: "bead:///0" })
      for (let number = 1; number <= 5; number++) {
        yield* proxy.disconnect
        // The proxy also resets the pooled connection. Only the next request notices that.
        yield* Effect.eventually(ping())
        yield* notify(number)
      }
      for (let number = 1; number <= 5; number++) {
        assert.deepStrictEqual(yield* nextUpdate, { uri: `bead:///${number}` })
      }
    })))
}
