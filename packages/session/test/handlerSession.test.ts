/** The session of a handler: that of its `RequestContext` or `NotificationContext`. */
import { JsonRpc } from "@effect-mcp/protocol"
import { NotificationContext, RequestContext, type ServerSession, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeHost, openOperating } from "./support/hosts.ts"
import { call, connected, info, names, settled, text, tools, withRawClient } from "./support/sessions.ts"

/** A tool that records the sessions of its calls. */
const recordingTool = () => {
  const seen: Array<ServerSession.ServerSessionShape | undefined> = []
  const x = Effect.map(RequestContext.RequestContext, ({ session }) => {
    seen.push(session)
    return text("x")
  })
  return { seen, handlers: tools({ x }) }
}

/** A handler that records the contexts of its notifications. */
const recordingHandler = () => {
  const seen: Array<NotificationContext.NotificationContext["Service"]> = []
  const record = Effect.map(NotificationContext.NotificationContext, (context) => void seen.push(context))
  return { seen, handlers: { "notifications/roots/list_changed": () => record } }
}

const changed = JsonRpc.notification("notifications/roots/list_changed")

describe("the session of a handler", () => {
  it.effect("is the session that the program has, with one random id as long as it lives", () =>
    Effect.gen(function*() {
      const { handlers, seen } = recordingTool()
      const { client, server } = yield* connected({ handlers })
      yield* client.callTool("x")
      yield* client.callTool("x")
      assert.deepStrictEqual([seen[0]?.id, seen[1]?.id], [server.id, server.id])
      const other = yield* connected({ handlers })
      assert.notStrictEqual(other.server.id, server.id)
      assert.match(server.id, /^[!-~]{36}$/)
    }))

  it.effect("law 10: is that of its own client in a host, with the id of the host", () =>
    Effect.gen(function*() {
      const { handlers, seen } = recordingTool()
      const host = yield* makeHost(handlers, { capabilities: { tools: { listChanged: true } } })
      const [ada, bob] = [yield* openOperating(host), yield* openOperating(host)]
      yield* ada.raw.send(call(1, "x"))
      yield* ada.raw.response
      yield* bob.raw.send(call(1, "x"))
      yield* bob.raw.response
      assert.deepStrictEqual(seen.map((session) => session?.id), [ada.hosted.id, bob.hosted.id])
      // The session sends after the reply, and only to its own client.
      if (seen[0] !== undefined) yield* seen[0].toolListChanged
      yield* settled
      assert.deepStrictEqual(names(yield* ada.raw.pending), ["notifications/tools/list_changed"])
      assert.deepStrictEqual(yield* bob.raw.pending, [])
    }))

  it.effect("does not exist without sessions", () =>
    Effect.gen(function*() {
      const { handlers, seen } = recordingTool()
      const stateless = yield* StatelessServer.make(handlers, { info })
      yield* stateless.handle(call(1, "x"), { revision: "2025-11-25" })
      const { raw } = yield* withRawClient({ handlers, server: { stateless: { revision: "2025-11-25" } } })
      yield* raw.send(call(2, "x"))
      yield* raw.response
      assert.deepStrictEqual(seen, [undefined, undefined])
    }))
})

describe("the session of a notification's handler", () => {
  it.effect("[ROOT-02] law 10: is that of the client that sent it, with the profile of this client", () =>
    Effect.gen(function*() {
      const { handlers, seen } = recordingHandler()
      const host = yield* makeHost(handlers)
      const [ada, bob] = [yield* openOperating(host), yield* openOperating(host)]
      yield* bob.raw.send(changed)
      yield* settled
      yield* ada.raw.send(changed)
      yield* settled
      assert.deepStrictEqual(seen.map(({ session }) => session?.id), [bob.hosted.id, ada.hosted.id])
      const operating = yield* bob.hosted.session.state
      assert.strictEqual(seen[0]?.profile, "profile" in operating ? operating.profile : undefined)
    }))

  it.effect("does not exist without sessions", () =>
    Effect.gen(function*() {
      const { handlers, seen } = recordingHandler()
      const stateless = yield* StatelessServer.make(handlers, { info })
      yield* stateless.handle(changed, { revision: "2025-11-25" })
      const { raw } = yield* withRawClient({ handlers, server: { stateless: { revision: "2025-11-25" } } })
      yield* raw.send(changed)
      yield* settled
      assert.deepStrictEqual(
        seen.map(({ profile, session }) => [session, profile.revision]),
        [[undefined, "2025-11-25"], [undefined, "2025-11-25"]]
      )
    }))
})
