import { ErrorCode } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { connect } from "node:net"
import { exchange, initialize, type ReceivedResponse } from "../../../support/httpClient.ts"
import { connectSse, openSse, serveSse } from "../../../support/httpSse.ts"
import { text, tools } from "../../../support/server.ts"

const handlers = tools({ now: Effect.succeed(text("now")) })

const ping = { jsonrpc: "2.0", id: 1, method: "ping" }

/** Checks the status of an error response, and the JSON-RPC error in its body. */
const assertRejected = (response: ReceivedResponse, status: number, code: number = ErrorCode.InvalidRequest) => {
  assert.strictEqual(response.status, status, response.text)
  assert.isTrue(response.ended)
  assert.strictEqual(response.messages[0]?.error?.code, code)
}

describe.concurrent("statuses of HTTP+SSE", () => {
  it.live("an invalid POST is rejected, and its session continues", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, {
        sse: { maxMessageBytes: 2000, maxInitializeBytes: 1000 }
      })
      const client = yield* openSse(server)
      const typed = (type: string | undefined) => client.post(ping, { headers: { "content-type": type } })
      assertRejected(yield* client.post(undefined, { raw: "{\"half\":" }), 400, ErrorCode.ParseError)
      assertRejected(yield* client.post(undefined, { raw: Buffer.from([0x22, 0xFF, 0x22]) }), 400, ErrorCode.ParseError)
      assertRejected(yield* client.post(undefined, { raw: "" }), 400, ErrorCode.ParseError)
      assertRejected(yield* typed("text/plain"), 415)
      assertRejected(yield* typed(undefined), 415)
      assertRejected(yield* typed("application/json; charset=utf-16"), 415)
      assertRejected(yield* client.post(ping, { headers: { "content-encoding": "gzip" } }), 415)
      assertRejected(yield* client.post({ ...ping, params: { padding: "x".repeat(2000) } }), 413)
      assertRejected(yield* client.post(initialize("2024-11-05", { experimental: { padding: "x".repeat(1000) } })), 413)
      // The session still works.
      assert.strictEqual((yield* typed("Application/JSON; charset=UTF-8")).status, 202)
      assert.property(yield* client.awaitResponse(1), "result")
      assert.lengthOf(client.messages, 1)
    }))

  it.live("a POST and a GET need no Accept header", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      const client = yield* connectSse(server, { headers: { accept: undefined } })
      assert.strictEqual((yield* client.post(ping, { headers: { accept: undefined } })).status, 202)
      const jsonOnly = yield* openSse(server, { headers: { accept: "application/json" } })
      assertRejected(jsonOnly.stream, 406)
    }))

  it.live("an unknown session is answered with 404, and a POST without a session id with 400", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      const post = (path: string) => Effect.scoped(exchange(server, { path, body: ping }))
      assertRejected(yield* post("/messages?sessionId=00000000-0000-0000-0000-000000000000"), 404)
      assertRejected(yield* post("/messages?sessionId="), 404)
      for (const path of ["/messages", "/messages?session=1"]) {
        const response = yield* post(path)
        assert.strictEqual(response.status, 400)
        assert.include(response.text, "sessionId")
      }
      assert.strictEqual((yield* server.host.health).sessions, 0)
    }))

  it.live("the body of a POST for an unknown session is not read", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      const head = `POST /messages?sessionId=unknown HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`
      const response = yield* Effect.promise(() =>
        new Promise<string>((resolve, reject) => {
          const socket = connect(server.port, "127.0.0.1", () => socket.write(`${head}Content-Length: 1000\r\n\r\n`))
          socket.once("data", (data) => {
            socket.destroy()
            resolve(String(data))
          })
          socket.once("error", reject)
        })
      )
      assert.include(response, "HTTP/1.1 404")
    }))

  it.live("[SSE-07] other methods are answered with 405 in plain text, unlike by a server of Streamable HTTP", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      for (
        const [method, path, allow] of [
          ["POST", "/sse", "GET"],
          ["DELETE", "/sse", "GET"],
          ["GET", "/messages", "POST"],
          ["PUT", "/messages", "POST"]
        ] as const
      ) {
        const response = yield* Effect.scoped(
          exchange(server, { method, path, ...method === "POST" ? { body: ping } : {} })
        )
        assert.strictEqual(response.status, 405)
        assert.strictEqual(response.headers["allow"], allow)
        assert.include(response.headers["content-type"], "text/plain")
      }
    }))

  it.live("a stream is rejected with 503 if the host is full or draining", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { session: { sessions: { max: 1 } } })
      const client = yield* connectSse(server)
      const { id } = client
      const second = yield* openSse(server)
      assertRejected(second.stream, 503, ErrorCode.Overloaded)
      assert.strictEqual(second.stream.headers["retry-after"], "5", "it is not known when the first session ends")
      yield* server.host.drain
      assertRejected((yield* openSse(server)).stream, 503, ErrorCode.Overloaded)
      const late = yield* Effect.scoped(exchange(server, { path: `/messages?sessionId=${id}`, body: ping }))
      assertRejected(late, 503, ErrorCode.Overloaded)
    }))
})
