import { McpError, Revision } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { exchange, initialize, send } from "../../../support/httpClient.ts"
import { connectSse, eventsOf, openSse, serveSse } from "../../../support/httpSse.ts"
import { until } from "../../../support/process.ts"
import { text, tools } from "../../../support/server.ts"

const handlers = tools({
  now: Effect.succeed(text("now")),
  never: Effect.never,
  steps: Effect.gen(function*() {
    for (let progress = 1; progress <= 3; progress++) yield* RequestContext.progress({ progress })
    return text("done")
  }),
  pingClient: Effect.gen(function*() {
    const context = yield* RequestContext.RequestContext
    yield* Effect.mapError(context.request("ping", {}), () => McpError.internalError)
    return text("done")
  })
})

describe.concurrent("a server of HTTP+SSE", () => {
  for (const revision of Revision.legacy) {
    it.live(`[SSE-01] [SSE-02] [SSE-04] names the endpoint for POSTs, and responds on its stream (${revision})`, () =>
      Effect.gen(function*() {
        const server = yield* serveSse(handlers)
        const client = yield* openSse(server)
        assert.strictEqual(client.stream.status, 200)
        assert.strictEqual(client.stream.headers["content-type"], "text/event-stream")
        assert.strictEqual(client.stream.headers["cache-control"], "no-cache, no-transform")
        assert.match(client.endpoint, /^\/messages\?sessionId=[0-9a-f-]{36}$/)
        const accepted = yield* client.post(initialize(revision))
        assert.deepInclude({ status: accepted.status, text: accepted.text }, { status: 202, text: "" })
        assert.strictEqual((yield* client.awaitResponse("init"))?.result?.["protocolVersion"], revision)
        assert.strictEqual((yield* client.notify("notifications/initialized")).status, 202)
        assert.deepStrictEqual(yield* client.request("ping"), { jsonrpc: "2.0", id: "ping", result: {} })
        yield* client.call(1, "steps")
        assert.deepInclude(yield* client.awaitResponse(1), { id: 1 })
        const steps = client.messages.filter(({ method }) => method === "notifications/progress")
        assert.deepStrictEqual(steps.map(({ params }) => params?.["progress"]), [1, 2, 3])
        // Every event has a type, because some clients read only the type.
        assert.isTrue(client.stream.blocks.every((block) => /^event: (endpoint|message)\ndata: /.test(block)))
        assert.strictEqual(eventsOf(client.stream).filter(({ type }) => type === "endpoint").length, 1)
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  it.live("[PING-01] sends requests on the stream, and receives the responses by POST", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      const client = yield* connectSse(server)
      yield* client.call(1, "pingClient")
      yield* until(() => client.messages.some(({ method }) => method === "ping"))
      const ping = client.messages.find(({ method }) => method === "ping")
      assert.strictEqual((yield* client.post({ jsonrpc: "2.0", id: ping?.id, result: {} })).status, 202)
      assert.property(yield* client.awaitResponse(1), "result")
    }))

  it.live("[SHS-21] creates unpredictable session ids, and sends each session only its own messages", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { session: { capabilities: { logging: {} } } })
      const clients = yield* Effect.forEach([1, 2, 3], () => connectSse(server))
      assert.strictEqual(new Set(clients.map(({ id }) => id)).size, 3)
      yield* Effect.forEach(
        clients,
        (client, index) => Effect.andThen(client.request("ping", {}, `of ${index}`), client.call(7, "now"))
      )
      for (const client of clients) yield* client.awaitResponse(7)
      yield* server.host.find(clients[0]?.id ?? "")?.session.log({ level: "info", data: "for the first" }) ??
        Effect.die("no session")
      yield* until(() => clients[0]?.messages.at(-1)?.method === "notifications/message")
      for (const [index, client] of clients.entries()) {
        assert.deepStrictEqual(
          client.messages.map(({ id, method }) => id ?? method),
          ["init", `of ${index}`, 7, ...index === 0 ? ["notifications/message"] : []]
        )
      }
      const sessions = yield* server.host.sessions
      assert.sameMembers(sessions.map(({ id }) => id), clients.map(({ id }) => id))
      assert.deepStrictEqual(
        sessions.map(({ held, kind }) => ({ held, kind })),
        [1, 2, 3].map(() => ({
          held: 1,
          kind: "http-sse"
        }))
      )
    }))

  it.live("accepts a batch as one message", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      const client = yield* connectSse(server, {}, "2025-03-26")
      const batch = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }))
      assert.strictEqual((yield* client.post(batch)).status, 202)
      yield* client.awaitMessages(2)
      assert.deepStrictEqual(
        JSON.parse(eventsOf(client.stream).at(-1)?.data ?? ""),
        [1, 2].map((id) => ({ jsonrpc: "2.0", id, result: {} }))
      )
    }))

  it.live("[MSG-07] rejects a JSON value that is not a message on the stream, and serves the next one", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      const client = yield* connectSse(server)
      for (const value of ["text", 42, null, { jsonrpc: "2.0", id: 1, method: 2 }]) {
        assert.strictEqual((yield* client.post(value)).status, 202)
      }
      yield* client.awaitMessages(5)
      assert.deepStrictEqual(client.messages.slice(1).map(({ error }) => error?.code), [-32600, -32600, -32600, -32600])
      assert.property(yield* client.request("ping"), "result")
    }))

  it.live("counts the bytes of received messages", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { session: { limits: { maxIncomingBytes: 1000 } } })
      const client = yield* connectSse(server)
      yield* client.call(1, "never", { padding: "x".repeat(600) })
      yield* client.call(2, "never", { padding: "x".repeat(600) })
      assert.strictEqual((yield* client.awaitResponse(2))?.error?.code, -31010)
      yield* client.call(3, "now")
      assert.property(yield* client.awaitResponse(3), "result")
    }))

  it.live("sends headers against buffering, and a comment after keepAliveInterval", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers, { sse: { keepAliveInterval: "20 millis" } })
      const client = yield* openSse(server)
      assert.strictEqual(client.stream.headers["x-accel-buffering"], "no")
      yield* until(() => client.stream.comments.length >= 2)
      assert.strictEqual(eventsOf(client.stream).length, 1)
    }))

  it.live("loses no POST that arrives before the session runs", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(handlers)
      // The POST is sent in the turn in which the endpoint event arrives.
      const stream = yield* send(server, { method: "GET", path: "/sse" })
      const accepted = yield* Deferred.make<void>()
      stream.request.on("response", (response) =>
        response.once("data", (chunk: string) => {
          const path = /data: (.*)/.exec(chunk)?.[1] ?? ""
          Effect.runFork(Effect.andThen(
            Effect.scoped(exchange(server, { path, body: initialize("2024-11-05") })),
            Deferred.succeed(accepted, undefined)
          ))
        }))
      yield* Deferred.await(accepted)
      yield* until(() => eventsOf(stream).length === 2)
    }))

  it.live("sends one message at a time if maxStreamCharacters is 0", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(tools({ now: Effect.succeed(text("now")) }), { sse: { maxStreamCharacters: 0 } })
      const client = yield* connectSse(server)
      for (const id of [1, 2, 3]) yield* client.request("ping", {}, id)
      assert.deepStrictEqual(client.messages.map((message) => message.id), ["init", 1, 2, 3])
    }))
})
