/** Laws of streams of notifications, which a client without a handshake asks for. */

import { type JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import * as FiberCount from "../../FiberCount.ts"
import type { ClientEnd, Subject } from "../../laws/law/TransportSubject.ts"
import type * as RawPeer from "../../RawPeer.ts"
import { memberOf } from "../arbitrary/jsonValues.ts"
import { law, type Timeless, topic, type Unsorted } from "./Law.ts"
import { eventually, type LawContext, reported, structured } from "./LawContext.ts"

const acknowledged = "notifications/subscriptions/acknowledged"
const toolsChanged = "notifications/tools/list_changed"
const updated = "notifications/resources/updated"

/** Returns the stream of a message: the one of its notification, or of the request that it answers. */
const streamOf = (message: JsonRpc.Message): unknown =>
  "method" in message
    ? memberOf(message.params, "_meta", RequestMetadata.keys.subscriptionId)
    : message.id

/** Receives until this number of messages of these streams has arrived. Returns these, without the others. */
const receiveOf = Effect.fnUntraced(function*(
  peer: RawPeer.RawPeer,
  streams: ReadonlyArray<unknown>,
  count: number
) {
  const received: Array<JsonRpc.Message> = []
  while (received.length < count) {
    const message = yield* peer.receive
    if (streams.includes(streamOf(message))) received.push(message)
  }
  return received
})

/** Returns the stream and the kind of a message. */
const brief = (message: JsonRpc.Message) => [streamOf(message), "method" in message ? message.method : "response"]

/** Returns the law of a server that shuts down. */
const onShutdown = <Served extends ClientEnd>(
  { connectReady, request, serve }: LawContext<Served>,
  shutDown: NonNullable<Subject<Served>["shutDown"]>
): Unsorted =>
  law("[SUB-07] a server that shuts down ends the stream with a result", function*() {
    const served = yield* serve
    const peer = yield* connectReady(served)
    yield* peer.send(request(1, "subscriptions/listen", { notifications: { toolsListChanged: true } }))
    yield* receiveOf(peer, [1], 1)
    yield* Effect.forkScoped(shutDown(served))
    const [end] = yield* receiveOf(peer, [1], 1)
    assert.strictEqual(memberOf(end, "result", "_meta", RequestMetadata.keys.subscriptionId), 1)
  })

/** Returns the laws of streams of notifications. */
export const listening = <Served extends ClientEnd>(
  context: LawContext<Served>,
  shutDown: Subject<Served>["shutDown"]
): ReadonlyArray<Timeless> => {
  const { call, cancel, open, openReady, request } = context

  return topic("listening", [
    law(
      "[SUB-02] [SUB-03] [SUB-05] [SUB-09] the acknowledgement comes first, and then what the client asked for",
      function*() {
        const peer = yield* openReady
        yield* peer.send(request("one", "subscriptions/listen", {
          notifications: { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["law:a", "law:b"] }
        }))
        const [first] = yield* receiveOf(peer, ["one"], 1)
        assert.deepStrictEqual(
          [memberOf(first, "method"), memberOf(first, "params", "notifications")],
          [acknowledged, { toolsListChanged: true, resourceSubscriptions: ["law:a", "law:b"] }]
        )
        for (const [id, input] of [[1, {}], [2, { uri: "law:c" }], [3, { uri: "law:b" }]] as const) {
          yield* peer.send(call(id, "change", input))
        }
        const received = yield* receiveOf(peer, ["one", 1, 2, 3], 5)
        const notified = received.filter((message) => "method" in message)
        assert.deepStrictEqual(
          new Set(notified.map((message) => `${message.method} ${String(memberOf(message.params, "uri"))}`)),
          new Set([`${toolsChanged} undefined`, `${updated} law:b`])
        )
        assert.deepStrictEqual(yield* peer.pending, [])
      }
    ),

    law("[SUB-06] several streams end and continue independently of each other", function*() {
      const peer = yield* openReady
      for (const id of [1, 2]) {
        yield* peer.send(request(id, "subscriptions/listen", { notifications: { toolsListChanged: true } }))
      }
      assert.deepStrictEqual(
        new Set((yield* receiveOf(peer, [1, 2], 2)).map((message) => brief(message).join(" "))),
        new Set([`1 ${acknowledged}`, `2 ${acknowledged}`])
      )
      yield* cancel(peer, 1)
      let next = 10
      yield* eventually(Effect.gen(function*() {
        yield* peer.send(call(next++, "report"))
        return memberOf(structured(yield* peer.response), "listening") === 1
      }))
      yield* peer.send(call(3, "change"))
      const received = (yield* receiveOf(peer, [1, 2, 3], 2)).map((message) => brief(message).join(" "))
      assert.deepStrictEqual(new Set(received), new Set(["3 response", `2 ${toolsChanged}`]))
      assert.deepStrictEqual(yield* peer.pending, [])
    }),

    law("law 10: a change reaches each client that follows it, and a call of each is served meanwhile", function*() {
      let changes = 0
      const updates: Array<string> = []
      const session = yield* open({
        handlers: {
          "notifications/tools/list_changed": () =>
            Effect.sync(() => {
              changes++
            }),
          "notifications/resources/updated": ({ uri }) => Effect.sync(() => updates.push(uri))
        }
      })
      yield* session.subscribeResource("law:a")
      yield* session.callTool("change", { uri: "law:b" })
      yield* session.callTool("change", { uri: "law:a" })
      yield* eventually(Effect.sync(() => updates.length > 0))
      yield* session.callTool("change")
      yield* eventually(Effect.sync(() => changes > 0))
      assert.deepStrictEqual([changes, updates], [1, ["law:a"]])
    }),

    law(
      "law 11: a client that reads a list whose changes it follows is notified of those that the server has sent alone",
      function*() {
        let changes = 0
        const session = yield* open({
          handlers: {
            "notifications/tools/list_changed": () =>
              Effect.sync(() => {
                changes++
              })
          }
        })
        yield* session.listTools()
        yield* eventually(Effect.map(reported(session), (report) => report.listening === 1))
        yield* session.callTool("change")
        yield* eventually(Effect.sync(() => changes > 0))
        yield* session.listTools()
        assert.strictEqual(changes, 1)
      }
    ),

    law("law 2: after the scope of a client that listens has closed no fiber and no stream is left", function*() {
      const fibers = FiberCount.make()
      yield* fibers.count(Effect.gen(function*() {
        const scope = yield* Scope.make()
        const session = yield* Scope.provide(
          open({ handlers: { "notifications/tools/list_changed": () => Effect.void } }),
          scope
        )
        yield* eventually(Effect.map(reported(session), (report) => report.listening === 1))
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      }))
      yield* eventually(Effect.sync(() => fibers.living() === 0))
    }),

    ...shutDown === undefined ? [] : [onShutdown(context, shutDown)]
  ])
}
