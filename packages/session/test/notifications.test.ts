import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { connected, performHandshake, settled, start, withRawClient, withRawServer } from "./support/sessions.ts"

/** Notifications as either side may get them: of any method, a request's too, and with params that fit or do not. */
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

describe("[MSG-12] a notification is not answered, good or bad, handled or not", () => {
  it.effect("by a server", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: { "notifications/roots/list_changed": dies } })
      yield* performHandshake(raw)
      for (const notification of all) yield* raw.send(notification)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.strictEqual((yield* session.state)._tag, "Operating")
      // A defect is logged; that is no news here.
    }).pipe(Effect.provide(Logger.layer([]))))

  it.effect("by a client", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ client: { handlers: { "notifications/message": dies } } })
      const said = raw.received.length
      yield* raw.send(...all)
      yield* settled
      assert.deepStrictEqual(raw.received.slice(said), [])
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }).pipe(Effect.provide(Logger.layer([]))))
})

describe("a stream of notifications", () => {
  it.effect("misses nothing that comes after its fiber has started at once", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({
        server: { capabilities: { tools: { listChanged: true }, logging: {} } },
        client: { capabilities: { roots: { listChanged: true } } }
      })
      const seen: Array<string> = []
      const follow = <A>(name: string, stream: Stream.Stream<A>) =>
        start(Stream.runForEach(stream, () => Effect.sync(() => seen.push(name))))
      yield* follow("tools", client.notifications("notifications/tools/list_changed"))
      yield* follow("roots", server.notifications("notifications/roots/list_changed"))
      yield* follow("all", server.messages)
      yield* server.toolListChanged
      yield* client.rootsListChanged
      yield* settled
      assert.sameMembers(seen, ["tools", "roots", "all"])
    }))
})
