import type { Revision } from "@effect-mcp/protocol"
import { assert, type Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import type { Path } from "../fixtures/httpServerPaths.ts"
import { HttpServers } from "../fixtures/httpServers.ts"
import { call, notificationsOf, OfficialClient, result, timedOutAfter } from "../fixtures/officialClient.ts"
import type { Peer } from "../fixtures/officialClients.ts"
import * as TcpProxy from "../fixtures/tcpProxy.ts"
import { members, textOf } from "./results.ts"

const http = Effect.map(OfficialClient, ({ http }) => {
  assert(http !== undefined)
  return http
})

/** The GETs that resumed a stream. */
const resumptions = Effect.map(http, ({ calls }) => calls.filter(({ lastEventId }) => lastEventId !== undefined))

/** Tests the server with clients that lose their connections. */
export const resumption = (
  it: Vitest.MethodsNonLive<HttpServers>,
  peer: Peer,
  revision: Revision.LegacyRevision,
  path: Path
) => {
  /** Runs a program with a client over a proxy that disconnects. */
  const overProxy = Effect.fnUntraced(function*<A, E>(
    program: (proxy: TcpProxy.TcpProxy) => Effect.Effect<A, E, OfficialClient | HttpServers>
  ) {
    const { target } = yield* HttpServers
    const server = target(path)
    assert(server._tag === "Address")
    const proxy = yield* TcpProxy.make(server.url)
    return yield* Effect.provide(program(proxy), peer.connect({ ...server, url: proxy.url }, revision))
  })

  it.effect("[SHS-10] [SHS-17] [SHS-18] [SHS-20] [law 4] a call survives a lost connection with all its progress", () =>
    overProxy(Effect.fnUntraced(function*(proxy) {
      const { received, sent } = yield* OfficialClient
      yield* proxy.disconnectAfterProgress(1)
      const indexed = yield* result("index", { delayMs: 1 }, { onprogress: () => {} })
      const token = () =>
        members(
          members(members(sent.findLast((message) => members(message)["method"] === "tools/call"))["params"])["_meta"]
        )[
          "progressToken"
        ]
      const steps = () =>
        received.map(members).filter(({ method }) => method === "notifications/progress").map(({ params }) =>
          members(params)
        ).filter(({ progressToken }) => progressToken === token()).map(({ progress }) => progress)
      const total = Number(/in (\d+) notes/.exec(textOf(indexed))?.[1])
      assert.deepStrictEqual(steps(), Array.from({ length: total }, (_, index) => index + 1))
      const [resumption] = yield* resumptions
      assert.deepInclude(resumption, { method: "GET", status: 200, type: "text/event-stream" })
    })))

  it.effect("[SHS-10] a call runs once, however often its connection is lost", () =>
    overProxy(Effect.fnUntraced(function*(proxy) {
      const { received } = yield* OfficialClient
      yield* proxy.disconnectAfterProgress(3)
      assert.match(textOf(yield* result("index", { delayMs: 1 }, { onprogress: () => {} })), / notes$/)
      assert.isAtLeast((yield* resumptions).length, 3)
      const responses = received.map(members).filter(({ result }) => JSON.stringify(result)?.includes(" words in "))
      assert.strictEqual(responses.length, 1)
    })))

  // Older revisions have no priming event: a client that has received no event cannot resume the stream.
  if (revision !== "2025-11-25") return

  it.effect("[SHS-03] [SHS-05] a notification of the time without a connection arrives after it is restored", () =>
    overProxy(Effect.fnUntraced(function*(proxy) {
      const client = yield* OfficialClient
      const changes = () => notificationsOf(client, "notifications/resources/list_changed").length
      const before = changes()
      yield* proxy.holdConnections
      yield* Effect.gen(function*() {
        const other = yield* OfficialClient
        yield* call("write", { name: `from ${peer.name}`, text: "Wish you were here." })
        yield* Child.until(() => notificationsOf(other, "notifications/resources/list_changed").length > 0)
      }).pipe(
        Effect.provide(peer.connect((yield* HttpServers).target(path), revision))
      )
      assert.strictEqual(changes(), before)
      yield* proxy.restore
      yield* Child.until(() => changes() > before)
      assert.strictEqual(changes(), before + 1)
    })))

  it.effect("[SHS-03] [SHS-04] [SHS-05] the server closes the connection of a slow call; the client resumes it", () =>
    overProxy(Effect.fnUntraced(function*() {
      const reminded = yield* result("remind", { text: "the ebb", afterMs: 1000 })
      assert.strictEqual(textOf(reminded), "the ebb")
      assert.isNotEmpty(yield* resumptions)
    })))

  it.effect("[SHS-13] a client that keeps resuming a cancelled call (typescript-sdk#2682) stops after 405", () =>
    overProxy(Effect.fnUntraced(function*() {
      const { request, stderr } = yield* OfficialClient
      const isDue = Child.until(() => stderr().includes("reminder of the flood: due"))
      assert.notProperty(yield* timedOutAfter("remind", { text: "the flood", afterMs: 60_000 }, isDue), "text")
      yield* Child.until(() => stderr().includes("reminder of the flood: cancelled"))
      const { calls } = yield* http
      yield* Child.until(() => calls.some(({ status }) => status === 405))
      const before = (yield* resumptions).length
      for (let pings = 0; pings < 20; pings++) yield* request.ping
      assert.strictEqual((yield* resumptions).length, before)
    })))
}
