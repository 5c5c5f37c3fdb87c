import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { connected, performHandshake, settled, start, withRawClient, withRawServer } from "./support/sessions.ts"

/** Notifications of any method, including those of requests, with valid and invalid params. */
const all = [
  "notifications/message",
  "notifications/roots/list_changed",
  "notifications/tools/list_changed",
  "notifications/progress",
  "notifications/cancelled",
  "notifications/initialized",
  "no/such/notification",
  "ping",
  "initialize",
  "tools/call",
  "roots/list"
].flatMap((method) =>
  [undefined, {}, { level: "info", data: 1 }, { level: "loud" }, { requestId: 77 }].map((params) =>
    JsonRpc.notification(method, params)
  )
)

const dies = () => Effect.die("a handler that fails")

describe("[MSG-12] a notification gets no reply, valid or invalid, with or without a handler", () => {
  it.effect("by a server", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: { "notifications/roots/list_changed": dies } })
      yield* performHandshake(raw)
      for (const notification of all) yield* raw.send(notification)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.strictEqual((yield* session.state)._tag, "Operating")
      // The session logs the defect, which this test expects.
    }).pipe(Effect.provide(Logger.layer([]))))

  it.effect("by a client", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ client: { handlers: { "notifications/message": dies } } })
      const before = raw.received.length
      yield* raw.send(...all)
      yield* settled
      assert.deepStrictEqual(raw.received.slice(before), [])
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }).pipe(Effect.provide(Logger.layer([]))))
})

describe("a stream of notifications", () => {
  it.effect("has all notifications after its fiber has started with startImmediately", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({
        server: { capabilities: { tools: { listChanged: true }, logging: {} } },
        client: { capabilities: { roots: { listChanged: true } } }
      })
      const received: Array<string> = []
      const consume = <A>(name: string, stream: Stream.Stream<A>) =>
        start(Stream.runForEach(stream, () => Effect.sync(() => received.push(name))))
      yield* consume("tools", client.notifications("notifications/tools/list_changed"))
      yield* consume("roots", server.notifications("notifications/roots/list_changed"))
      yield* consume("all", server.messages)
      yield* server.toolListChanged
      yield* client.rootsListChanged
      yield* settled
      assert.sameMembers(received, ["tools", "roots", "all"])
    }))
})
