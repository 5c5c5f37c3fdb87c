/** Streamable HTTP in revision 2026-07-28, by a server without sessions that serves the other revisions as well. */
import { McpError } from "@effect-mcp/protocol"
import { Listener, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { exchange, initialize, type ReceivedResponse, send } from "../../../support/httpClient.ts"
import { post } from "../../../support/modernRequest.ts"
import { until } from "../../../support/process.ts"
import { text, tools } from "../../../support/server.ts"
import { serveStateless } from "../../../support/statelessServer.ts"

const outcome = ({ messages: [message], status }: ReceivedResponse) => [status, message?.error?.code]

const reporting = Effect.gen(function*() {
  yield* RequestContext.progress({ progress: 1 })
  yield* RequestContext.progress({ progress: 2 })
  return text("done")
})

describe.concurrent("Streamable HTTP in revision 2026-07-28", () => {
  it.live("[SHE-32] serves requests of it and of other revisions at one endpoint, each by itself", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(tools({ now: Effect.succeed(text("now")) }))
      const modern = yield* exchange(server, {
        ...post("tools/call", { name: "now" }),
        headers: { ...post("tools/call", { name: "now" }).headers, "mcp-session-id": "any", "last-event-id": "1" }
      })
      assert.strictEqual(modern.status, 200)
      assert.notProperty(modern.headers, "mcp-session-id")
      assert.deepInclude(modern.messages[0]?.result, { ...text("now"), resultType: "complete" })
      const legacy = yield* exchange(server, { body: initialize("2025-11-25") })
      assert.deepStrictEqual([legacy.status, legacy.messages[0]?.result?.["protocolVersion"]], [200, "2025-11-25"])
      assert.notProperty(legacy.messages[0]?.result ?? {}, "resultType")
      const discovered = yield* exchange(server, post("server/discover"))
      assert.deepInclude(discovered.messages[0]?.result, {
        supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
      })
    }))

  it.live("[SHE-12] [SHE-17] [SHE-18] [SHE-20] rejects headers that differ from the body or are missing with 400", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const server = yield* serveStateless(tools({ now: Effect.sync(() => (calls.push("now"), text("now"))) }))
      const differing: ReadonlyArray<Readonly<Record<string, string | undefined>>> = [
        { "mcp-protocol-version": undefined },
        { "mcp-protocol-version": "2025-11-25" },
        { "mcp-method": undefined },
        { "mcp-method": "tools/list" },
        { "mcp-name": undefined },
        { "mcp-name": "other" },
        { "mcp-name": "Now" },
        { "mcp-method": "tools/Call" },
        { "mcp-name": "=?base64?%?=" }
      ]
      for (const headers of differing) {
        const response = yield* exchange(server, post("tools/call", { name: "now" }, { headers }))
        assert.deepStrictEqual(outcome(response), [400, -32020], JSON.stringify(headers))
      }
      assert.deepStrictEqual(calls, [])
      const encoded = { "mcp-name": "=?base64?bm93?=" }
      const response = yield* exchange(server, post("tools/call", { name: "now" }, { headers: encoded }))
      assert.strictEqual(response.status, 200)
      const { body, headers } = post("tools/call", { name: "now" })
      const inCapitals = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
      assert.strictEqual((yield* exchange(server, { body, headers: inCapitals })).status, 200)
    }))

  it.live("[VER-03] [VER-07] [SHE-13] [SHE-14] rejects metadata, revisions and methods with the error's status", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(tools({}))
      const { headers } = post("tools/list")
      const bare = yield* exchange(server, { body: { jsonrpc: "2.0", id: 1, method: "tools/list" }, headers })
      assert.deepStrictEqual(outcome(bare), [400, -32602])
      for (const params of [null, [], "x", 1, true]) {
        const odd = yield* exchange(server, { body: { jsonrpc: "2.0", id: 1, method: "tools/list", params }, headers })
        assert.deepStrictEqual(outcome(odd), [400, -32602], JSON.stringify(params))
      }
      const unknown = post("tools/list", {}, {
        meta: { "io.modelcontextprotocol/protocolVersion": "2099-01-01" },
        headers: { "mcp-protocol-version": "2099-01-01" }
      })
      assert.deepStrictEqual(outcome(yield* exchange(server, unknown)), [400, -32022])
      for (const method of ["no/such", "initialize", "ping"]) {
        assert.deepStrictEqual(outcome(yield* exchange(server, post(method))), [404, -32601], method)
      }
      // An unknown tool is an error of the method, which is served.
      assert.deepStrictEqual(outcome(yield* exchange(server, post("tools/call", { name: "none" }))), [200, -32602])
      // Without metadata, an unknown version is that of another revision.
      const plain = {
        body: { jsonrpc: "2.0", id: 1, method: "ping" },
        headers: { "mcp-protocol-version": "2099-01-01" }
      }
      assert.deepStrictEqual(outcome(yield* exchange(server, plain)), [400, -32600])
    }))

  const needy = Effect.as(
    Effect.orDie(RequestContext.listRoots()),
    text("rooted")
  )

  for (const responseMode of ["adaptive", "json", "stream"] as const) {
    it.live(`[VER-11] rejects a call that needs an undeclared capability with 400 (${responseMode})`, () =>
      Effect.gen(function*() {
        const server = yield* serveStateless(
          tools({ needy, late: Effect.andThen(Effect.sleep("60 millis"), needy) }),
          { http: { responseMode, adaptiveTimeout: "10 millis" } }
        )
        for (const tool of ["needy", "late"]) {
          assert.deepStrictEqual(outcome(yield* exchange(server, post("tools/call", { name: tool }))), [400, -32021])
        }
      }))
  }

  it.live("[SHE-03] asks in the result at the end of the stream, and sends no request", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(
        tools({ ask: Effect.andThen(RequestContext.progress({ progress: 1 }), needy) })
      )
      const asked = yield* exchange(
        server,
        post("tools/call", { name: "ask" }, {
          meta: { progressToken: 1, "io.modelcontextprotocol/clientCapabilities": { roots: {} } }
        })
      )
      assert.isTrue(asked.isStream)
      assert.deepStrictEqual(
        asked.messages.map(({ id, method, result }) => [method ?? result?.["resultType"], id]),
        [["notifications/progress", undefined], ["input_required", 1]]
      )
    }))

  it.live("[SHE-02] [LOG-08] [PRG-09] sends progress and log messages in the stream of their request only", () =>
    Effect.gen(function*() {
      const both = yield* Deferred.make<void>()
      let calls = 0
      const report = Effect.flatMap(RequestContext.RequestContext, ({ log, meta, progress }) =>
        Effect.gen(function*() {
          if (++calls === 2) yield* Deferred.succeed(both, undefined)
          yield* Deferred.await(both)
          yield* progress({ progress: 1 })
          yield* log({ level: "info", data: meta?.progressToken })
          return text("done")
        }))
      const server = yield* serveStateless(tools({ report }))
      const responses = yield* Effect.forEach(["a", "b"], (progressToken) =>
        exchange(
          server,
          post("tools/call", { name: "report" }, {
            meta: { progressToken, "io.modelcontextprotocol/logLevel": "info" }
          })
        ), { concurrency: "unbounded" })
      for (const [index, token] of ["a", "b"].entries()) {
        const messages = responses[index]?.messages ?? []
        assert.deepStrictEqual(
          messages.slice(0, -1).map(({ params }) => params?.["progressToken"] ?? params?.["data"]),
          [
            token,
            token
          ]
        )
        assert.deepStrictEqual(messages.at(-1)?.id, 1)
      }
    }))

  it.live("[MSG-03] [MSG-04] [MSG-17] rejects an id that is none, and a batch, with 400", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(tools({}))
      const { body, headers } = post("tools/list")
      for (const id of [null, 1.5, {}, true]) {
        const rejected = yield* exchange(server, { body: { ...body, id }, headers })
        assert.deepStrictEqual(outcome(rejected), [400, -32600], JSON.stringify(id))
      }
      assert.deepStrictEqual(outcome(yield* exchange(server, { body: [body], headers })), [400, -32600])
    }))

  it.live("[HTTP-07] accepts a notification with 202 and no body", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(tools({}))
      const { headers } = post("notifications/cancelled")
      const accepted = yield* exchange(server, {
        body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
        headers
      })
      assert.deepStrictEqual([accepted.status, accepted.text, accepted.headers["content-type"]], [202, "", undefined])
    }))

  it.live("[SHE-28] passes the headers of arguments to handlers, whose rejection has status 400", () =>
    Effect.gen(function*() {
      const region = Effect.flatMap(
        RequestContext.RequestContext,
        ({ parameterHeaders }) =>
          parameterHeaders?.["mcp-param-region"] === "Oslo"
            ? Effect.succeed(text("Oslo"))
            : Effect.fail(McpError.headerMismatch("the header mcp-param-region is missing"))
      )
      const server = yield* serveStateless(tools({ region }))
      const call = (headers: Readonly<Record<string, string>>) =>
        Effect.map(exchange(server, post("tools/call", { name: "region" }, { headers })), outcome)
      assert.deepStrictEqual(yield* call({ "Mcp-Param-Region": "Oslo" }), [200, undefined])
      assert.deepStrictEqual(yield* call({}), [400, -32020])
    }))

  for (const responseMode of ["adaptive", "stream"] as const) {
    it.live(`[SHE-04] [SHE-05] sends progress in a stream that ends with the reply (${responseMode})`, () =>
      Effect.gen(function*() {
        const server = yield* serveStateless(
          tools({ report: reporting, late: Effect.as(Effect.sleep("60 millis"), text("late")) }),
          { http: { responseMode, adaptiveTimeout: "10 millis" } }
        )
        const reported = yield* exchange(server, post("tools/call", { name: "report" }, { meta: { progressToken: 1 } }))
        assert.isTrue(reported.isStream)
        assert.isTrue(reported.ended)
        assert.strictEqual(reported.headers["x-accel-buffering"], "no")
        assert.deepStrictEqual(
          reported.messages.map(({ params, result }) => params?.["progress"] ?? result?.["resultType"]),
          [
            1,
            2,
            "complete"
          ]
        )
        // The header of a stream would have been sent after 10 ms.
        const late = yield* exchange(server, post("tools/call", { name: "late" }))
        assert.strictEqual(late.status, 200)
        assert.strictEqual(late.isStream, responseMode === "stream")
      }))
  }

  it.live("[SHE-07] [SHE-08] a client that closes the response cancels its request", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const cancelled = yield* Deferred.make<void>()
      const server = yield* serveStateless(tools({
        wait: Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(cancelled, undefined))
        )
      }))
      const response = yield* send(server, post("tools/call", { name: "wait" }))
      yield* Deferred.await(started)
      response.disconnect()
      yield* Deferred.await(cancelled)
    }))

  it.live("a stream of notifications is open until the client or the server ends it", () =>
    Effect.gen(function*() {
      const listeners = new Set<Listener.ListenerShape>()
      const server = yield* serveStateless({
        "tools/list": () => Effect.succeed({ tools: [] }),
        "subscriptions/listen": Effect.fnUntraced(function*() {
          const listener = yield* Listener.Listener
          yield* Effect.acquireRelease(
            Effect.sync(() => void listeners.add(listener)),
            () => Effect.sync(() => void listeners.delete(listener))
          )
          return { notifications: { toolsListChanged: true } }
        })
      }, { server: { limits: { gracefulTimeout: "5 seconds" } } })
      const listen = post("subscriptions/listen", { notifications: { toolsListChanged: true } })
      const first = yield* send(server, listen)
      const second = yield* send(server, listen)
      yield* first.awaitMessages(1)
      yield* second.awaitMessages(1)
      assert.isTrue(first.isStream)
      assert.strictEqual(listeners.size, 2)
      first.disconnect()
      yield* until(() => listeners.size === 1)
      yield* Effect.forEach(listeners, ({ toolListChanged }) => toolListChanged)
      yield* second.awaitMessages(2)
      yield* server.stop
      yield* second.awaitEnd
      assert.deepStrictEqual(second.messages.map(({ method, result }) => method ?? result?.["resultType"]), [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
        "complete"
      ])
      assert.strictEqual(listeners.size, 0)
    }))
})
