/** Defects that leave a stream without its reader, or let a client reconnect forever. */
import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import { Revision } from "@effect-mcp/protocol"
import { ClientSession, SessionHost } from "@effect-mcp/session"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import * as HttpListener from "../fixtures/httpListener.ts"
import * as HttpProxy from "../fixtures/httpProxy.ts"
import * as LocalServer from "../fixtures/localServer.ts"
import { call, OfficialClient, reconnectionOptions } from "../fixtures/officialClient.ts"
import { type Peer, peers } from "../fixtures/officialClients.ts"
import * as TcpProxy from "../fixtures/tcpProxy.ts"
import { make } from "../host/conditions.ts"
import { peers as servers } from "../host/peers.ts"
import { callForText } from "../host/results.ts"

const latest = Revision.latestLegacy

const testsWithClient = (peer: Peer) => {
  it.live("#2580: over stdio, this client gets the last step of progress, because the reply follows 10 ms later", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const count = Effect.gen(function*() {
        const steps: Array<number> = []
        yield* call("count", { to: 3, delayMs: 1 }, { onprogress: ({ progress }) => steps.push(progress) })
        yield* request.ping
        return steps.join()
      })
      // Without the gap, about half of the calls are incomplete. With it, one is if this process gets no processor for
      // 10 ms, and so reads the progress together with the reply. Then the round is repeated.
      const round = Effect.all(Array.from({ length: 15 }, () => count))
      const isComplete = (steps: ReadonlyArray<string>) => steps.every((one) => one === "1,2,3")
      const last = yield* Effect.repeat(round, { until: isComplete, times: 3 })
      assert.deepStrictEqual(last, Array.from({ length: 15 }, () => "1,2,3"))
    }).pipe(Effect.provide(peer.connect(peer.program("calculator", latest), latest))))

  it.live("#2682: after its session ended, this client reconnects maxRetries times, gets 404, and stops", () =>
    Effect.gen(function*() {
      const host = SessionHost.layer({}, { info: { name: "example", version: "1.0.0" } })
      const { host: { find }, target } = yield* LocalServer.listen(host)
      yield* Effect.gen(function*() {
        const { errors, http } = yield* OfficialClient
        assert(http !== undefined)
        yield* find(http.sessionId() ?? "")?.close({ _tag: "Requested" }) ?? Effect.void
        yield* Child.until(() => errors.some((error) => error.startsWith("Maximum reconnection attempts")))
        const [first, ...reconnections] = http.calls.filter(({ method }) => method === "GET")
        assert.strictEqual(first?.status, 200)
        assert.strictEqual(reconnections.length, reconnectionOptions.maxRetries)
        assert.isTrue(reconnections.every(({ status }) => status === 404))
      }).pipe(Effect.provide(peer.connect(target, latest)))
    }))
}

export const streams = () => {
  for (const peer of peers) {
    describe(`streams that could be lost, with ${peer.name}`, () => {
      testsWithClient(peer)
    })
  }

  for (const peer of servers) {
    describe(`streams that could be lost, with a server of ${peer.name}`, () => {
      const listener = HttpListener.make(Child.file(peer.file), "--http")
      layer(listener.layer, { excludeTestServices: true })((it) => {
        it.effect("the standalone stream is opened again after a response with 500", () =>
          Effect.gen(function*() {
            let attempts = 0
            const url = yield* HttpProxy.make(
              `${listener.address()}/stateful`,
              ({ method }) => method === "GET" && ++attempts <= 3 ? 500 : undefined
            )
            const server = HttpListener.server(listener, () => url)
            const host = make(latest, server)
            yield* Effect.gen(function*() {
              yield* Child.until(() => server.calls.some(({ method, status }) => method === "GET" && status === 200))
              assert.strictEqual(server.calls.filter(({ status }) => status === 500).length, 3)
              const method = "notifications/tools/list_changed"
              yield* callForText("notify", { method })
              yield* Notifications.next(method)
            }).pipe(Effect.provide(host.layer))
          }))

        it.effect("#2098, #1162, #731: the host reconnects after a long outage of the server", () =>
          Effect.gen(function*() {
            const proxy = yield* TcpProxy.make(`${listener.address()}/stateful`)
            const server = HttpListener.server(listener, () => proxy.url)
            const host = make(latest, server)
            const losses = () => host.events.filter(({ _tag }) => _tag === "StreamLost").length
            yield* Effect.gen(function*() {
              const { ping } = yield* ClientSession.ClientSession
              yield* proxy.rejectConnections
              // More attempts than these clients make at most.
              yield* Child.until(() => losses() > 10)
              const { reason } = yield* Effect.flip(ping())
              assert.include(["SendFailed", "OutcomeUnknown"], reason._tag)
              yield* proxy.restore
              const before = server.calls.length
              yield* Child.until(() =>
                server.calls.slice(before).some(({ method, status }) => method === "GET" && status === 200)
              )
              const method = "notifications/tools/list_changed"
              yield* callForText("notify", { method })
              yield* Notifications.next(method)
            }).pipe(Effect.provide(host.layer))
          }))
      })
    })
  }
}
