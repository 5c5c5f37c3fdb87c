/** One budget of memory for all that a process holds for its peers, over real sockets. */
import { ErrorCode } from "@effect-mcp/protocol"
import { MemoryBudget } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { until } from "./fixtures/process.ts"
import * as Http from "./support/client.ts"
import { serve, text, tools } from "./support/server.ts"
import { serveSessionless } from "./support/sessionlessServer.ts"
import * as Unix from "./support/unixServer.ts"
import * as WebSocket from "./support/webSocketPeer.ts"
import * as WebSocketServing from "./support/webSocketServer.ts"

const handlers = tools({ wait: Effect.never, x: Effect.succeed(text("x")) })

const charging = (budget: MemoryBudget.MemoryBudget) => Effect.provideService(MemoryBudget.MemoryBudget, budget)

/** More than one of these does not fit into the budget. */
const input = { x: "x".repeat(10_000) }
const larger = { x: "x".repeat(12_000) }
const smaller = { x: "x".repeat(9000) }
const limitBytes = 35_000

describe.concurrent("requests beyond the budget", () => {
  it.live("law 12: are answered with 429 over HTTP, and served again when there is room", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: limitBytes })
      const server = yield* serve(handlers).pipe(charging(budget))
      const one = yield* Http.connect(server)
      const other = yield* Http.connect(server)
      yield* one.call(1, "wait", input)
      yield* until(() => budget.usedBytes() > 20_000)
      const refused = yield* Effect.tap(other.call(1, "x", larger), ({ done }) => done)
      assert.deepStrictEqual([refused.status, refused.messages[0]?.error?.code], [429, ErrorCode.Overloaded])
      yield* one.ask({ body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } } })
      const served = yield* Effect.tap(other.call(2, "x", larger), ({ done }) => done)
      assert.deepStrictEqual<unknown>(served.messages[0]?.result, text("x"))
      yield* server.stop
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.live("law 12: make room for a smaller request over HTTP, and are answered with Overloaded", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: limitBytes })
      const server = yield* serve(handlers).pipe(charging(budget))
      const one = yield* Http.connect(server)
      const other = yield* Http.connect(server)
      const waiting = yield* one.call(1, "wait", input)
      yield* until(() => budget.usedBytes() > 20_000)
      const served = yield* Effect.tap(other.call(1, "x", smaller), ({ done }) => done)
      assert.deepStrictEqual<unknown>(served.messages[0]?.result, text("x"))
      yield* waiting.done
      assert.strictEqual(waiting.messages.at(-1)?.error?.code, ErrorCode.Overloaded)
      yield* server.stop
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.live("law 12: are answered with 429 without sessions", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: limitBytes })
      const server = yield* serveSessionless(handlers).pipe(charging(budget))
      const call = (id: number, name: string) => ({
        body: { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: input } },
        headers: { "mcp-protocol-version": "2025-11-25" }
      })
      const waiting = yield* Http.listen(server, call(1, "wait"))
      yield* until(() => budget.usedBytes() > 20_000)
      const refused = yield* Http.ask(server, call(1, "x"))
      assert.deepStrictEqual([refused.status, refused.messages[0]?.error?.code], [429, ErrorCode.Overloaded])
      yield* server.stop
      yield* waiting.done
      assert.strictEqual(budget.usedBytes(), 0)
    }))
})

describe.concurrent("a server that has stopped", () => {
  it.live("law 2: holds nothing of the budget, over a Unix socket", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const server = yield* Unix.serve(handlers).pipe(charging(budget))
      const client = yield* Unix.join({ path: server.path })
      client.say(Unix.call(1, "wait", input), Unix.call(2, "wait", input))
      yield* until(() => budget.usedBytes() > 40_000)
      yield* server.stop
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.live("law 2: holds nothing of the budget, over WebSocket", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const server = yield* WebSocketServing.serve(handlers).pipe(charging(budget))
      const peer = yield* WebSocket.connect(server)
      peer.say(WebSocket.call(1, "wait", input))
      peer.say(WebSocket.call(2, "wait", input))
      yield* until(() => budget.usedBytes() > 40_000)
      yield* server.stop
      assert.strictEqual(budget.usedBytes(), 0)
    }))
})
