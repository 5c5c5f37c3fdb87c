/** Streamable HTTP without sessions. */
import { RequestContext } from "@effect-mcp/session"
import { Unauthenticated } from "@effect-mcp/transport/Authentication"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { exchange, initialize, type ReceivedResponse, send } from "../../../support/httpClient.ts"
import { until } from "../../../support/process.ts"
import { text, tools } from "../../../support/server.ts"
import { serveStateless } from "../../../support/statelessServer.ts"

const ping = (id: string | number = 1) => ({ jsonrpc: "2.0", id, method: "ping" })

const call = (id: string | number, name: string) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, _meta: { progressToken: id } }
})

const newest = { "mcp-protocol-version": "2025-11-25" }

const codeOf = (response: ReceivedResponse) => response.messages.map(({ error, id }) => [id ?? undefined, error?.code])

/** Returns a result with this text, as JSON. */
const textResult = (value: string) => ({ content: [{ type: "text", text: value }] })

const structured = { content: [], structuredContent: { sum: 42 } }

const reporting = Effect.gen(function*() {
  yield* RequestContext.progress({ progress: 1 })
  yield* RequestContext.log({ level: "info", data: "here" })
  return text("done")
})

describe.concurrent("Streamable HTTP without sessions", () => {
  for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
    it.live(`[HTTP-01] [INIT-04] [HTTP-09] serves each request by itself, and issues no session id (${revision})`, () =>
      Effect.gen(function*() {
        const server = yield* serveStateless(tools({ now: Effect.succeed(text("now")) }))
        const headers = { "mcp-protocol-version": revision }
        // In any order, repeatedly.
        for (let time = 0; time < 2; time++) {
          const called = yield* exchange(server, { body: call(8, "now"), headers })
          assert.deepStrictEqual([called.status, called.messages[0]?.result], [200, textResult("now")])
          const opened = yield* exchange(server, { body: initialize(revision) })
          assert.deepStrictEqual([opened.status, opened.messages[0]?.result?.["protocolVersion"]], [200, revision])
          const pong = yield* exchange(server, {
            body: ping(7),
            headers: { ...headers, "mcp-session-id": "unknown" }
          })
          assert.deepStrictEqual(pong.messages, [{ jsonrpc: "2.0", id: 7, result: {} }])
          for (const response of [called, opened, pong]) {
            assert.notProperty(response.headers, "mcp-session-id")
            assert.strictEqual(response.headers["content-type"], "application/json")
          }
        }
        assert.deepStrictEqual(server.events, [])
      }))
  }

  it.live("[HTTP-06] accepts notifications and responses with 202, before they are handled", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const handled: Array<string> = []
      const server = yield* serveStateless({
        "notifications/roots/list_changed": () =>
          Effect.andThen(Deferred.await(gate), Effect.sync(() => void handled.push("handled")))
      })
      const bodies = [
        { jsonrpc: "2.0", method: "notifications/initialized" },
        { jsonrpc: "2.0", method: "notifications/roots/list_changed" },
        { jsonrpc: "2.0", id: 1, result: {} },
        [{ jsonrpc: "2.0", method: "notifications/initialized" }, { jsonrpc: "2.0", id: 1, result: {} }]
      ]
      for (const body of bodies) {
        const response = yield* exchange(server, { body })
        assert.deepStrictEqual([response.status, response.text, response.ended], [202, "", true])
      }
      assert.deepStrictEqual(handled, [])
      yield* Deferred.succeed(gate, undefined)
      yield* until(() => handled.length === 1)
    }))

  it.live("[SHS-13] [SHS-28] answers GET, DELETE and every other method than POST with 405", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless({})
      for (const method of ["GET", "DELETE", "PUT", "OPTIONS"]) {
        const response = yield* exchange(server, { method, headers: { "mcp-session-id": "any" } })
        assert.deepStrictEqual([response.status, response.headers.allow], [405, "POST"], method)
        assert.deepStrictEqual(codeOf(response), [[undefined, -32600]], method)
      }
      const preflight = yield* exchange(server, {
        method: "OPTIONS",
        headers: { origin: "http://localhost:3000", "access-control-request-method": "POST" }
      })
      assert.deepStrictEqual(
        [preflight.status, preflight.headers["access-control-allow-methods"]],
        [204, "POST"]
      )
    }))

  it.live("[SHS-29] [MSG-15] serves a request without a revision with 2025-03-26", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(tools({ sum: Effect.succeed(structured) }))
      const withoutRevision = yield* exchange(server, { body: call(1, "sum") })
      // A revision without structured content has it as text.
      assert.deepStrictEqual(withoutRevision.messages[0]?.result, {
        ...structured,
        content: [{ type: "text", text: "{\"sum\":42}" }]
      })
      const recent = yield* exchange(server, { body: call(1, "sum"), headers: newest })
      assert.deepStrictEqual(recent.messages[0]?.result, structured)
      const batch = [
        ping(1),
        call(2, "sum"),
        { jsonrpc: "2.0", method: "notifications/initialized" },
        initialize("2025-03-26")
      ]
      const together = yield* exchange(server, { body: batch })
      assert.deepStrictEqual(
        [together.status, together.messages.flat().map(({ error, id }) => [id, error?.code])],
        [200, [[1, undefined], [2, undefined], ["init", -32600]]]
      )
    }))

  it.live("[HTTP-15] [MSG-17] rejects a revision that it does not serve, and a batch of a later revision", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless({}, { server: { revisions: ["2025-06-18", "2025-11-25"] } })
      const rejected = [
        { body: ping() },
        { body: ping(), headers: { "mcp-protocol-version": "2025-03-26" } },
        { body: ping(), headers: { "mcp-protocol-version": "1999-01-01" } }
      ]
      for (const request of rejected) {
        const response = yield* exchange(server, request)
        assert.strictEqual(response.status, 400)
        assert.match(response.text, /MCP-Protocol-Version .* is not supported/)
      }
      const batch = yield* exchange(server, { body: [ping()], headers: newest })
      assert.deepStrictEqual([batch.status, codeOf(batch)], [400, [[undefined, -32600]]])
      // `initialize` negotiates the revision.
      const opened = yield* exchange(server, { body: initialize("2025-03-26") })
      assert.strictEqual(opened.messages[0]?.result?.["protocolVersion"], "2025-11-25")
    }))

  it.live("[HTTP-09] [SHS-08] [SHS-09] responds in the form of its responseMode", () =>
    Effect.gen(function*() {
      const handlers = tools({ now: Effect.succeed(text("now")), report: reporting })
      const seen: Array<unknown> = []
      for (const responseMode of ["adaptive", "json", "stream"] as const) {
        const server = yield* serveStateless(handlers, { http: { responseMode } })
        for (const tool of ["now", "report"]) {
          const answered = yield* exchange(server, { body: call(1, tool), headers: newest })
          assert.isTrue(answered.ended)
          seen.push([responseMode, tool, answered.isStream, answered.messages.map(({ id, method }) => method ?? id)])
          // No stream can be resumed.
          assert.isUndefined(answered.lastId)
        }
      }
      const reported = ["notifications/progress", "notifications/message", 1]
      assert.deepStrictEqual(seen, [
        ["adaptive", "now", false, [1]],
        ["adaptive", "report", true, reported],
        ["json", "now", false, [1]],
        ["json", "report", false, [1]],
        ["stream", "now", true, [1]],
        ["stream", "report", true, reported]
      ])
    }))

  it.live("[HTTP-09] responds with a stream after adaptiveTimeout", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const server = yield* serveStateless(
        tools({ wait: Effect.as(Deferred.await(gate), text("done")) }),
        { http: { adaptiveTimeout: 10 } }
      )
      const response = yield* send(server, { body: call(1, "wait"), headers: newest })
      yield* response.awaitHeaders
      assert.isTrue(response.isStream)
      yield* Deferred.succeed(gate, undefined)
      yield* response.awaitEnd
      assert.deepStrictEqual(response.messages.map(({ id }) => id), [1])
    }))

  it.live("fails requests to its client with StatelessModeNotSupported", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(tools({
        listRoots: Effect.map(Effect.flip(RequestContext.listRoots()), (error) => text(error.reason._tag)).pipe(
          Effect.orDie
        )
      }))
      const response = yield* exchange(server, { body: call(1, "listRoots") })
      assert.deepStrictEqual(response.messages[0]?.result, textResult("StatelessModeNotSupported"))
    }))

  it.live("[SHS-10] interrupts a request after a lost connection only after detachedRequestTimeout", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const seen: Array<string> = []
      const note = (event: string) => Effect.sync(() => void seen.push(event))
      const work = (until: Effect.Effect<void, never, RequestContext.RequestContext>, name: string) =>
        note(`${name} started`).pipe(
          Effect.andThen(until),
          Effect.andThen(note(`${name} finished`)),
          Effect.onInterrupt(() => note(`${name} interrupted`)),
          Effect.as(text("done"))
        )
      const handlers = tools({
        finish: work(Deferred.await(gate), "finish"),
        hang: work(Effect.andThen(RequestContext.log({ level: "info", data: 1 }), Effect.never), "hang")
      })
      const server = yield* serveStateless(handlers, { http: { detachedRequestTimeout: 300 } })
      const withDefaults = yield* serveStateless(handlers)
      const lost = yield* send(withDefaults, { body: call(1, "finish") })
      const hanging = yield* send(server, { body: call(1, "hang") })
      yield* hanging.awaitHeaders
      yield* until(() => seen.length === 2)
      lost.disconnect()
      hanging.disconnect()
      yield* until(() => seen.includes("hang interrupted"))
      yield* Deferred.succeed(gate, undefined)
      yield* until(() => seen.includes("finish finished"))
      assert.notInclude(seen, "finish interrupted")
      assert.deepStrictEqual(server.events.map(({ _tag }) => _tag), ["Abandoned"])
      assert.deepStrictEqual([server.logs, withDefaults.logs], [[], []])
    }))

  it.live("serves requests with the same id of several clients at the same time, up to its limits", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const started: Array<string> = []
      const server = yield* serveStateless(
        tools({
          wait: Effect.sync(() => void started.push("started")).pipe(
            Effect.andThen(Deferred.await(gate)),
            Effect.as(text("done"))
          )
        }),
        { server: { limits: { maxIncomingRequests: 3 } } },
        "behind a proxy"
      )
      const from = (address: string) => ({ body: call(1, "wait"), headers: { "x-forwarded-for": address } })
      const waiting = [
        yield* send(server, from("192.0.2.1")),
        yield* send(server, from("192.0.2.1"))
      ]
      yield* until(() => started.length === 2)
      // The remaining room is for other clients.
      const third = yield* exchange(server, from("192.0.2.1"))
      assert.deepStrictEqual([third.status, codeOf(third)], [429, [[1, -31010]]])
      assert.match(third.headers["retry-after"] ?? "", /^\d+$/)
      waiting.push(yield* send(server, from("192.0.2.2")))
      yield* until(() => started.length === 3)
      const rejected = yield* exchange(server, from("192.0.2.2"))
      assert.deepStrictEqual([rejected.status, codeOf(rejected)], [429, [[1, -31010]]])
      // A request of the client with the most requests is evicted for a new client.
      waiting.push(yield* send(server, from("192.0.2.3")))
      yield* until(() => started.length === 4)
      const [evicted, ...others] = waiting
      yield* evicted?.awaitEnd ?? Effect.void
      assert.strictEqual(evicted?.messages.at(-1)?.error?.code, -31010)
      yield* Deferred.succeed(gate, undefined)
      for (const response of others) {
        yield* response.awaitEnd
        assert.deepStrictEqual(response.messages[0]?.result, textResult("done"))
      }
    }))

  it.live("responds with an internal error if JSON cannot represent a reply", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(tools({
        big: Effect.succeed({ content: [], structuredContent: { sum: 42n } }),
        reports: Effect.andThen(reporting, Effect.succeed({ content: [], structuredContent: { sum: 42n } }))
      }))
      for (const tool of ["big", "reports"]) {
        const response = yield* exchange(server, { body: call(1, tool), headers: newest })
        const reply = response.messages.at(-1)
        assert.deepStrictEqual([reply?.id, reply?.error?.code], [1, -32603], tool)
      }
    }))

  it.live("[HTTP-11] [HTTP-12] [HTTP-14] checks requests as with sessions, and forwards the principal", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(
        tools({
          who: Effect.map(RequestContext.RequestContext, ({ principal }) => text(principal?.id ?? "anonymous"))
        }),
        {
          http: { maxMessageBytes: 1000 },
          authentication: {
            identify: ({ headers }) =>
              headers["authorization"] === undefined
                ? Effect.fail(new Unauthenticated({ challenge: "Bearer" }))
                : Effect.succeed({ id: headers["authorization"] })
          }
        }
      )
      const body = call(1, "who")
      const authorization = "Bearer ada"
      const unauthenticated = yield* exchange(server, { body })
      assert.deepStrictEqual([unauthenticated.status, unauthenticated.headers["www-authenticate"]], [401, "Bearer"])
      const authenticated = yield* exchange(server, { body, headers: { authorization } })
      assert.deepStrictEqual(authenticated.messages[0]?.result, textResult(authorization))
      const rejections = [
        [{ body, headers: { authorization, origin: "https://evil.example" } }, 403],
        [{ body, headers: { authorization, host: "evil.example" } }, 403],
        [{ body, headers: { authorization, accept: "application/json" } }, 406],
        [{ body, headers: { authorization, "content-type": "text/plain" } }, 415],
        [{ raw: "{", headers: { authorization } }, 400],
        [{ raw: `"${"x".repeat(1000)}"`, headers: { authorization } }, 413]
      ] as const
      for (const [request, status] of rejections) {
        assert.strictEqual((yield* exchange(server, request)).status, status)
      }
    }))

  for (const place of ["on its own", "in a backend"] as const) {
    it.live(`[law 2] on shutdown, lets handlers finish, and ends every response (${place})`, () =>
      Effect.gen(function*() {
        const gate = yield* Deferred.make<void>()
        const seen: Array<string> = []
        const note = (event: string) => Effect.sync(() => void seen.push(event))
        const server = yield* serveStateless(
          tools({
            finish: Effect.andThen(note("started"), Effect.as(Deferred.await(gate), text("done"))),
            hang: Effect.andThen(note("started"), Effect.never).pipe(Effect.onInterrupt(() => note("interrupted"))),
            stream: Effect.andThen(reporting, Effect.andThen(note("started"), Effect.never)).pipe(
              Effect.onInterrupt(() => note("interrupted"))
            )
          }),
          { server: { limits: { gracefulTimeout: 500 } } },
          place
        )
        const finishing = yield* send(server, { body: call(1, "finish") })
        const hanging = yield* send(server, { body: call(2, "hang") })
        const streaming = yield* send(server, { body: call(3, "stream") })
        yield* until(() => seen.length === 3)
        yield* streaming.awaitHeaders
        const stopping = yield* Effect.forkChild(server.stop, { startImmediately: true })
        yield* Deferred.succeed(gate, undefined)
        yield* finishing.awaitEnd
        assert.deepStrictEqual(finishing.messages[0]?.result, textResult("done"))
        yield* Fiber.join(stopping)
        yield* until(() => hanging.isClosed && streaming.isClosed)
        assert.deepStrictEqual(seen, ["started", "started", "started", "interrupted", "interrupted"])
        const late = yield* exchange(server, { body: ping() })
        assert.strictEqual(late.status, 0)
        assert.deepStrictEqual(
          server.events.map((event) => event._tag === "Abandoned" ? event.id : event._tag).toSorted(),
          [2, 3]
        )
        assert.deepStrictEqual(server.logs, [])
        if (place === "in a backend") return
        assert.deepStrictEqual([hanging.status, codeOf(hanging)], [503, [[2, -32603]]])
        assert.deepStrictEqual([streaming.ended, streaming.messages.at(-1)?.error?.code], [true, -32603])
      }))
  }
})
