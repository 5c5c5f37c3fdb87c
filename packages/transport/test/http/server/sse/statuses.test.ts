import { ErrorCode } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { connect } from "node:net"
import { type ReceivedResponse, exchange, initialize } from "../../../support/httpClient.ts"
import { connectSse, openSse, serveSse } from "../../../support/httpSse.ts"
import { text, tools } from "../../../support/server.ts"

const handlers = tools({ now: Effect.succeed(text("now")) })

const ping = { jsonrpc: "2.0", id: 1, method: "ping" }

/** A refusal: its status, and an error of JSON-RPC as its body. */
const refused = (answer: ReceivedResponse, status: number, code: number = ErrorCode.InvalidRequest) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.isTrue(answer.ended)
  assert.strictEqual(answer.messages[0]?.error?.code, code)
}

describe.concurrent("statuses of HTTP+SSE", () => {
  it.live("a POST that is none gets none of its session's attention", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, {
        sse: { maxBodyBytes: 2000, maxInitializeBytes: 1000 }
      })
      const client = yield* openSse(server)
      const typed = (type: string | undefined) => client.post(ping, { headers: { "content-type": type } })
      refused(yield* client.post(undefined, { raw: "{\"half\":" }), 400, ErrorCode.ParseError)
      refused(yield* client.post(undefined, { raw: Buffer.from([0x22, 0xFF, 0x22]) }), 400, ErrorCode.ParseError)
      refused(yield* client.post(undefined, { raw: "" }), 400, ErrorCode.ParseError)
      refused(yield* typed("text/plain"), 415)
      refused(yield* typed(undefined), 415)
      refused(yield* typed("application/json; charset=utf-16"), 415)
      refused(yield* client.post(ping, { headers: { "content-encoding": "gzip" } }), 415)
      refused(yield* client.post({ ...ping, params: { padding: "x".repeat(2000) } }), 413)
      refused(yield* client.post(initialize("2024-11-05", { experimental: { padding: "x".repeat(1000) } })), 413)
      // Nothing of it has harmed the session.
      assert.strictEqual((yield* typed("Application/JSON; charset=UTF-8")).status, 202)
      assert.property(yield* client.awaitResponse(1), "result")
      assert.lengthOf(client.messages, 1)
    }))

  it.live("a POST need not say what it accepts, nor a GET", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      const client = yield* connectSse(server, { headers: { accept: undefined } })
      assert.strictEqual((yield* client.post(ping, { headers: { accept: undefined } })).status, 202)
      const deaf = yield* openSse(server, { headers: { accept: "application/json" } })
      refused(deaf.stream, 406)
    }))

  it.live("a session that is not there gets 404, and a POST that names none 400", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      const post = (path: string) => Effect.scoped(exchange(server, { path, body: ping }))
      refused(yield* post("/messages?sessionId=00000000-0000-0000-0000-000000000000"), 404)
      refused(yield* post("/messages?sessionId="), 404)
      for (const path of ["/messages", "/messages?session=1"]) {
        const answer = yield* post(path)
        assert.strictEqual(answer.status, 400)
        assert.include(answer.text, "sessionId")
      }
      assert.strictEqual((yield* server.host.health).sessions, 0)
    }))

  it.live("nothing is read for a session that is not there", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      const head = `POST /messages?sessionId=nobody HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`
      const answer = yield* Effect.promise(() =>
        new Promise<string>((resolve, reject) => {
          const socket = connect(server.port, "127.0.0.1", () => socket.write(`${head}Content-Length: 1000\r\n\r\n`))
          socket.once("data", (data) => {
            socket.destroy()
            resolve(String(data))
          })
          socket.once("error", reject)
        })
      )
      assert.include(answer, "HTTP/1.1 404")
    }))

  it.live("[SSE-07] what is not served gets 405, and not in the words of a newer server", () =>
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
        const answer = yield* Effect.scoped(exchange(server, { method, path, ...method === "POST" ? { body: ping } : {} }))
        assert.strictEqual(answer.status, 405)
        assert.strictEqual(answer.headers["allow"], allow)
        assert.include(answer.headers["content-type"], "text/plain")
      }
    }))

  it.live("there is no room for more sessions than the host has, and none while it goes", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { session: { sessions: { max: 1 } } })
      const client = yield* connectSse(server)
      const { id } = client
      const second = yield* openSse(server)
      refused(second.stream, 503, ErrorCode.Overloaded)
      assert.isUndefined(second.stream.headers["retry-after"], "it is not known when the first leaves")
      yield* server.host.drain
      refused((yield* openSse(server)).stream, 503, ErrorCode.Overloaded)
      const late = yield* Effect.scoped(exchange(server, { path: `/messages?sessionId=${id}`, body: ping }))
      refused(late, 503, ErrorCode.Overloaded)
    }))
})
