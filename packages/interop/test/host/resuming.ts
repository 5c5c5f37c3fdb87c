import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert, type Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpListener from "../fixtures/httpListener.ts"
import * as Wire from "../fixtures/wire.ts"
import { make } from "./conditions.ts"
import { said, words } from "./results.ts"

/** The host over a wire that can be cut, with a server that remembers what it has sent. */
export const resuming = (it: Vitest.MethodsNonLive, listener: HttpListener.Listener) => {
  const begin = <A, E>(
    program: (
      wire: Wire.Wire,
      server: HttpListener.Server,
      host: ReturnType<typeof make>
    ) => Effect.Effect<A, E, ClientSession.ClientSession | Notifications.Notifications>
  ) =>
    Effect.gen(function*() {
      const wire = yield* Wire.make(`${listener.address()}/resumable`)
      const server = HttpListener.server(listener, () => wire.url)
      const host = make(Revision.latest, server)
      return yield* Effect.provide(program(wire, server, host), host.layer)
    })

  it.effect("[SHS-07] [SHS-19] [law 4] a call whose connection is cut goes on, and nothing is lost or heard twice", () =>
    begin(Effect.fnUntraced(function*(wire, { calls }, { events }) {
      const { callTool } = yield* ClientSession.ClientSession
      const heard: Array<number> = []
      yield* wire.cutAfterProgress(3)
      const result = yield* callTool("count", { to: 20, delayMs: 1 }, {
        onProgress: ({ progress }) => Effect.sync(() => heard.push(progress))
      })
      assert.strictEqual(words(result), "20")
      assert.deepStrictEqual(heard, Array.from({ length: 20 }, (_, index) => index + 1))
      assert.isTrue(calls.some(({ lastEventId, method }) => method === "GET" && lastEventId !== undefined))
      assert.includeMembers(
        events.flatMap((event) => event._tag === "StreamLost" || event._tag === "StreamResumed" ? [event.method] : []),
        ["tools/call", undefined]
      )
    })))

  it.effect("[SHS-06] [SHS-07] the server lets a connection go: the host comes back for the answer", () =>
    begin(Effect.fnUntraced(function*(_, { calls }) {
      assert.strictEqual(yield* said("doze", { afterMs: 100 }), "awake")
      assert.isTrue(calls.some(({ lastEventId, method }) => method === "GET" && lastEventId !== undefined))
    })))

  it.effect("[SHS-19] what is said on the server's own account while nobody listens is heard later, and once", () =>
    begin(Effect.fnUntraced(function*(wire) {
      const { ping } = yield* ClientSession.ClientSession
      const method = "notifications/resources/updated"
      const tell = (number: number) => said("tell", { method, params: { uri: `bead:///${number}` } })
      const told = Effect.map(Notifications.next(method), ({ params }) => params)
      // These servers begin this stream with nothing to come back behind, and forget what is said before the first event.
      yield* tell(0)
      assert.deepStrictEqual(yield* told, { uri: "bead:///0" })
      for (let number = 1; number <= 5; number++) {
        yield* wire.cut
        // A connection that was kept for the next request is cut as well, which only a request finds out.
        yield* Effect.eventually(ping())
        yield* tell(number)
      }
      for (let number = 1; number <= 5; number++) {
        assert.deepStrictEqual(yield* told, { uri: `bead:///${number}` })
      }
    })))
}
