/** One URL that serves both eras: sessions, and requests of revision 2026-07-28, which carry their client. */
import { RequestHeaders } from "@effect-mcp/protocol/internal"
import { Listener, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { exchange, initialize, type ReceivedResponse, send } from "../../../support/httpClient.ts"
import { post, version } from "../../../support/modernRequest.ts"
import { until } from "../../../support/process.ts"
import { serve, text, tools } from "../../../support/server.ts"

const errorOf = ({ messages: [message], status }: ReceivedResponse) => [status, message?.error?.code]

const who = tools({
  who: Effect.map(
    RequestContext.RequestContext,
    ({ profile, session }) => text(`${profile.revision} ${session === undefined ? "alone" : "session"}`)
  )
})

describe.concurrent("a server of Streamable HTTP with sessions", () => {
  it.live("[SHE-32] serves requests that carry their client without the session or event that they name", () =>
    Effect.gen(function*() {
      const server = yield* serve(who)
      const opened = yield* exchange(server, { body: initialize("2025-11-25") })
      const session = opened.headers["mcp-session-id"]
      const headers = { "mcp-session-id": String(session) }
      const call = post("tools/call", { name: "who" })
      for (const more of [{}, headers, { "mcp-session-id": "none", "last-event-id": "5" }]) {
        const modern = yield* exchange(server, { ...call, headers: { ...call.headers, ...more } })
        assert.deepInclude(modern.messages[0]?.result, { ...text("2026-07-28 alone"), resultType: "complete" })
        assert.notProperty(modern.headers, "mcp-session-id")
      }
      const legacy = yield* exchange(server, {
        body: { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "who" } },
        headers
      })
      assert.deepInclude(legacy.messages[0]?.result, { ...text("2025-11-25 session") })
      assert.lengthOf(yield* server.host.sessions, 1)
    }))

  it.live("rejects what is neither: a header without metadata, an initialize with metadata, headers that differ", () =>
    Effect.gen(function*() {
      const server = yield* serve(who)
      const bare = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }
      const headers = RequestHeaders.encode({ method: "tools/list", params: {}, version })
      assert.deepStrictEqual(errorOf(yield* exchange(server, { body: bare, headers })), [400, -32602])
      assert.deepStrictEqual(errorOf(yield* exchange(server, post("initialize"))), [404, -32601])
      const differing = { ...post("tools/list").headers, "mcp-method": "tools/call" }
      assert.deepStrictEqual(
        errorOf(yield* exchange(server, { ...post("tools/list"), headers: differing })),
        [400, -32020]
      )
      assert.lengthOf(yield* server.host.sessions, 0)
    }))

  it.live("ends streams of notifications and waits for requests without sessions when it stops", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const proceed = yield* Deferred.make<void>()
      const listeners = new Set<Listener.ListenerShape>()
      const server = yield* serve({
        ...tools({
          slow: Effect.andThen(Deferred.succeed(started, undefined), Effect.as(Deferred.await(proceed), text("done")))
        }),
        "subscriptions/listen": Effect.fnUntraced(function*() {
          const listener = yield* Listener.Listener
          yield* Effect.acquireRelease(
            Effect.sync(() => void listeners.add(listener)),
            () => Effect.sync(() => void listeners.delete(listener))
          )
          return { notifications: { toolsListChanged: true } }
        })
      }, { session: { limits: { gracefulTimeout: "5 seconds" } } })
      const stream = yield* send(server, post("subscriptions/listen", { notifications: { toolsListChanged: true } }))
      const call = yield* send(server, post("tools/call", { name: "slow" }))
      yield* stream.awaitMessages(1)
      yield* Deferred.await(started)
      const stopping = yield* Effect.forkChild(server.stop, { startImmediately: true })
      yield* stream.awaitEnd
      yield* Deferred.succeed(proceed, undefined)
      yield* call.awaitEnd
      yield* Fiber.join(stopping)
      assert.strictEqual(stream.messages.at(-1)?.result?.["resultType"], "complete")
      assert.deepInclude(call.messages[0]?.result, { ...text("done") })
      yield* until(() => listeners.size === 0)
    }))

  it.live("[SHE-15] [SHE-31] of the new era only rejects requests without a version, GET and DELETE", () =>
    Effect.gen(function*() {
      const server = yield* serve(who, { session: { revisions: [version] } })
      const rejected = yield* exchange(server, { body: initialize("2025-11-25") })
      assert.deepStrictEqual(errorOf(rejected), [400, -32022])
      assert.notProperty(rejected.headers, "mcp-session-id")
      const { body } = post("tools/call", { name: "who" })
      assert.deepStrictEqual(errorOf(yield* exchange(server, { body })), [400, -32020])
      for (const method of ["GET", "DELETE"]) {
        const { headers, status } = yield* exchange(server, { method })
        assert.deepStrictEqual([status, headers["allow"]], [405, "POST"])
      }
      assert.strictEqual((yield* exchange(server, post("tools/list"))).status, 200)
    }))

  it.live("[VER-03] [SHE-13] of the new era only rejects requests without metadata, and names what is missing", () =>
    Effect.gen(function*() {
      const server = yield* serve(who, { session: { revisions: [version] } })
      const bare = { jsonrpc: "2.0", id: 1, method: "tools/list" }
      const missing = yield* exchange(server, { body: bare })
      assert.deepStrictEqual([...errorOf(missing), missing.messages[0]?.id], [400, -32602, 1])
      assert.include(missing.text, "io.modelcontextprotocol/protocolVersion")
      for (const declared of ["2025-11-25", "2099-01-01"]) {
        const older = yield* exchange(server, { body: bare, headers: { "mcp-protocol-version": declared } })
        assert.deepStrictEqual(errorOf(older), [400, -32022])
        assert.deepInclude(older.messages[0]?.error, { data: { supported: [version], requested: declared } })
      }
      const initialized = { jsonrpc: "2.0", method: "notifications/initialized" }
      assert.strictEqual((yield* exchange(server, { body: initialized })).status, 202)
    }))

  it.live("rejects a revision that it does not serve with those that it serves, and GET in the new era with 405", () =>
    Effect.gen(function*() {
      const server = yield* serve(who)
      const bare = { jsonrpc: "2.0", id: 1, method: "tools/list" }
      const unknown = yield* exchange(server, { body: bare, headers: { "mcp-protocol-version": "2099-01-01" } })
      assert.strictEqual(unknown.status, 400)
      assert.include(unknown.text, "supported: 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05")
      for (const method of ["GET", "DELETE"]) {
        const { headers, status, text } = yield* exchange(server, {
          method,
          headers: { "mcp-protocol-version": version }
        })
        assert.deepStrictEqual([status, headers["allow"]], [405, "POST"])
        assert.include(text, `${method} is not served in revision 2026-07-28, which has no sessions`)
      }
    }))

  it.live("of the old era only rejects requests that carry their client as it did before", () =>
    Effect.gen(function*() {
      const server = yield* serve(who, { session: { revisions: ["2025-11-25"] } })
      const rejected = yield* exchange(server, post("server/discover"))
      assert.strictEqual(rejected.status, 400)
      assert.notInclude([-32020, -32021, -32022], rejected.messages[0]?.error?.code)
      assert.strictEqual((yield* exchange(server, { body: initialize("2025-11-25") })).status, 200)
    }))
})
