import { ErrorCode, McpError } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as net from "node:net"
import * as zlib from "node:zlib"
import { until } from "../../../support/process.ts"
import { type ReceivedResponse, exchange, connect, initialize, send } from "../../../support/httpClient.ts"
import { serve, text, tools } from "../../../support/server.ts"
import { serveSessionless } from "../../../support/sessionlessServer.ts"

const ping = (id: string | number = 1) => ({ jsonrpc: "2.0", id, method: "ping" })

const revisions = ["2025-03-26", "2025-06-18", "2025-11-25"] as const

/** A refusal: its status, and an error of JSON-RPC as its body. */
const refused = (answer: ReceivedResponse, status: number, id?: unknown) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.isTrue(answer.ended)
  const [error] = answer.messages
  assert.isNumber(error?.error?.code)
  assert.isString(error?.error?.message)
  assert.strictEqual(error?.id ?? undefined, id)
}

const handlers = tools({ now: Effect.succeed(text("now")), never: Effect.never })

describe.concurrent("statuses of Streamable HTTP", () => {
  for (const revision of revisions) {
    it.live(`[HTTP-01] [HTTP-06] [HTTP-09] serves a session at one path (${revision})`, () =>
      Effect.gen(function*() {
        const server = yield* serve(handlers)
        const opened = yield* exchange(server, { body: initialize(revision) })
        assert.strictEqual(opened.status, 200)
        assert.strictEqual(opened.headers["content-type"], "application/json")
        assert.strictEqual(opened.messages[0]?.result?.["protocolVersion"], revision)
        const client = yield* connect(server, { revision })
        const pong = yield* client.ping(7)
        assert.deepStrictEqual(pong.messages, [{ jsonrpc: "2.0", id: 7, result: {} }])
        const called = yield* client.call(8, "now")
        yield* called.awaitEnd
        assert.deepInclude(called.messages[0], { id: 8 })
        const told = yield* client.notify("notifications/roots/list_changed")
        assert.deepInclude({ status: told.status, text: told.text }, { status: 202, text: "" })
        const replied = yield* client.respond("nobody asked", {})
        assert.deepInclude({ status: replied.status, text: replied.text }, { status: 202, text: "" })
        const elsewhere = yield* client.exchange({ body: ping(), path: "/elsewhere" })
        assert.strictEqual(elsewhere.status, 404)
        assert.isTrue(elsewhere.messages.length === 0)
      }))
  }

  it.live("[SHS-25] a message without a session id gets 400, unless it is initialize", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      refused(yield* exchange(server, { body: ping(3) }), 400, 3)
      refused(yield* exchange(server, { body: { jsonrpc: "2.0", method: "notifications/initialized" } }), 400)
      refused(yield* exchange(server, { method: "GET" }), 400)
      refused(yield* exchange(server, { method: "DELETE" }), 400)
      refused(yield* exchange(server, { body: [initialize("2025-03-26")] }), 400)
      assert.deepStrictEqual(yield* server.host.sessions, [])
    }))

  it.live("[SHS-26] [SHS-28] a session that nobody knows, or that has ended, gets 404", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const unknown = { headers: { "mcp-session-id": "4711" } }
      refused(yield* exchange(server, { body: ping(3), ...unknown }), 404, 3)
      refused(yield* exchange(server, { body: initialize("2025-11-25"), ...unknown }), 404, "init")
      refused(yield* exchange(server, { method: "GET", ...unknown }), 404)
      refused(yield* exchange(server, { method: "DELETE", ...unknown }), 404)
      const deleted = yield* client.delete
      assert.deepInclude({ status: deleted.status, text: deleted.text }, { status: 204, text: "" })
      refused(yield* client.ping(4), 404, 4)
      refused(yield* client.get(), 404)
      refused(yield* client.delete, 404)
      assert.deepStrictEqual(yield* server.host.sessions, [])
    }))

  it.live("[SHS-26] a session that has expired gets 404", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { sessions: { idle: "100 millis" } } })
      const client = yield* connect(server)
      yield* until(() => server.host.find(client.id) === undefined)
      refused(yield* client.ping(4), 404, 4)
    }))

  it.live("[SHS-21] [SHS-22] ids of sessions are visible ASCII, and no two are alike", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const clients = yield* Effect.forEach(Array.from({ length: 20 }), () => connect(server), { concurrency: 10 })
      const ids = clients.map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, 20)
      for (const id of ids) assert.match(id, /^[\x21-\x7e]{32,}$/)
      assert.sameMembers((yield* server.host.sessions).map(({ id }) => id), ids)
    }))

  it.live("what accepts no answer gets 406, in any mode", () =>
    Effect.gen(function*() {
      for (const responseMode of ["adaptive", "json", "stream"] as const) {
        const server = yield* serve(handlers, { http: { responseMode } })
        const client = yield* connect(server)
        const withAccept = (accept: string | undefined) => client.exchange({ body: ping(), headers: { accept } })
        for (
          const accept of [
            undefined,
            "application/json",
            "text/event-stream",
            "text/html",
            "application/json, text/event-stream;q=0"
          ]
        ) {
          refused(yield* withAccept(accept), 406)
        }
        for (
          const accept of [
            "*/*",
            "application/*, text/*",
            "text/event-stream;q=0.5, application/json",
            "TEXT/EVENT-STREAM, APPLICATION/JSON"
          ]
        ) {
          assert.strictEqual((yield* withAccept(accept)).status, 200, accept)
        }
        refused(yield* client.get(undefined, { accept: "application/json" }), 406)
      }
    }))

  it.live("a compressed body gets 415, which says that none may be", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      for (const coding of ["gzip", "br", "identity, gzip", "unheard-of"]) {
        const answer = yield* client.exchange({
          raw: zlib.gzipSync(JSON.stringify(ping())),
          headers: { "content-encoding": coding }
        })
        refused(answer, 415)
        assert.strictEqual(answer.headers["accept-encoding"], "identity")
        assert.include(answer.text, "Content-Encoding")
      }
      assert.strictEqual(
        (yield* client.exchange({ body: ping(), headers: { "content-encoding": "identity" } })).status,
        200
      )
    }))

  it.live("what is no JSON gets 415", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const withType = (type: string | undefined) => client.exchange({ body: ping(), headers: { "content-type": type } })
      for (const type of [undefined, "text/plain", "application/jsonp", "application/json; charset=latin1"]) {
        refused(yield* withType(type), 415)
      }
      for (const type of ["application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""]) {
        assert.strictEqual((yield* withType(type)).status, 200, type)
      }
    }))

  it.live("[HTTP-15] [SHS-29] a version header that is not supported gets 400; none is fine, another is reported", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const withVersion = (version: string | undefined, method = "POST") =>
        client.exchange({
          ...(method === "POST" ? { body: ping() } : { method }),
          headers: { "mcp-protocol-version": version }
        })
      for (const version of ["1999-01-01", "", "2025-11-25, 2025-11-25"]) {
        refused(yield* withVersion(version), 400)
        refused(yield* withVersion(version, "GET"), 400)
        refused(yield* withVersion(version, "DELETE"), 400)
      }
      assert.strictEqual((yield* withVersion(undefined)).status, 200)
      const mismatches = () => server.events.filter(({ _tag }) => _tag === "RevisionMismatch")
      assert.deepStrictEqual(mismatches(), [])
      assert.strictEqual((yield* withVersion("2025-06-18")).status, 200)
      assert.deepStrictEqual(mismatches(), [{
        _tag: "RevisionMismatch",
        agreed: "2025-11-25",
        said: "2025-06-18"
      }])
    }))

  it.live("a method that is none of the protocol gets 405, which says which are", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      for (const method of ["PUT", "PATCH", "OPTIONS"]) {
        const answer = yield* client.exchange({ method, headers: { "content-type": "application/json" } })
        refused(answer, 405)
        assert.strictEqual(answer.headers["allow"], "GET, POST, DELETE")
      }
      assert.strictEqual((yield* client.exchange({ method: "HEAD" })).status, 405)
      assert.strictEqual((yield* client.ping()).status, 200)
    }))

  it.live("[HTTP-08] what is no message gets 400 every time, and the session lives on", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { limits: { maxMalformedRepliesPerSecond: 2 } } })
      const client = yield* connect(server)
      const parse = [
        "",
        "{",
        "{\"jsonrpc\":\"2.0\",",
        Buffer.from([0x22, 0xff, 0x22]),
        "nonsense"
      ]
      for (const raw of parse) {
        const answer = yield* client.exchange({ raw })
        refused(answer, 400)
        assert.strictEqual(answer.messages[0]?.error?.code, ErrorCode.ParseError)
      }
      const malformed = ["[]", "null", "7", "{}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "{\"id\":{}}"]
      for (const raw of malformed) {
        const answer = yield* client.exchange({ raw })
        assert.strictEqual(answer.status, 400, raw)
        assert.strictEqual(answer.messages[0]?.error?.code, ErrorCode.InvalidRequest)
      }
      assert.strictEqual((yield* client.ping()).status, 200)
    }))

  it.live("[HTTP-08] an answer that is no response gets 400, and fails its question; one that leaves no doubt gets 202", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const standalone = yield* client.get()
      const answers = [
        [{ result: {}, error: null }, 202, undefined],
        [{ result: null, error: { code: "-32601", message: "no" } }, 202, "ErrorResponse"],
        [{ error: "no" }, 400, "MalformedResponse"]
      ] as const
      for (const [index, [members, status, reason]] of answers.entries()) {
        const pong = yield* Effect.forkChild(
          server.host.find(client.id)?.session.ping() ?? Effect.void,
          { startImmediately: true }
        )
        yield* standalone.awaitMessages(index + 1)
        const answer = yield* client.exchange({ body: { jsonrpc: "2.0", id: standalone.messages[index]?.id, ...members } })
        assert.strictEqual(answer.status, status)
        const outcome = yield* Effect.match(Fiber.join(pong), {
          onSuccess: () => undefined,
          onFailure: (error) => error.reason._tag
        })
        assert.strictEqual(outcome, reason)
      }
    }))

  it.live("law 5: an id or a token of more than 4,096 bytes gets 400 and an error without an id", () =>
    Effect.gen(function*() {
      const long = "i".repeat(4097)
      const bodies = [
        ping(long),
        { ...ping(), params: { _meta: { progressToken: long } } },
        { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: long } }
      ]
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const sessionless = yield* serveSessionless(handlers)
      for (const body of bodies) {
        for (const answer of [yield* client.exchange({ body }), yield* exchange(sessionless, { body })]) {
          refused(answer, 400)
          assert.strictEqual(answer.messages[0]?.error?.code, ErrorCode.InvalidRequest)
        }
      }
      refused(yield* exchange(server, { body: { ...ping(long), method: "initialize" } }), 400)
    }))

  it.live("an error has no more than an excerpt of a header's value", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const long = "x".repeat(4000)
      for (const name of ["mcp-protocol-version", "origin", "host"]) {
        const answer = yield* exchange(server, { body: initialize("2025-11-25"), headers: { [name]: long } })
        assert.include([400, 403], answer.status)
        const message = answer.messages[0]?.error?.message
        assert.include(message, "x".repeat(100))
        assert.isAtMost(message?.length ?? Number.NaN, 300)
      }
    }))

  it.live("a body that is too large gets 413, whether it says so or not, and its connection does not hang", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { http: { maxBodyBytes: 10_000 } })
      const client = yield* connect(server)
      const fits = JSON.stringify({ ...ping(), params: { _meta: { x: "" } } })
      const body = (bytes: number) => fits.replace("\"x\":\"\"", `"x":"${"x".repeat(bytes - fits.length)}"`)
      assert.strictEqual((yield* client.exchange({ raw: body(10_000) })).status, 200)
      refused(yield* client.exchange({ raw: body(10_001) }), 413)
      refused(yield* client.exchange({ raw: body(5_000_000) }), 413)
      const head = [
        "POST /mcp HTTP/1.1",
        `host: 127.0.0.1:${server.port}`,
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        `mcp-session-id: ${client.id}`
      ]
      const raw = (...rest: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          const socket = yield* Effect.acquireRelease(
            Effect.sync(() => net.connect(server.port, "127.0.0.1")),
            (opened) => Effect.sync(() => opened.destroy())
          )
          let said = ""
          let closed = false
          socket.setEncoding("utf8").on("data", (chunk: string) => {
            said += chunk
          }).on("close", () => {
            closed = true
          }).on("error", () => {})
          socket.write([...head, ...rest].join("\r\n"))
          return { socket, said: () => said, closed: () => closed }
        })
      // It promises more than may come, and sends none of it.
      const promised = yield* raw("content-length: 20000000", "", "")
      yield* until(() => promised.said().includes("413"))
      // It sends without end, in chunks.
      const chunk = `${(5000).toString(16)}\r\n${"x".repeat(5000)}\r\n`
      const chunked = yield* raw("transfer-encoding: chunked", "", chunk)
      assert.strictEqual(chunked.said(), "")
      chunked.socket.write(chunk + chunk)
      yield* until(() => chunked.said().includes("413") || chunked.closed())
      assert.include(chunked.said(), "413")
      const writing = setInterval(() => chunked.socket.write(chunk), 1)
      yield* Effect.ensuring(until(chunked.closed), Effect.sync(() => clearInterval(writing)))
      assert.strictEqual((yield* client.ping()).status, 200)
    }))

  it.live("[SHS-13] a GET gets a stream; a second one gets 409, and the first goes on", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const first = yield* client.get()
      assert.deepInclude({ status: first.status, type: first.headers["content-type"] }, {
        status: 200,
        type: "text/event-stream"
      })
      refused(yield* client.get(), 409)
      assert.isFalse(first.isClosed)
      first.disconnect()
      const again = yield* Effect.repeat(client.get(), { until: ({ status }) => status === 200 })
      assert.isFalse(again.ended)
    }))

  it.live("law 12: what a client says of itself has a limit of its own, since it is kept", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), { http: { maxInitializeBytes: 1000 } })
      const { params, ...request } = initialize("2025-11-25")
      const long = { ...request, params: { ...params, clientInfo: { name: "x".repeat(1000), version: "1" } } }
      refused(yield* exchange(server, { body: long }), 413, request.id)
      assert.lengthOf(yield* server.host.sessions, 0)
      assert.strictEqual((yield* exchange(server, { body: { ...request, params } })).status, 200)
    }))

  it.live("[MSG-10] an error that a handler answers with is a reply, whatever its code", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ refuse: Effect.fail(McpError.invalidRequest("not like this")) }))
      const client = yield* connect(server)
      const answer = yield* client.call(6, "refuse")
      yield* answer.awaitEnd
      refused(answer, 200, 6)
    }))

  it.live("an id that is in flight is refused the second time, and the first has its answer", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<void>()
      const server = yield* serve(tools({ wait: Effect.as(Deferred.await(go), text("first")) }))
      const client = yield* connect(server)
      const first = yield* client.call(5, "wait")
      yield* until(() => server.host.find(client.id) !== undefined && first.status === 0)
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
      const second = yield* client.call(5, "wait")
      yield* second.awaitEnd
      refused(second, 200, 5)
      yield* Deferred.succeed(go, undefined)
      yield* first.awaitEnd
      assert.deepStrictEqual(first.messages[0]?.result, { ...text("first") })
    }))

  it.live("too many requests in flight get 429, with an error that says so and when to come back", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { limits: { maxIncomingRequests: 2 } } })
      const client = yield* connect(server)
      yield* client.call(1, "never")
      yield* client.call(2, "never")
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 2 })
      const third = yield* client.call(3, "never")
      yield* third.awaitEnd
      refused(third, 429, 3)
      assert.strictEqual(third.messages[0]?.error?.code, ErrorCode.Overloaded)
      assert.match(third.headers["retry-after"] ?? "", /^\d+$/)
    }))

  it.live("one session too many gets 503, with an error that says so and when to come back", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { sessions: { max: 1 } } })
      const client = yield* connect(server)
      const answer = yield* exchange(server, { body: initialize("2025-11-25") })
      refused(answer, 503, "init")
      assert.strictEqual(answer.messages[0]?.error?.code, ErrorCode.Overloaded)
      // When its client leaves for 5 minutes.
      assert.strictEqual(answer.headers["retry-after"], "300")
      assert.isUndefined(answer.headers["mcp-session-id"])
      const listening = yield* client.get()
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.held === 1 })
      const again = yield* exchange(server, { body: initialize("2025-11-25") })
      assert.deepStrictEqual([again.status, again.headers["retry-after"]], [503, undefined], "it is in use")
      listening.disconnect()
      yield* client.delete
      assert.strictEqual((yield* exchange(server, { body: initialize("2025-11-25") })).status, 200)
    }))

  for (const responseMode of ["adaptive", "json", "stream"] as const) {
    it.live(`an initialize that is refused leaves no session (${responseMode})`, () =>
      Effect.gen(function*() {
        const server = yield* serve(handlers, { http: { responseMode } })
        const body = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 7 } }
        const refusal = yield* exchange(server, { body })
        assert.isNumber(refusal.messages[0]?.error?.code)
        assert.isUndefined(refusal.headers["mcp-session-id"])
        assert.strictEqual((yield* server.host.health).sessions, 0)
        assert.deepStrictEqual(server.logs, [])
      }))

    it.live(`an initialize whose client has left leaves no session (${responseMode})`, () =>
      Effect.gen(function*() {
        const server = yield* serve(handlers, {
          http: { responseMode },
          sessionStore: {
            save: () => Effect.never,
            load: () => Effect.undefined,
            touch: () => Effect.void,
            remove: () => Effect.void
          }
        })
        const waiting = yield* send(server, { body: initialize("2025-11-25") })
        yield* Effect.repeat(server.host.sessions, { until: (sessions) => sessions.length === 1 })
        waiting.disconnect()
        yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  it.live("[SHS-01] batches are answered together at 2025-03-26", () =>
    Effect.gen(function*() {
      for (const responseMode of ["adaptive", "json", "stream"] as const) {
        const server = yield* serve(handlers, { http: { responseMode }, session: { limits: { maxBatchMessages: 3 } } })
        const client = yield* connect(server, { revision: "2025-03-26" })
        const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "now" } }
        const both = yield* client.exchange({ body: [ping(1), call] })
        assert.strictEqual(both.status, 200)
        const replies = both.messages.flat()
        assert.sameMembers(replies.map(({ id }) => id), [1, 2])
        const told = yield* client.exchange({
          body: [{ jsonrpc: "2.0", method: "notifications/x" }, { jsonrpc: "2.0", id: 9, result: {} }]
        })
        assert.deepInclude({ status: told.status, text: told.text }, { status: 202, text: "" })
        refused(yield* client.exchange({ body: [1, 2, 3, 4].map(ping) }), 400)
        assert.strictEqual((yield* client.exchange({ body: [1, 2, 3].map(ping) })).status, 200)
      }
    }))

  it.live("batches that hold requests are never accepted with 202, however many were rejected before", () =>
    Effect.gen(function*() {
      for (const maxMalformedRepliesPerSecond of [0, 2]) {
        const server = yield* serve(handlers, { session: { limits: { maxMalformedRepliesPerSecond } } })
        for (const revision of ["2025-03-26", "2025-11-25"] as const) {
          const client = yield* connect(server, { revision })
          // At 2025-03-26 a batch in a batch is rejected, and else every batch is.
          const body = revision === "2025-03-26" ? [[ping(1)]] : [ping(1), ping(2)]
          const answers = yield* Effect.replicateEffect(client.exchange({ body }), 10)
          const rejected = answers.filter(({ status }) => status === 429)
          const answered = answers.filter(({ messages }) =>
            messages.flat()[0]?.error?.code === ErrorCode.InvalidRequest
          )
          assert.strictEqual(rejected.length + answered.length, 10)
          if (maxMalformedRepliesPerSecond === 0) assert.strictEqual(rejected.length, 10)
          for (const answer of rejected) {
            assert.strictEqual(answer.headers["retry-after"], "1")
            assert.strictEqual(answer.messages[0]?.error?.code, ErrorCode.Overloaded)
          }
          assert.strictEqual((yield* client.ping()).status, 200)
        }
      }
    }))

  it.live("batches are refused at later revisions", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      for (const revision of ["2025-06-18", "2025-11-25"] as const) {
        const client = yield* connect(server, { revision })
        refused(yield* client.exchange({ body: [ping(1), ping(2)] }), 400)
        assert.strictEqual((yield* client.ping()).status, 200)
      }
    }))
})
