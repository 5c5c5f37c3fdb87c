/** The `MemoryBudget` of a process, over real sockets. */
import { ErrorCode } from "@effect-mcp/protocol"
import { MemoryBudget } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Http from "./support/httpClient.ts"
import { until } from "./support/process.ts"
import { serve, text, tools } from "./support/server.ts"
import { serveStateless } from "./support/statelessServer.ts"
import * as Unix from "./support/unixServer.ts"
import * as WebSocket from "./support/webSocketPeer.ts"
import * as WebSocketServing from "./support/webSocketServer.ts"

const handlers = tools({ wait: Effect.never, x: Effect.succeed(text("x")) })

const withBudget = (budget: MemoryBudget.MemoryBudget) => Effect.provideService(MemoryBudget.MemoryBudget, budget)

/** The budget has room for one of these inputs. */
const input = { x: "x".repeat(10_000) }
const larger = { x: "x".repeat(12_000) }
const smaller = { x: "x".repeat(9000) }
const limitBytes = 35_000

describe.concurrent("a request for which the budget has no room", () => {
  it.live("law 12: is rejected with 429 over HTTP, and served after room is free again", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: limitBytes })
      const server = yield* serve(handlers).pipe(withBudget(budget))
      const one = yield* Http.connect(server)
      const other = yield* Http.connect(server)
      yield* one.call(1, "wait", input)
      yield* until(() => budget.usedBytes() > 20_000)
      const rejected = yield* Effect.tap(other.call(1, "x", larger), ({ awaitEnd }) => awaitEnd)
      assert.deepStrictEqual([rejected.status, rejected.messages[0]?.error?.code], [429, ErrorCode.Overloaded])
      yield* one.exchange({ body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } } })
      const served = yield* Effect.tap(other.call(2, "x", larger), ({ awaitEnd }) => awaitEnd)
      assert.deepStrictEqual<unknown>(served.messages[0]?.result, text("x"))
      yield* server.stop
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.live("law 12: evicts a larger request over HTTP, which fails with Overloaded", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: limitBytes })
      const server = yield* serve(handlers).pipe(withBudget(budget))
      const one = yield* Http.connect(server)
      const other = yield* Http.connect(server)
      const waiting = yield* one.call(1, "wait", input)
      yield* until(() => budget.usedBytes() > 20_000)
      const served = yield* Effect.tap(other.call(1, "x", smaller), ({ awaitEnd }) => awaitEnd)
      assert.deepStrictEqual<unknown>(served.messages[0]?.result, text("x"))
      yield* waiting.awaitEnd
      assert.strictEqual(waiting.messages.at(-1)?.error?.code, ErrorCode.Overloaded)
      yield* server.stop
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.live("law 12: is rejected with 429 without sessions", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: limitBytes })
      const server = yield* serveStateless(handlers).pipe(withBudget(budget))
      const call = (id: number, name: string) => ({
        body: { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: input } },
        headers: { "mcp-protocol-version": "2025-11-25" }
      })
      const waiting = yield* Http.send(server, call(1, "wait"))
      yield* until(() => budget.usedBytes() > 20_000)
      const rejected = yield* Http.exchange(server, call(1, "x"))
      assert.deepStrictEqual([rejected.status, rejected.messages[0]?.error?.code], [429, ErrorCode.Overloaded])
      yield* server.stop
      yield* waiting.awaitEnd
      assert.strictEqual(budget.usedBytes(), 0)
    }))
})

describe.concurrent("a server that has stopped", () => {
  it.live("law 2: has released its share of the budget, over a Unix socket", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const server = yield* Unix.serve(handlers).pipe(withBudget(budget))
      const client = yield* Unix.openSession({ path: server.path })
      client.send(Unix.call(1, "wait", input), Unix.call(2, "wait", input))
      yield* until(() => budget.usedBytes() > 40_000)
      yield* server.stop
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.live("law 2: has released its share of the budget, over WebSocket", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const server = yield* WebSocketServing.serve(handlers).pipe(withBudget(budget))
      const peer = yield* WebSocket.connect(server)
      peer.send(WebSocket.call(1, "wait", input))
      peer.send(WebSocket.call(2, "wait", input))
      yield* until(() => budget.usedBytes() > 40_000)
      yield* server.stop
      assert.strictEqual(budget.usedBytes(), 0)
    }))
})
