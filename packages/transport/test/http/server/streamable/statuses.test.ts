import { ErrorCode, McpError } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as net from "node:net"
import * as zlib from "node:zlib"
import { connect, exchange, initialize, type ReceivedResponse, send } from "../../../support/httpClient.ts"
import { until } from "../../../support/process.ts"
import { serve, text, tools } from "../../../support/server.ts"
import { serveStateless } from "../../../support/statelessServer.ts"

const ping = (id: string | number = 1) => ({ jsonrpc: "2.0", id, method: "ping" })

const revisions = ["2025-03-26", "2025-06-18", "2025-11-25"] as const

/** Checks the status of an error response, and the JSON-RPC error in its body. */
const assertRejected = (response: ReceivedResponse, status: number, id?: unknown) => {
  assert.strictEqual(response.status, status, response.text)
  assert.isTrue(response.ended)
  const [error] = response.messages
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
        const notified = yield* client.notify("notifications/roots/list_changed")
        assert.deepInclude({ status: notified.status, text: notified.text }, { status: 202, text: "" })
        const responded = yield* client.respond("unknown", {})
        assert.deepInclude({ status: responded.status, text: responded.text }, { status: 202, text: "" })
        const elsewhere = yield* client.exchange({ body: ping(), path: "/elsewhere" })
        assert.strictEqual(elsewhere.status, 404)
        assert.isTrue(elsewhere.messages.length === 0)
      }))
  }

  it.live("[SHS-25] a message without a session id is answered with 400, unless it is initialize", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      assertRejected(yield* exchange(server, { body: ping(3) }), 400, 3)
      assertRejected(yield* exchange(server, { body: { jsonrpc: "2.0", method: "notifications/initialized" } }), 400)
      assertRejected(yield* exchange(server, { method: "GET" }), 400)
      assertRejected(yield* exchange(server, { method: "DELETE" }), 400)
      assertRejected(yield* exchange(server, { body: [initialize("2025-03-26")] }), 400)
      assert.deepStrictEqual(yield* server.host.sessions, [])
      assert.strictEqual((yield* exchange(server, { body: initialize("2025-11-25") })).status, 200)
    }))

  it.live("[SHS-26] [SHS-28] an unknown session, and one that has ended, is answered with 404", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const unknown = { headers: { "mcp-session-id": "4711" } }
      assertRejected(yield* exchange(server, { body: ping(3), ...unknown }), 404, 3)
      assertRejected(yield* exchange(server, { body: initialize("2025-11-25"), ...unknown }), 404, "init")
      assertRejected(yield* exchange(server, { method: "GET", ...unknown }), 404)
      assertRejected(yield* exchange(server, { method: "DELETE", ...unknown }), 404)
      const deleted = yield* client.delete
      assert.deepInclude({ status: deleted.status, text: deleted.text }, { status: 204, text: "" })
      assertRejected(yield* client.ping(4), 404, 4)
      assertRejected(yield* client.get(), 404)
      assertRejected(yield* client.delete, 404)
      assert.deepStrictEqual(yield* server.host.sessions, [])
    }))

  it.live("[SHS-26] a session that has expired is answered with 404", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { sessions: { idleTimeout: "100 millis" } } })
      const client = yield* connect(server)
      yield* until(() => server.host.find(client.id) === undefined)
      assertRejected(yield* client.ping(4), 404, 4)
    }))

  it.live("[SHS-21] [SHS-22] session ids are visible ASCII and unique", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const clients = yield* Effect.forEach(Array.from({ length: 20 }), () => connect(server), { concurrency: 10 })
      const ids = clients.map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, 20)
      for (const id of ids) assert.match(id, /^[\x21-\x7e]{32,}$/)
      assert.sameMembers((yield* server.host.sessions).map(({ id }) => id), ids)
    }))

  it.live("a request that does not accept JSON and event streams is answered with 406, in any mode", () =>
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
          assertRejected(yield* withAccept(accept), 406)
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
        assertRejected(yield* client.get(undefined, { accept: "application/json" }), 406)
      }
    }))

  it.live("a compressed body is answered with 415 and Accept-Encoding: identity", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      for (const coding of ["gzip", "br", "identity, gzip", "unheard-of"]) {
        const response = yield* client.exchange({
          raw: zlib.gzipSync(JSON.stringify(ping())),
          headers: { "content-encoding": coding }
        })
        assertRejected(response, 415)
        assert.strictEqual(response.headers["accept-encoding"], "identity")
        assert.include(response.text, "Content-Encoding")
      }
      assert.strictEqual(
        (yield* client.exchange({ body: ping(), headers: { "content-encoding": "identity" } })).status,
        200
      )
    }))

  it.live("a body of another content type than JSON is answered with 415", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const withType = (type: string | undefined) =>
        client.exchange({ body: ping(), headers: { "content-type": type } })
      for (const type of [undefined, "text/plain", "application/jsonp", "application/json; charset=latin1"]) {
        assertRejected(yield* withType(type), 415)
      }
      for (const type of ["application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""]) {
        assert.strictEqual((yield* withType(type)).status, 200, type)
      }
    }))

  it.live("[HTTP-15] [SHS-29] an unsupported version header is answered with 400, and a mismatch is reported", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const withVersion = (version: string | undefined, method = "POST") =>
        client.exchange({
          ...(method === "POST" ? { body: ping() } : { method }),
          headers: { "mcp-protocol-version": version }
        })
      for (const version of ["1999-01-01", "", "2025-11-25, 2025-11-25"]) {
        assertRejected(yield* withVersion(version), 400)
        assertRejected(yield* withVersion(version, "GET"), 400)
        assertRejected(yield* withVersion(version, "DELETE"), 400)
      }
      assert.strictEqual((yield* withVersion(undefined)).status, 200)
      const mismatches = () => server.events.filter(({ _tag }) => _tag === "RevisionMismatch")
      assert.deepStrictEqual(mismatches(), [])
      assert.strictEqual((yield* withVersion("2025-06-18")).status, 200)
      assert.deepStrictEqual(mismatches(), [{
        _tag: "RevisionMismatch",
        negotiated: "2025-11-25",
        received: "2025-06-18"
      }])
    }))

  it.live("a method that is none of the protocol gets 405, which says which are", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      for (const method of ["PUT", "PATCH", "OPTIONS"]) {
        const response = yield* client.exchange({ method, headers: { "content-type": "application/json" } })
        assertRejected(response, 405)
        assert.strictEqual(response.headers["allow"], "GET, POST, DELETE")
      }
      assert.strictEqual((yield* client.exchange({ method: "HEAD" })).status, 405)
      assert.strictEqual((yield* client.ping()).status, 200)
    }))

  it.live("[HTTP-08] every body that is not a message is answered with 400, and the session continues", () =>
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
        const response = yield* client.exchange({ raw })
        assertRejected(response, 400)
        assert.strictEqual(response.messages[0]?.error?.code, ErrorCode.ParseError)
      }
      const malformed = ["[]", "null", "7", "{}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "{\"id\":{}}"]
      for (const raw of malformed) {
        const response = yield* client.exchange({ raw })
        assert.strictEqual(response.status, 400, raw)
        assert.strictEqual(response.messages[0]?.error?.code, ErrorCode.InvalidRequest)
      }
      assert.strictEqual((yield* client.ping()).status, 200)
    }))

  it.live("[HTTP-08] a malformed response is answered with 400, and fails its request; a tolerable one with 202", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const standalone = yield* client.get()
      const responses = [
        [{ result: {}, error: null }, 202, undefined],
        [{ result: null, error: { code: "-32601", message: "no" } }, 202, "ErrorResponse"],
        [{ error: "no" }, 400, "MalformedResponse"]
      ] as const
      for (const [index, [members, status, reason]] of responses.entries()) {
        const pong = yield* Effect.forkChild(
          server.host.find(client.id)?.session.ping() ?? Effect.void,
          { startImmediately: true }
        )
        yield* standalone.awaitMessages(index + 1)
        const response = yield* client.exchange({
          body: { jsonrpc: "2.0", id: standalone.messages[index]?.id, ...members }
        })
        assert.strictEqual(response.status, status)
        const outcome = yield* Effect.match(Fiber.join(pong), {
          onSuccess: () => undefined,
          onFailure: (error) => error.reason._tag
        })
        assert.strictEqual(outcome, reason)
      }
    }))

  it.live("law 5: an id or progress token above 4,096 bytes is answered with 400 and an error without an id", () =>
    Effect.gen(function*() {
      const long = "i".repeat(4097)
      const bodies = [
        ping(long),
        { ...ping(), params: { _meta: { progressToken: long } } },
        { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: long } }
      ]
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const stateless = yield* serveStateless(handlers)
      for (const body of bodies) {
        for (const response of [yield* client.exchange({ body }), yield* exchange(stateless, { body })]) {
          assertRejected(response, 400)
          assert.strictEqual(response.messages[0]?.error?.code, ErrorCode.InvalidRequest)
        }
      }
      assertRejected(yield* exchange(server, { body: { ...ping(long), method: "initialize" } }), 400)
    }))

  it.live("an error shows only an excerpt of a header's value", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const long = "x".repeat(4000)
      for (const name of ["mcp-protocol-version", "origin", "host"]) {
        const response = yield* exchange(server, { body: initialize("2025-11-25"), headers: { [name]: long } })
        assert.include([400, 403], response.status)
        const message = response.messages[0]?.error?.message
        assert.include(message, "x".repeat(100))
        assert.isAtMost(message?.length ?? Number.NaN, 300)
      }
    }))

  it.live("a body above maxMessageBytes is answered with 413, with or without a declared length", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { http: { maxMessageBytes: 10_000 } })
      const client = yield* connect(server)
      const fits = JSON.stringify({ ...ping(), params: { _meta: { x: "" } } })
      const body = (bytes: number) => fits.replace("\"x\":\"\"", `"x":"${"x".repeat(bytes - fits.length)}"`)
      assert.strictEqual((yield* client.exchange({ raw: body(10_000) })).status, 200)
      assertRejected(yield* client.exchange({ raw: body(10_001) }), 413)
      assertRejected(yield* client.exchange({ raw: body(5_000_000) }), 413)
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
          let output = ""
          let closed = false
          socket.setEncoding("utf8").on("data", (chunk: string) => {
            output += chunk
          }).on("close", () => {
            closed = true
          }).on("error", () => {})
          socket.write([...head, ...rest].join("\r\n"))
          return { socket, output: () => output, closed: () => closed }
        })
      // The declared length is too large, and no body is sent.
      const declared = yield* raw("content-length: 20000000", "", "")
      yield* until(() => declared.output().includes("413"))
      // The body is sent in chunks, without an end.
      const chunk = `${(5000).toString(16)}\r\n${"x".repeat(5000)}\r\n`
      const chunked = yield* raw("transfer-encoding: chunked", "", chunk)
      assert.strictEqual(chunked.output(), "")
      chunked.socket.write(chunk + chunk)
      yield* until(() => chunked.output().includes("413") || chunked.closed())
      assert.include(chunked.output(), "413")
      const writing = setInterval(() => chunked.socket.write(chunk), 1)
      yield* Effect.ensuring(until(chunked.closed), Effect.sync(() => clearInterval(writing)))
      assert.strictEqual((yield* client.ping()).status, 200)
    }))

  it.live("[SHS-13] a second GET is answered with 409, and the first stream continues", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      const first = yield* client.get()
      assert.deepInclude({ status: first.status, type: first.headers["content-type"] }, {
        status: 200,
        type: "text/event-stream"
      })
      assertRejected(yield* client.get(), 409)
      assert.isFalse(first.isClosed)
      first.disconnect()
      const again = yield* Effect.repeat(client.get(), { until: ({ status }) => status === 200 })
      assert.isFalse(again.ended)
    }))

  it.live("law 12: an initialize above maxInitializeBytes is answered with 413", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), { http: { maxInitializeBytes: 1000 } })
      const { params, ...request } = initialize("2025-11-25")
      const long = { ...request, params: { ...params, clientInfo: { name: "x".repeat(1000), version: "1" } } }
      assertRejected(yield* exchange(server, { body: long }), 413, request.id)
      assert.lengthOf(yield* server.host.sessions, 0)
      assert.strictEqual((yield* exchange(server, { body: { ...request, params } })).status, 200)
    }))

  it.live("[MSG-10] an error of a handler is answered with 200, whatever its code", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ fail: Effect.fail(McpError.invalidRequest("invalid")) }))
      const client = yield* connect(server)
      const response = yield* client.call(6, "fail")
      yield* response.awaitEnd
      assertRejected(response, 200, 6)
    }))

  it.live("a request with an id in flight is rejected, and the first one receives its response", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      const server = yield* serve(tools({ wait: Effect.as(Deferred.await(released), text("first")) }))
      const client = yield* connect(server)
      const first = yield* client.call(5, "wait")
      yield* until(() => server.host.find(client.id) !== undefined && first.status === 0)
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
      const second = yield* client.call(5, "wait")
      yield* second.awaitEnd
      assertRejected(second, 200, 5)
      yield* Deferred.succeed(released, undefined)
      yield* first.awaitEnd
      assert.deepStrictEqual(first.messages[0]?.result, { ...text("first") })
    }))

  it.live("a request above maxIncomingRequests is answered with 429 and Retry-After", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { limits: { maxIncomingRequests: 2 } } })
      const client = yield* connect(server)
      yield* client.call(1, "never")
      yield* client.call(2, "never")
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 2 })
      const third = yield* client.call(3, "never")
      yield* third.awaitEnd
      assertRejected(third, 429, 3)
      assert.strictEqual(third.messages[0]?.error?.code, ErrorCode.Overloaded)
      assert.match(third.headers["retry-after"] ?? "", /^\d+$/)
    }))

  it.live("a session above max is answered with 503 and Retry-After, also if the time is not known", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { sessions: { max: 1 } } })
      const client = yield* connect(server)
      const response = yield* exchange(server, { body: initialize("2025-11-25") })
      assertRejected(response, 503, "init")
      assert.strictEqual(response.messages[0]?.error?.code, ErrorCode.Overloaded)
      // The client at the same address may replace its open session after 3 seconds.
      assert.strictEqual(response.headers["retry-after"], "3")
      assert.isUndefined(response.headers["mcp-session-id"])
      const listening = yield* client.get()
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.held === 1 })
      const again = yield* exchange(server, { body: initialize("2025-11-25") })
      assert.deepStrictEqual([again.status, again.headers["retry-after"]], [503, "5"], "it is in use")
      listening.disconnect()
      yield* client.delete
      assert.strictEqual((yield* exchange(server, { body: initialize("2025-11-25") })).status, 200)
    }))

  for (const responseMode of ["adaptive", "json", "stream"] as const) {
    it.live(`a rejected initialize leaves no session (${responseMode})`, () =>
      Effect.gen(function*() {
        const server = yield* serve(handlers, { http: { responseMode } })
        const body = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 7 } }
        const rejection = yield* exchange(server, { body })
        assert.isNumber(rejection.messages[0]?.error?.code)
        assert.isUndefined(rejection.headers["mcp-session-id"])
        assert.strictEqual((yield* server.host.health).sessions, 0)
        assert.deepStrictEqual(server.logs, [])
      }))

    it.live(`an initialize whose client has disconnected leaves no session (${responseMode})`, () =>
      Effect.gen(function*() {
        const server = yield* serve(handlers, {
          http: { responseMode },
          sessionStore: {
            create: () => Effect.never,
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

  it.live("[SHS-01] a batch of revision 2025-03-26 is answered with one batch", () =>
    Effect.gen(function*() {
      for (const responseMode of ["adaptive", "json", "stream"] as const) {
        const server = yield* serve(handlers, { http: { responseMode }, session: { limits: { maxBatchMessages: 3 } } })
        const client = yield* connect(server, { revision: "2025-03-26" })
        const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "now" } }
        const both = yield* client.exchange({ body: [ping(1), call] })
        assert.strictEqual(both.status, 200)
        const replies = both.messages.flat()
        assert.sameMembers(replies.map(({ id }) => id), [1, 2])
        const accepted = yield* client.exchange({
          body: [{ jsonrpc: "2.0", method: "notifications/x" }, { jsonrpc: "2.0", id: 9, result: {} }]
        })
        assert.deepInclude({ status: accepted.status, text: accepted.text }, { status: 202, text: "" })
        assertRejected(yield* client.exchange({ body: [1, 2, 3, 4].map(ping) }), 400)
        assert.strictEqual((yield* client.exchange({ body: [1, 2, 3].map(ping) })).status, 200)
      }
    }))

  it.live("[HTTP-08] a rejected batch with requests is never answered with 202, whatever was rejected before", () =>
    Effect.gen(function*() {
      for (const maxMalformedRepliesPerSecond of [0, 2]) {
        const server = yield* serve(handlers, { session: { limits: { maxMalformedRepliesPerSecond } } })
        for (const revision of ["2025-03-26", "2025-11-25"] as const) {
          const client = yield* connect(server, { revision })
          // At 2025-03-26 a nested batch is rejected, and at later revisions every batch is.
          const body = revision === "2025-03-26" ? [[ping(1)]] : [ping(1), ping(2)]
          const responses = yield* Effect.replicateEffect(client.exchange({ body }), 10)
          const rejected = responses.filter(({ status }) => status === 429)
          const answered = responses.filter(({ messages }) =>
            messages.flat()[0]?.error?.code === ErrorCode.InvalidRequest
          )
          assert.strictEqual(rejected.length + answered.length, 10)
          if (maxMalformedRepliesPerSecond === 0) assert.strictEqual(rejected.length, 10)
          for (const response of rejected) {
            assert.strictEqual(response.headers["retry-after"], "1")
            assert.strictEqual(response.messages[0]?.error?.code, ErrorCode.Overloaded)
          }
          assert.strictEqual((yield* client.ping()).status, 200)
        }
      }
    }))

  it.live("a batch of a later revision is rejected with 400", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      for (const revision of ["2025-06-18", "2025-11-25"] as const) {
        const client = yield* connect(server, { revision })
        assertRejected(yield* client.exchange({ body: [ping(1), ping(2)] }), 400)
        assert.strictEqual((yield* client.ping()).status, 200)
      }
    }))
})
