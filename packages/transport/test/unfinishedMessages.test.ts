/** Messages whose end never arrives, on transports with one session for each connection. */
import { MemoryBudget } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Socket } from "node:net"
import { until } from "./support/process.ts"
import { text, tools } from "./support/server.ts"
import * as Unix from "./support/unixServer.ts"
import * as Frames from "./support/webSocketFrames.ts"
import * as WebSocket from "./support/webSocketPeer.ts"
import * as WebSocketServing from "./support/webSocketServer.ts"

const handlers = tools({ x: Effect.succeed(text("x")) })

/** The limit has room for two of these messages, and not for three. */
const messageBytes = 400_000
const maxTotalIncomingBytes = 1_000_000

/** A client of one transport. */
interface Sender {
  readonly socket: Socket
  readonly begin: () => void
  /** Sends the end of the message, and waits for the reply. */
  readonly finish: Effect.Effect<void>
}

const half = { jsonrpc: "2.0", id: 1, method: "ping", params: { _meta: { x: "x".repeat(messageBytes) } } }
const [beginning, end] = [JSON.stringify(half).slice(0, -1), JSON.stringify(half).slice(-1)]

const overUnixSocket = Effect.fnUntraced(function*(budget: MemoryBudget.MemoryBudget) {
  const server = yield* Effect.provideService(
    Unix.serve(handlers, { socket: { maxTotalIncomingBytes } }),
    MemoryBudget.MemoryBudget,
    budget
  )
  return Effect.map(Unix.openSession({ path: server.path }), (client): Sender => ({
    socket: client.socket,
    begin: () => void client.socket.write(beginning),
    finish: Effect.suspend(() => {
      client.socket.write(`${end}\n`)
      return Effect.asVoid(client.awaitResponse(1))
    })
  }))
})

const overWebSocket = Effect.fnUntraced(function*(budget: MemoryBudget.MemoryBudget) {
  const server = yield* Effect.provideService(
    WebSocketServing.serve(handlers, { webSocket: { maxTotalIncomingBytes } }),
    MemoryBudget.MemoryBudget,
    budget
  )
  return Effect.map(WebSocket.connect(server), (client): Sender => ({
    socket: client.socket,
    begin: () => void client.socket.write(Frames.encode(Frames.opcodes.text, beginning, { fin: false })),
    finish: Effect.suspend(() => {
      client.socket.write(Frames.encode(Frames.opcodes.continuation, end))
      return until(() => client.responseTo(1) !== undefined)
    })
  }))
})

describe.concurrent("messages whose end never arrives", () => {
  for (const [name, serve] of [["a Unix socket", overUnixSocket], ["WebSocket", overWebSocket]] as const) {
    it.live(`law 12: are charged, and above the limit the connection of the oldest is closed (over ${name})`, () =>
      Effect.gen(function*() {
        const budget = MemoryBudget.make()
        const connect = yield* serve(budget)
        const first = yield* connect
        first.begin()
        yield* until(() => budget.usedBytes() >= messageBytes)
        const second = yield* connect
        second.begin()
        yield* until(() => budget.usedBytes() >= 2 * messageBytes)
        assert.isAtMost(budget.usedBytes(), maxTotalIncomingBytes)
        const third = yield* connect
        third.begin()
        yield* until(() => first.socket.closed || first.socket.readableEnded)
        yield* second.finish
        yield* third.finish
        yield* until(() => budget.usedBytes() === 0)
      }))

    it.live(`law 2: are released when their connection is lost (over ${name})`, () =>
      Effect.gen(function*() {
        const budget = MemoryBudget.make()
        const client = yield* yield* serve(budget)
        client.begin()
        yield* until(() => budget.usedBytes() >= messageBytes)
        client.socket.destroy()
        yield* until(() => budget.usedBytes() === 0)
      }))
  }

  it.live("law 12: are charged although their pieces are as short as a pong (over WebSocket)", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const server = yield* Effect.provideService(
        WebSocketServing.serve(handlers, { webSocket: { maxTotalIncomingBytes } }),
        MemoryBudget.MemoryBudget,
        budget
      )
      const { socket } = yield* WebSocket.connect(server)
      socket.setNoDelay(true)
      socket.write(Frames.headerOf(Frames.opcodes.text, 1_000_000, true))
      // Both ends are in this process. In the next turn, the piece has been read.
      const piece = Effect.callback<void>((resume) => {
        socket.write("1234")
        setImmediate(() => resume(Effect.void))
      })
      yield* Effect.repeat(piece, { until: () => budget.usedBytes() > 0, times: 40_000 })
      assert.isAbove(budget.usedBytes(), 0)
    }))
})
