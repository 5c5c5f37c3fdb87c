/** The session of a handler: `RequestContext.session`. */
import { RequestContext, type ServerSession, SessionlessServer } from "@effect-mcp/session"
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
      const sessionless = yield* SessionlessServer.make(handlers, { info })
      yield* sessionless.handle(call(1, "x"), { revision: "2025-11-25" })
      const { raw } = yield* withRawClient({ handlers, server: { sessionless: { revision: "2025-11-25" } } })
      yield* raw.send(call(2, "x"))
      yield* raw.response
      assert.deepStrictEqual(seen, [undefined, undefined])
    }))
})
