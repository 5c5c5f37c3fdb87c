/** The limits on connections whose clients read nothing, or send slowly. */
import { MemoryBudget, SessionHost } from "@effect-mcp/session"
import { HttpSseServer, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { createServer } from "node:http"
import type { Socket } from "node:net"
import { type Client, connect } from "../../support/httpClient.ts"
import { connectSse } from "../../support/httpSse.ts"
import { until } from "../../support/process.ts"
import { connectRaw, postText } from "../../support/rawConnection.ts"
import { serve, type ServerHandlers, serveWith, text, tools } from "../../support/server.ts"

const mebibyte = 1024 * 1024

/** Runs a server in a backend, and records the server's sides of its connections. */
const serveObserved = Effect.fnUntraced(function*(handlers: ServerHandlers, options: StreamableHttpServer.Options) {
  const sockets: Array<Socket> = []
  const node = createServer().on("connection", (socket: Socket) => void sockets.push(socket))
  const backend = SessionHost.layerDrain.pipe(
    Layer.provideMerge(
      HttpRouter.serve(StreamableHttpServer.layer(options), { disableLogger: true, disableListenLog: true })
    ),
    Layer.provideMerge(NodeHttpServer.layerServer(() => node, { port: 0, host: "127.0.0.1" }))
  )
  const server = yield* serveWith(backend, handlers)
  /** Returns the server's side of a client's connection. */
  const sideOf = (client: Socket) => sockets.find(({ remotePort }) => remotePort === client.localPort)
  return { ...server, sideOf }
})

const callText = (client: Client, id: number, name: string): string =>
  postText(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name } }), {
    "mcp-session-id": client.id
  })

const calls = (client: Client, name: string, count: number): string =>
  Array.from({ length: count }, (_, id) => callText(client, id, name)).join("")

/** Creates tools with large results and tools that wait, and counts their calls and interruptions. */
const counting = Effect.gen(function*() {
  const gate = yield* Deferred.make<void>()
  const counts = { called: 0, interrupted: 0 }
  const called = Effect.sync(() => void counts.called++)
  const handlers = tools({
    large: Effect.as(called, text("x".repeat(8 * mebibyte))),
    small: Effect.as(called, text("small")),
    wait: Effect.andThen(called, Effect.as(Deferred.await(gate), text("waited"))).pipe(
      Effect.onInterrupt(() => Effect.sync(() => void counts.interrupted++))
    )
  })
  return { gate, counts, handlers }
})

describe.concurrent("JSON responses that a client does not read", () => {
  it.live("destroy its connection after writeTimeout", () =>
    Effect.gen(function*() {
      const { handlers } = yield* counting
      const server = yield* serveObserved(handlers, { responseMode: "json", writeTimeout: "100 millis" })
      const client = yield* connect(server)
      const connection = yield* connectRaw(server)
      connection.stall()
      connection.write(callText(client, 1, "large"))
      yield* until(() => (server.sideOf(connection.socket)?.writableLength ?? 0) > 0)
      const side = server.sideOf(connection.socket)
      yield* until(() => side?.destroyed === true)
      assert.strictEqual((yield* client.ping()).status, 200)
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("keep its connection while the client reads slowly", () =>
    Effect.gen(function*() {
      const { handlers } = yield* counting
      const clock = yield* TestClock.make()
      const serving = serveObserved(handlers, { responseMode: "json", writeTimeout: "20 seconds" })
      const server = yield* Effect.provideService(serving, Clock.Clock, clock)
      const client = yield* connect(server)
      const connection = yield* connectRaw(server)
      connection.stall()
      connection.write(callText(client, 1, "large"))
      yield* until(() => (server.sideOf(connection.socket)?.writableLength ?? 0) > 0)
      const side = server.sideOf(connection.socket)
      const taken = () => side === undefined ? 0 : side.bytesWritten - side.writableLength
      // The client reads a little at intervals, for half an hour in all.
      while (connection.received.length < 8 * mebibyte) {
        const before = taken()
        connection.socket.resume()
        yield* until(() => taken() > before || connection.isClosed || connection.received.length >= 8 * mebibyte)
        connection.stall()
        yield* clock.adjust("15 seconds")
        assert.isFalse(side?.destroyed)
      }
      assert.deepStrictEqual(connection.statuses, [200])
    }))

  it.live("destroy its connection above `maxUnreadBytes`", () =>
    Effect.gen(function*() {
      const { counts, handlers } = yield* counting
      const server = yield* serveObserved(handlers, { responseMode: "json", maxUnreadBytes: 20 * mebibyte })
      const client = yield* connect(server)
      const connection = yield* connectRaw(server)
      connection.stall()
      connection.write(calls(client, "large", 2))
      yield* until(() => (server.sideOf(connection.socket)?.writableLength ?? 0) > 0)
      const side = server.sideOf(connection.socket)
      yield* until(() => counts.called === 2)
      assert.isFalse(side?.destroyed)
      connection.write(calls(client, "large", 1))
      yield* until(() => side?.destroyed === true)
      assert.isAtMost(counts.called, 3)
    }))

  it.live("destroy the connection that has read nothing for longest, above `maxTotalUnreadBytes` in all", () =>
    Effect.gen(function*() {
      const { handlers } = yield* counting
      const server = yield* serveObserved(handlers, { responseMode: "json", maxTotalUnreadBytes: 20 * mebibyte })
      const client = yield* connect(server)
      const stalled = yield* Effect.forEach([1, 2, 3], (id) =>
        Effect.gen(function*() {
          const connection = yield* connectRaw(server)
          connection.stall()
          connection.write(callText(client, id, "large"))
          yield* until(() => {
            const side = server.sideOf(connection.socket)
            return side !== undefined && side.writableLength > 0
          })
          return server.sideOf(connection.socket)
        }))
      yield* until(() => stalled[0]?.destroyed === true)
      assert.deepStrictEqual(stalled.map((side) => side?.destroyed), [true, false, false])
      // A client that reads receives its response.
      const call = yield* client.call(4, "large")
      yield* call.awaitEnd
      assert.isTrue(call.ended)
    }))
})

describe.concurrent("pipelined requests", () => {
  it.live("are served in order up to `maxPipelinedRequests`, and the next one is rejected with 429", () =>
    Effect.gen(function*() {
      const { counts, gate, handlers } = yield* counting
      const server = yield* serve(handlers, { http: { responseMode: "json", maxPipelinedRequests: 3 } })
      const client = yield* connect(server)
      const connection = yield* connectRaw(server)
      connection.write(calls(client, "wait", 3) + calls(client, "small", 2))
      yield* until(() => counts.called === 3)
      assert.strictEqual((yield* client.ping()).status, 200)
      yield* Deferred.succeed(gate, undefined)
      yield* until(() => connection.isClosed)
      assert.deepStrictEqual(connection.statuses, [200, 200, 200, 429])
      assert.include(connection.received, "connection: close")
      assert.strictEqual(counts.called, 3)
    }))

  it.live("have the CORS headers of their origin, whichever way they are rejected, and only if it is allowed", () =>
    Effect.gen(function*() {
      const { counts, gate, handlers } = yield* counting
      const server = yield* serve(handlers, {
        http: { responseMode: "json", maxPipelinedRequests: 2, allowedOrigins: ["https://app.example"] }
      })
      const client = yield* connect(server)
      const withOrigin = (text: string, origin: string) => text.replace("\r\n", `\r\norigin: ${origin}\r\n`)
      const page = (id: number, name: string) => withOrigin(callText(client, id, name), "https://app.example")
      const connection = yield* connectRaw(server)
      connection.write([page(1, "wait"), page(2, "wait"), page(3, "small")].join(""))
      yield* until(() => counts.called === 2)
      yield* Deferred.succeed(gate, undefined)
      yield* until(() => connection.isClosed)
      assert.deepStrictEqual(connection.statuses, [200, 200, 429])
      const allowed = connection.received.match(/access-control-allow-origin: https:\/\/app\.example/gi)
      assert.lengthOf(allowed ?? [], 3)
      assert.lengthOf(connection.received.match(/access-control-expose-headers: .*retry-after/gi) ?? [], 3)
      const other = yield* connectRaw(server)
      other.write(withOrigin(callText(client, 4, "small"), "https://evil.example"))
      yield* until(() => other.statuses.length === 1)
      assert.deepStrictEqual(other.statuses, [403])
      assert.notMatch(other.received, /access-control/i)
    }))

  it.live("destroy their connection above twice `maxPipelinedRequests`", () =>
    Effect.gen(function*() {
      const { counts, handlers } = yield* counting
      const server = yield* serve(handlers, {
        http: { responseMode: "json", maxPipelinedRequests: 3, detachedRequestTimeout: "20 millis" }
      })
      const client = yield* connect(server)
      const connection = yield* connectRaw(server)
      connection.write(calls(client, "wait", 7))
      yield* until(() => connection.isClosed)
      assert.deepStrictEqual(connection.statuses, [])
      // The requests that were served are detached, in any order of their responses.
      yield* until(() => counts.interrupted === 3)
      assert.strictEqual(counts.called, 3)
      assert.strictEqual((yield* client.ping()).status, 200)
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("are all detached when the client disconnects, also those after a response that never started", () =>
    Effect.gen(function*() {
      const { counts, handlers } = yield* counting
      const server = yield* serve(handlers, { http: { detachedRequestTimeout: "20 millis" } })
      const client = yield* connect(server)
      const connection = yield* connectRaw(server)
      connection.write(calls(client, "wait", 3))
      yield* until(() => counts.called === 3)
      connection.socket.destroy()
      yield* until(() => counts.interrupted === 3)
    }))
})

describe.concurrent("bodies that arrive slowly", () => {
  const forms = {
    "of a declared length": (client: Client) => postText("{", { "content-length": "100", "mcp-session-id": client.id }),
    "in chunks": (client: Client) =>
      postText("1\r\n{\r\n", { "transfer-encoding": "chunked", "mcp-session-id": client.id }),
    "announced with Expect": (client: Client) =>
      postText("", { expect: "100-continue", "content-length": "100", "mcp-session-id": client.id })
  }

  for (const [name, form] of Object.entries(forms)) {
    it.live(`are rejected with 408 after \`bodyTimeout\`, and their connection is closed (${name})`, () =>
      Effect.gen(function*() {
        const server = yield* serve(tools({}), { http: { bodyTimeout: "500 millis" } })
        const client = yield* connect(server)
        const connection = yield* connectRaw(server)
        connection.write(form(client))
        yield* until(() => connection.isClosed)
        assert.deepStrictEqual(connection.statuses.filter((status) => status !== 100), [408])
        assert.strictEqual((yield* client.ping()).status, 200)
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  it.live("are rejected with 408 over HTTP+SSE, too", () =>
    Effect.gen(function*() {
      const server = yield* serveWith(HttpSseServer.layerNode({ port: 0, bodyTimeout: "500 millis" }), tools({}))
      const client = yield* connectSse(server)
      const connection = yield* connectRaw(server)
      connection.write(postText("{", { "content-length": "100" }, client.endpoint))
      yield* until(() => connection.isClosed)
      assert.deepStrictEqual(connection.statuses, [408])
      assert.property(yield* client.request("ping"), "result")
    }))

  it.live("leave the server running if their connection is destroyed, at whichever byte", () =>
    Effect.gen(function*() {
      const server = yield* serveObserved(tools({}), { maxPipelinedRequests: 1 })
      const client = yield* connect(server)
      const ping = (id: string) =>
        postText(JSON.stringify({ jsonrpc: "2.0", id, method: "ping" }), { "mcp-session-id": client.id })
      const text = Array.from({ length: 64 }, (_, index) => ping(String(index).padEnd(4000))).join("")
      for (let round = 0; round < 30; round++) {
        const connection = yield* connectRaw(server)
        connection.stall()
        yield* until(() => server.sideOf(connection.socket) !== undefined)
        const side = server.sideOf(connection.socket)
        connection.write(text.slice(0, text.length - 100 * round))
        yield* until(() => side?.destroyed === true)
      }
      assert.strictEqual((yield* client.ping()).status, 200)
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("are rejected with 503 above `maxTotalIncomingBytes` in all, the slowest first", () =>
    Effect.gen(function*() {
      const server = yield* serveObserved(tools({}), { maxTotalIncomingBytes: 280_000 })
      const client = yield* connect(server)
      const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
      const half = Effect.gen(function*() {
        const connection = yield* connectRaw(server)
        connection.write(
          postText(ping.padEnd(100_000), { "content-length": "120000", "mcp-session-id": client.id })
        )
        yield* until(() => (server.sideOf(connection.socket)?.bytesRead ?? 0) > 90_000)
        return connection
      })
      const first = yield* half
      const second = yield* half
      const third = yield* half
      yield* until(() => first.isClosed)
      assert.deepStrictEqual(first.statuses, [503])
      assert.include(first.received, "retry-after: 1")
      for (const other of [second, third]) {
        other.write(" ".repeat(20_000))
        yield* until(() => other.statuses.length > 0)
        assert.deepStrictEqual(other.statuses, [200])
      }
    }))
})

describe.concurrent("bodies in chunks", () => {
  const chunked = { "transfer-encoding": "chunked" }
  const inChunks = (text: string): string => Array.from(text, (byte) => `1\r\n${byte}\r\n`).join("")
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })

  it.live("are read up to 16,384 chunks; with more they are rejected with 413, and the connection is closed", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}))
      const client = yield* connect(server)
      const headers = { ...chunked, "mcp-session-id": client.id }
      const atLimit = yield* connectRaw(server)
      atLimit.write(`${postText("", headers)}${inChunks(ping.padEnd(16_384))}0\r\n\r\n`)
      yield* until(() => atLimit.statuses.length > 0)
      assert.deepStrictEqual(atLimit.statuses, [200])
      const aboveLimit = yield* connectRaw(server)
      aboveLimit.write(`${postText("", headers)}${inChunks(ping.padEnd(16_385))}`)
      yield* until(() => aboveLimit.isClosed)
      assert.deepStrictEqual(aboveLimit.statuses, [413])
      assert.include(aboveLimit.received, "more than 16384 chunks")
    }))
})

describe.concurrent("the budget of the process", () => {
  /** Runs a server that charges this budget. Its host charges another one. */
  const serveWithBudget = (
    budget: MemoryBudget.MemoryBudget,
    options: StreamableHttpServer.Options,
    handlers = tools({})
  ) =>
    serveWith(
      Layer.provide(
        StreamableHttpServer.layerNode({ port: 0, ...options }),
        Layer.succeed(MemoryBudget.MemoryBudget, budget)
      ),
      handlers
    )

  it.live("is charged for bodies only while they arrive", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: 100_000 })
      const server = yield* serveWithBudget(budget, {})
      const client = yield* connect(server)
      const halves = yield* Effect.replicateEffect(connectRaw(server), 2)
      for (const half of halves) {
        half.write(postText("{".padEnd(60_000), { "content-length": "90000", "mcp-session-id": client.id }))
      }
      // The budget has room for one of them.
      yield* until(() => halves.some(({ isClosed }) => isClosed))
      assert.deepStrictEqual(halves.flatMap(({ statuses }) => statuses), [503])
      yield* until(() => budget.usedBytes() === 60_000)
      for (const half of halves) half.socket.destroy()
      yield* until(() => budget.usedBytes() === 0)
      assert.strictEqual((yield* client.ping()).status, 200)
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.live("is charged up to half for responses, and then the slowest reader's connection is destroyed", () =>
    Effect.gen(function*() {
      const { handlers } = yield* counting
      const budget = MemoryBudget.make({ maxBytes: 40 * mebibyte })
      const server = yield* serveWithBudget(budget, { responseMode: "json" }, handlers)
      const client = yield* connect(server)
      const readers = yield* Effect.forEach([1, 2], (id) =>
        Effect.gen(function*() {
          const reader = yield* connectRaw(server)
          const before = budget.usedBytes()
          reader.stall()
          reader.write(callText(client, id, "large"))
          yield* until(() => budget.usedBytes() > before)
          return reader
        }))
      const call = yield* client.call(3, "large")
      yield* call.awaitEnd
      assert.isTrue(call.ended)
      yield* until(() => budget.usedBytes() < 9 * mebibyte)
      for (const reader of readers) reader.socket.resume()
      yield* until(() => readers[0]?.isClosed === true && (readers[1]?.received.length ?? 0) > 8 * mebibyte)
      assert.isBelow(readers[0]?.received.length ?? 0, 8 * mebibyte)
      yield* until(() => budget.usedBytes() === 0)
    }))

  it.live("is charged for large responses until they are read", () =>
    Effect.gen(function*() {
      const { handlers } = yield* counting
      const budget = MemoryBudget.make()
      const server = yield* serveWithBudget(budget, { responseMode: "json" }, handlers)
      const client = yield* connect(server)
      const readers = yield* Effect.replicateEffect(connectRaw(server), 2)
      for (const [id, reader] of readers.entries()) {
        reader.stall()
        reader.write(callText(client, id, "large"))
      }
      yield* until(() => budget.usedBytes() > 16 * mebibyte)
      readers[0]?.socket.resume()
      yield* until(() => budget.usedBytes() < 16 * mebibyte)
      assert.isAbove(budget.usedBytes(), 8 * mebibyte)
      readers[1]?.socket.destroy()
      yield* until(() => budget.usedBytes() === 0)
    }))
})
