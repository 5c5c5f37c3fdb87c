/** Streams that nobody comes back to, or somebody for ever. */
import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import { Revision } from "@effect-mcp/protocol"
import { ClientSession, SessionHost } from "@effect-mcp/session"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import * as HttpListener from "../fixtures/httpListener.ts"
import * as HttpProxy from "../fixtures/httpProxy.ts"
import { OfficialClient, reconnectionOptions } from "../fixtures/officialClient.ts"
import { type Peer, peers } from "../fixtures/officialClients.ts"
import * as OwnServer from "../fixtures/ownServer.ts"
import * as Wire from "../fixtures/wire.ts"
import { make } from "../host/conditions.ts"
import { peers as servers } from "../host/peers.ts"
import { said } from "../host/results.ts"

const { latest } = Revision

const underClient = (peer: Peer) => {
  it.live("#2682: when its session ends this client comes back as often as it may, is told 404, and stops", () =>
    Effect.gen(function*() {
      const host = SessionHost.layer({}, { info: { name: "example", version: "1.0.0" } })
      const { host: { find }, place } = yield* OwnServer.listen(host)
      yield* Effect.gen(function*() {
        const { complaints, http } = yield* OfficialClient
        assert(http !== undefined)
        yield* find(http.sessionId() ?? "")?.close({ _tag: "Requested" }) ?? Effect.void
        yield* Child.until(() => complaints.some((complaint) => complaint.startsWith("Maximum reconnection attempts")))
        const [first, ...back] = http.calls.filter(({ method }) => method === "GET")
        assert.strictEqual(first?.status, 200)
        assert.strictEqual(back.length, reconnectionOptions.maxRetries)
        assert.isTrue(back.every(({ status }) => status === 404))
      }).pipe(Effect.provide(peer.connect(place, latest)))
    }))
}

export const streams = () => {
  for (const peer of peers) {
    describe(`streams that would be lost, under ${peer.name}`, () => {
      underClient(peer)
    })
  }

  for (const peer of servers) {
    describe(`streams that would be lost, with a server of ${peer.name}`, () => {
      const listener = HttpListener.make(Child.file(peer.file), "--http")
      layer(listener.layer, { excludeTestServices: true })((it) => {
        it.effect("the standalone stream is tried for again when the first try fails with 500", () =>
          Effect.gen(function*() {
            let tries = 0
            const url = yield* HttpProxy.make(
              `${listener.address()}/stateful`,
              ({ method }) => method === "GET" && ++tries <= 3 ? 500 : undefined
            )
            const server = HttpListener.server(listener, () => url)
            const host = make(latest, server)
            yield* Effect.gen(function*() {
              yield* Child.until(() => server.calls.some(({ method, status }) => method === "GET" && status === 200))
              assert.strictEqual(server.calls.filter(({ status }) => status === 500).length, 3)
              const method = "notifications/tools/list_changed"
              yield* said("tell", { method })
              yield* Notifications.next(method)
            }).pipe(Effect.provide(host.layer))
          }))

        it.effect("#2098, #1162, #731: the server is away for longer than any try: the host comes back when it is there again", () =>
          Effect.gen(function*() {
            const wire = yield* Wire.make(`${listener.address()}/stateful`)
            const server = HttpListener.server(listener, () => wire.url)
            const host = make(latest, server)
            const isLost = () => host.events.filter(({ _tag }) => _tag === "StreamLost").length
            yield* Effect.gen(function*() {
              const { ping } = yield* ClientSession.ClientSession
              yield* wire.down
              // As often as these clients try at most, and more.
              yield* Child.until(() => isLost() > 10)
              const { reason } = yield* Effect.flip(ping())
              assert.include(["SendFailed", "OutcomeUnknown"], reason._tag)
              yield* wire.up
              const before = server.calls.length
              yield* Child.until(() =>
                server.calls.slice(before).some(({ method, status }) => method === "GET" && status === 200)
              )
              const method = "notifications/tools/list_changed"
              yield* said("tell", { method })
              yield* Notifications.next(method)
            }).pipe(Effect.provide(host.layer))
          }))
      })
    })
  }
}
