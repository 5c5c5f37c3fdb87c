/** Streamable HTTP without sessions. */
import { RequestContext } from "@effect-mcp/session"
import { Unauthenticated } from "@effect-mcp/transport/Authentication"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { until } from "../../../support/process.ts"
import { type ReceivedResponse, exchange, initialize, send } from "../../../support/httpClient.ts"
import { text, tools } from "../../../support/server.ts"
import { serveSessionless } from "../../../support/sessionlessServer.ts"

const ping = (id: string | number = 1) => ({ jsonrpc: "2.0", id, method: "ping" })

const call = (id: string | number, name: string) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, _meta: { progressToken: id } }
})

const newest = { "mcp-protocol-version": "2025-11-25" }

const codeOf = (answer: ReceivedResponse) => answer.messages.map(({ error, id }) => [id ?? undefined, error?.code])

/** A result with this text, as it comes. */
const said = (words: string) => ({ content: [{ type: "text", text: words }] })

const structured = { content: [], structuredContent: { sum: 42 } }

const reporting = Effect.gen(function*() {
  yield* RequestContext.progress({ progress: 1 })
  yield* RequestContext.log({ level: "info", data: "here" })
  return text("done")
})

describe.concurrent("Streamable HTTP without sessions", () => {
  for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
    it.live(`[HTTP-01] [INIT-04] [HTTP-09] serves each request for itself, and gives no session id (${revision})`, () =>
      Effect.gen(function*() {
        const server = yield* serveSessionless(tools({ now: Effect.succeed(text("now")) }))
        const headers = { "mcp-protocol-version": revision }
        // In any order, and again and again.
        for (let time = 0; time < 2; time++) {
          const called = yield* exchange(server, { body: call(8, "now"), headers })
          assert.deepStrictEqual([called.status, called.messages[0]?.result], [200, said("now")])
          const opened = yield* exchange(server, { body: initialize(revision) })
          assert.deepStrictEqual([opened.status, opened.messages[0]?.result?.["protocolVersion"]], [200, revision])
          const pong = yield* exchange(server, {
            body: ping(7),
            headers: { ...headers, "mcp-session-id": "of another time" }
          })
          assert.deepStrictEqual(pong.messages, [{ jsonrpc: "2.0", id: 7, result: {} }])
          for (const answer of [called, opened, pong]) {
            assert.notProperty(answer.headers, "mcp-session-id")
            assert.strictEqual(answer.headers["content-type"], "application/json")
          }
        }
        assert.deepStrictEqual(server.events, [])
      }))
  }

  it.live("[HTTP-06] takes notifications and responses with 202, though they are still dealt with", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const heard: Array<string> = []
      const server = yield* serveSessionless({
        "notifications/roots/list_changed": () =>
          Effect.andThen(Deferred.await(gate), Effect.sync(() => void heard.push("heard")))
      })
      const told = [
        { jsonrpc: "2.0", method: "notifications/initialized" },
        { jsonrpc: "2.0", method: "notifications/roots/list_changed" },
        { jsonrpc: "2.0", id: 1, result: {} },
        [{ jsonrpc: "2.0", method: "notifications/initialized" }, { jsonrpc: "2.0", id: 1, result: {} }]
      ]
      for (const body of told) {
        const answer = yield* exchange(server, { body })
        assert.deepStrictEqual([answer.status, answer.text, answer.ended], [202, "", true])
      }
      assert.deepStrictEqual(heard, [])
      yield* Deferred.succeed(gate, undefined)
      yield* until(() => heard.length === 1)
    }))

  it.live("[SHS-13] [SHS-28] answers GET and DELETE, and whatever else is no POST, with 405", () =>
    Effect.gen(function*() {
      const server = yield* serveSessionless({})
      for (const method of ["GET", "DELETE", "PUT", "OPTIONS"]) {
        const answer = yield* exchange(server, { method, headers: { "mcp-session-id": "any" } })
        assert.deepStrictEqual([answer.status, answer.headers.allow], [405, "POST"], method)
        assert.deepStrictEqual(codeOf(answer), [[undefined, -32600]], method)
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

  it.live("[SHS-29] [MSG-15] takes what says no revision to be in 2025-03-26", () =>
    Effect.gen(function*() {
      const server = yield* serveSessionless(tools({ sum: Effect.succeed(structured) }))
      const old = yield* exchange(server, { body: call(1, "sum") })
      // A revision that does not know what is structured has it in text as well.
      assert.deepStrictEqual(old.messages[0]?.result, {
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

  it.live("[HTTP-15] [MSG-17] refuses a revision that it does not speak, and what that has no word for", () =>
    Effect.gen(function*() {
      const server = yield* serveSessionless({}, { server: { revisions: ["2025-06-18", "2025-11-25"] } })
      const refused = [
        { body: ping() },
        { body: ping(), headers: { "mcp-protocol-version": "2025-03-26" } },
        { body: ping(), headers: { "mcp-protocol-version": "1999-01-01" } }
      ]
      for (const asked of refused) {
        const answer = yield* exchange(server, asked)
        assert.strictEqual(answer.status, 400)
        assert.match(answer.text, /MCP-Protocol-Version .* is not supported/)
      }
      const batch = yield* exchange(server, { body: [ping()], headers: newest })
      assert.deepStrictEqual([batch.status, codeOf(batch)], [400, [[undefined, -32600]]])
      // It does not know yet what it will speak.
      const opened = yield* exchange(server, { body: initialize("2025-03-26") })
      assert.strictEqual(opened.messages[0]?.result?.["protocolVersion"], "2025-11-25")
    }))

  it.live("[HTTP-09] [SHS-08] [SHS-09] answers in the way that it is told to", () =>
    Effect.gen(function*() {
      const handlers = tools({ now: Effect.succeed(text("now")), report: reporting })
      const seen: Array<unknown> = []
      for (const responseMode of ["adaptive", "json", "stream"] as const) {
        const server = yield* serveSessionless(handlers, { http: { responseMode } })
        for (const tool of ["now", "report"]) {
          const answered = yield* exchange(server, { body: call(1, tool), headers: newest })
          assert.isTrue(answered.ended)
          seen.push([responseMode, tool, answered.isStream, answered.messages.map(({ id, method }) => method ?? id)])
          // There is nothing to come back to.
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

  it.live("[HTTP-09] makes a stream of an answer that takes long", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const server = yield* serveSessionless(
        tools({ wait: Effect.as(Deferred.await(gate), text("done")) }),
        { http: { adaptiveTimeout: 10 } }
      )
      const answer = yield* send(server, { body: call(1, "wait"), headers: newest })
      yield* answer.awaitHeaders
      assert.isTrue(answer.isStream)
      yield* Deferred.succeed(gate, undefined)
      yield* answer.awaitEnd
      assert.deepStrictEqual(answer.messages.map(({ id }) => id), [1])
    }))

  it.live("asks nothing of its client", () =>
    Effect.gen(function*() {
      const server = yield* serveSessionless(tools({
        ask: Effect.flatMap(RequestContext.RequestContext, (context) =>
          Effect.map(Effect.flip(context.listRoots()), (error) => text(error.reason._tag))).pipe(Effect.orDie)
      }))
      const answer = yield* exchange(server, { body: call(1, "ask") })
      assert.deepStrictEqual(answer.messages[0]?.result, said("StatelessModeNotSupported"))
    }))

  it.live("[SHS-10] takes no lost connection for a cancellation, until it has waited long", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const seen: Array<string> = []
      const note = (words: string) => Effect.sync(() => void seen.push(words))
      const work = (until: Effect.Effect<void, never, RequestContext.RequestContext>, name: string) =>
        note(`${name} began`).pipe(
          Effect.andThen(until),
          Effect.andThen(note(`${name} finished`)),
          Effect.onInterrupt(() => note(`${name} interrupted`)),
          Effect.as(text("done"))
        )
      const handlers = tools({
        finish: work(Deferred.await(gate), "finish"),
        hang: work(Effect.andThen(RequestContext.log({ level: "info", data: 1 }), Effect.never), "hang")
      })
      const server = yield* serveSessionless(handlers, { http: { detachedRequestTimeout: 300 } })
      const patient = yield* serveSessionless(handlers)
      const lost = yield* send(patient, { body: call(1, "finish") })
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
      assert.deepStrictEqual([server.logs, patient.logs], [[], []])
    }))

  it.live("serves clients with the same ids at the same time, and no more than it may", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const began: Array<string> = []
      const server = yield* serveSessionless(
        tools({
          wait: Effect.sync(() => void began.push("began")).pipe(
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
      yield* until(() => began.length === 2)
      // What room there is left is for others.
      const greedy = yield* exchange(server, from("192.0.2.1"))
      assert.deepStrictEqual([greedy.status, codeOf(greedy)], [429, [[1, -32010]]])
      assert.match(greedy.headers["retry-after"] ?? "", /^\d+$/)
      waiting.push(yield* send(server, from("192.0.2.2")))
      yield* until(() => began.length === 3)
      const refused = yield* exchange(server, from("192.0.2.2"))
      assert.deepStrictEqual([refused.status, codeOf(refused)], [429, [[1, -32010]]])
      // The client with most makes room for a newcomer.
      waiting.push(yield* send(server, from("192.0.2.3")))
      yield* until(() => began.length === 4)
      const [displaced, ...others] = waiting
      yield* displaced?.awaitEnd ?? Effect.void
      assert.strictEqual(displaced?.messages.at(-1)?.error?.code, -32010)
      yield* Deferred.succeed(gate, undefined)
      for (const answer of others) {
        yield* answer.awaitEnd
        assert.deepStrictEqual(answer.messages[0]?.result, said("done"))
      }
    }))

  it.live("says that something failed where a reply is no JSON", () =>
    Effect.gen(function*() {
      const server = yield* serveSessionless(tools({
        big: Effect.succeed({ content: [], structuredContent: { sum: 42n } }),
        loud: Effect.andThen(reporting, Effect.succeed({ content: [], structuredContent: { sum: 42n } }))
      }))
      for (const tool of ["big", "loud"]) {
        const answer = yield* exchange(server, { body: call(1, tool), headers: newest })
        const reply = answer.messages.at(-1)
        assert.deepStrictEqual([reply?.id, reply?.error?.code], [1, -32603], tool)
      }
    }))

  it.live("[HTTP-11] [HTTP-12] [HTTP-14] lets in whom it should, and tells its handlers who it is", () =>
    Effect.gen(function*() {
      const server = yield* serveSessionless(
        tools({
          who: Effect.map(RequestContext.RequestContext, ({ principal }) => text(principal?.id ?? "nobody"))
        }),
        {
          http: { maxBodyBytes: 1000 },
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
      const stranger = yield* exchange(server, { body })
      assert.deepStrictEqual([stranger.status, stranger.headers["www-authenticate"]], [401, "Bearer"])
      const known = yield* exchange(server, { body, headers: { authorization } })
      assert.deepStrictEqual(known.messages[0]?.result, said(authorization))
      const refusals = [
        [{ body, headers: { authorization, origin: "https://evil.example" } }, 403],
        [{ body, headers: { authorization, host: "evil.example" } }, 403],
        [{ body, headers: { authorization, accept: "application/json" } }, 406],
        [{ body, headers: { authorization, "content-type": "text/plain" } }, 415],
        [{ raw: "{", headers: { authorization } }, 400],
        [{ raw: `"${"x".repeat(1000)}"`, headers: { authorization } }, 413]
      ] as const
      for (const [asked, status] of refusals) {
        assert.strictEqual((yield* exchange(server, asked)).status, status)
      }
    }))

  for (const place of ["on its own", "in a backend"] as const) {
    it.live(`[law 2] when it goes, handlers may finish, every response ends, and nothing is left (${place})`, () =>
      Effect.gen(function*() {
        const gate = yield* Deferred.make<void>()
        const seen: Array<string> = []
        const note = (words: string) => Effect.sync(() => void seen.push(words))
        const server = yield* serveSessionless(
          tools({
            finish: Effect.andThen(note("began"), Effect.as(Deferred.await(gate), text("done"))),
            hang: Effect.andThen(note("began"), Effect.never).pipe(Effect.onInterrupt(() => note("interrupted"))),
            stream: Effect.andThen(reporting, Effect.andThen(note("began"), Effect.never)).pipe(
              Effect.onInterrupt(() => note("interrupted"))
            )
          }),
          { server: { limits: { gracefulCloseTimeout: 500 } } },
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
        assert.deepStrictEqual(finishing.messages[0]?.result, said("done"))
        yield* Fiber.join(stopping)
        yield* until(() => hanging.isClosed && streaming.isClosed)
        assert.deepStrictEqual(seen, ["began", "began", "began", "interrupted", "interrupted"])
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
