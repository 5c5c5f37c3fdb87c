import { JsonRpc } from "@effect-mcp/protocol"
import { MemoryBudget, RequestContext, Transport } from "@effect-mcp/session"
import { WebSocketClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import { untilStable } from "../support/eventLoop.ts"
import { forkNow, until } from "../support/httpClientConnection.ts"
import { tools } from "../support/server.ts"
import * as Frames from "../support/webSocketFrames.ts"
import { call, connect, listen, ping } from "../support/webSocketPeer.ts"
import { reasons, serve } from "../support/webSocketServer.ts"

const stepBytes = 10_000

/** More bytes than all buffers on the way hold: those of the transport, and those of both ends of a TCP connection. */
const limitBytes = 24 * 1024 * 1024

/** Returns a tool that sends progress without end, and a function that returns the number of its bytes. */
const flooding = () => {
  let sentBytes = 0
  const handlers = tools({
    flood: Effect.gen(function*() {
      for (let progress = 1;; progress++) {
        yield* RequestContext.progress({ progress, message: "x".repeat(stepBytes) })
        sentBytes += stepBytes
      }
    })
  })
  return { handlers, sentBytes: () => sentBytes }
}

describe("a server whose client reads nothing", () => {
  it.live("[law 12] charges unread messages to the budget, until they are read or the connection ends", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const { handlers } = flooding()
      const server = yield* Effect.provideService(serve(handlers), MemoryBudget.MemoryBudget, budget)
      const peer = yield* connect(server)
      for (const id of [1, 2]) {
        peer.socket.pause()
        peer.send(call(id, "flood"))
        yield* until(() => budget.usedBytes() > 1024 * 1024)
        peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } })
        if (id === 1) peer.socket.resume()
        else peer.socket.destroy()
        yield* until(() => budget.usedBytes() === 0)
      }
    }))

  it.live("[law 12] suspends its handlers, keeps a bounded buffer, and continues in order", () =>
    Effect.gen(function*() {
      const { handlers, sentBytes } = flooding()
      const server = yield* serve(handlers, { session: { limits: { progressInterval: 0 } } })
      const peer = yield* connect(server)
      const other = yield* connect(server)
      peer.socket.pause()
      peer.send(call(1, "flood"))
      yield* until(() => sentBytes() > 1024 * 1024)
      const stalled = yield* untilStable(sentBytes)
      assert.isBelow(stalled, limitBytes)
      // Another client is served without delay.
      other.send(ping(1))
      yield* until(() => other.responseTo(1) !== undefined)
      peer.socket.resume()
      yield* until(() => sentBytes() > stalled + limitBytes)
      peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })
      peer.send(ping("last"))
      yield* until(() => peer.responseTo("last") !== undefined)
      const steps = peer.messages.flatMap(({ params }) => params?.["progress"] ?? [])
      assert.deepStrictEqual(steps, steps.map((_, index) => index + 1))
    }))

  it.live("[law 12] ends its session with PeerStalled after writeTimeout", () =>
    Effect.gen(function*() {
      const { handlers, sentBytes } = flooding()
      const server = yield* serve(handlers, {
        session: { limits: { progressInterval: 0, writeTimeout: "300 millis" } },
        webSocket: { closeTimeout: "50 millis" }
      })
      const peer = yield* connect(server)
      peer.socket.pause()
      peer.send(call(1, "flood"))
      yield* until(() => reasons(server).length === 1)
      assert.strictEqual(reasons(server)[0]?._tag, "PeerStalled")
      assert.isBelow(sentBytes(), limitBytes)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      peer.socket.resume()
      yield* until(() => peer.isClosed)
    }))

  it.live("does not wait for it on shutdown", () =>
    Effect.gen(function*() {
      const { handlers, sentBytes } = flooding()
      const server = yield* serve(handlers, {
        session: { limits: { progressInterval: 0 } },
        webSocket: { closeTimeout: "50 millis" }
      })
      const peer = yield* connect(server)
      peer.socket.pause()
      peer.send(call(1, "flood"))
      yield* untilStable(sentBytes)
      yield* server.stop
      peer.socket.resume()
      yield* until(() => peer.isClosed)
      assert.deepStrictEqual(server.logs, [])
    }))
})

const notification = (data: number) =>
  JsonRpc.notification("notifications/message", { level: "info", data: String(data).padEnd(stepBytes, ".") })

const layers: Readonly<Record<string, (url: string) => Layer.Layer<Transport.Transport>>> = {
  "on Node": (url) => WebSocketClient.layerNode({ url, closeTimeout: "50 millis" }),
  "as in a browser": (url) =>
    Layer.provide(
      WebSocketClient.layer({ url, closeTimeout: "50 millis" }),
      Socket.layerWebSocketConstructorGlobal
    )
}

for (const [name, layer] of Object.entries(layers)) {
  describe(`a client ${name}`, () => {
    const opened = Effect.fnUntraced(function*(url: string) {
      const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
      const context = yield* Layer.build(layer(url))
      const connection = yield* Scope.provide(Context.get(context, Transport.Transport).connect, scope)
      const send = (message: JsonRpc.Message) => connection.send({ message, replyTo: undefined, last: false })
      return { close: Scope.close(scope, Exit.void), connection, send }
    })

    it.live("[law 12] suspends send while the server reads nothing, and continues in order", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { connection, send } = yield* opened(server.url)
        yield* forkNow(connection.run(() => {}))
        const [peer] = server.peers
        peer?.socket.pause()
        let sent = 0
        const sending = yield* forkNow(
          Effect.whileLoop({
            while: () => sent < 5000,
            body: () => send(notification(sent + 1)),
            step: () => void sent++
          })
        )
        const stalled = yield* untilStable(() => sent)
        assert.isBelow(stalled * stepBytes, limitBytes)
        // A message whose sender is interrupted is not sent.
        const interrupted = yield* forkNow(send(notification(-1)))
        yield* Fiber.interrupt(interrupted)
        peer?.socket.resume()
        yield* Fiber.join(sending)
        yield* until(() => peer?.messages.length === 5000)
        const numbers = peer?.messages.map(({ params }) => parseInt(String(params?.["data"]), 10))
        assert.deepStrictEqual(numbers, Array.from({ length: 5000 }, (_, index) => index + 1))
      }))

    it.live("[law 12] passes on messages in turns of the event loop, in order, although all arrive at once", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { connection } = yield* opened(server.url)
        const count = 8000
        const texts = Array.from({ length: count }, (_, index) => `x${index}`)
        let inTurn = 0
        let mostInTurn = 0
        const arrived: Array<unknown> = []
        yield* forkNow(connection.run(({ frame }) => {
          if (inTurn++ === 0) {
            setImmediate(() => {
              inTurn = 0
            })
          }
          mostInTurn = Math.max(mostInTurn, inTurn)
          arrived.push(Result.merge(frame))
        }))
        const frames = texts.map((text) => Frames.encode(Frames.opcodes.text, text, { masked: false }))
        server.peers[0]?.write(Buffer.concat(frames))
        yield* until(() => arrived.length === count)
        assert.deepStrictEqual(arrived, texts.map((text) => ({ _tag: "NotJson", text })))
        // A browser cannot pause a WebSocket, so the messages that wait are read in at most 8 turns.
        assert.isAtMost(mostInTurn, name === "on Node" ? 256 : count / 8)
      }))

    if (name === "on Node") {
      it.live("[law 12] is not read on while messages wait, even if they are empty", () =>
        Effect.gen(function*() {
          const server = yield* listen()
          yield* opened(server.url)
          const chunk = Buffer.alloc(65_536, Uint8Array.of(0x81, 0))
          let sentBytes = 0
          const flood = () => {
            sentBytes += chunk.length
            server.peers[0]?.socket.write(chunk, (error) => void (error || flood()))
          }
          flood()
          assert.isBelow(yield* untilStable(() => sentBytes), limitBytes)
        }))
    }

    it.live("[law 2] closes although a message waits, which fails", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { connection, close, send } = yield* opened(server.url)
        yield* forkNow(connection.run(() => {}))
        server.peers[0]?.socket.pause()
        let sent = 0
        const sending = yield* forkNow(
          Effect.whileLoop({ while: () => true, body: () => send(notification(sent)), step: () => void sent++ })
        )
        yield* untilStable(() => sent)
        yield* close
        assert.strictEqual((yield* Effect.flip(Fiber.join(sending))).reason._tag, "WriteFailed")
        assert.strictEqual((yield* Effect.flip(send(notification(0)))).reason._tag, "WriteFailed")
      }))

    it.live("[law 1] fails waiting messages when the connection breaks", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { connection, send } = yield* opened(server.url)
        const running = yield* forkNow(connection.run(() => {}))
        server.peers[0]?.socket.pause()
        let sent = 0
        const sending = yield* forkNow(
          Effect.whileLoop({ while: () => true, body: () => send(notification(sent)), step: () => void sent++ })
        )
        yield* untilStable(() => sent)
        server.peers[0]?.socket.resetAndDestroy()
        assert.strictEqual((yield* Effect.flip(Fiber.join(sending))).reason._tag, "WriteFailed")
        assert.strictEqual((yield* Effect.flip(Fiber.join(running))).reason._tag, "ReadFailed")
      }))

    it.live("writes the taken messages before it closes, and no message that failed", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { close, send } = yield* opened(server.url)
        yield* send(JsonRpc.notification("notifications/message", { level: "info", data: "x".repeat(1024 * 1024) }))
        const waiting = yield* forkNow(Effect.result(send(notification(2))))
        assert.isUndefined(waiting.pollUnsafe())
        yield* close
        const taken = yield* Fiber.join(waiting)
        const [peer] = server.peers
        yield* until(() => peer?.closeFrame !== undefined)
        assert.strictEqual(peer?.messages.length, Result.isSuccess(taken) ? 2 : 1)
      }))

    it.live("writes all messages before it closes", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { close, send } = yield* opened(server.url)
        for (let id = 1; id <= 100; id++) yield* send(notification(id))
        yield* close
        const [peer] = server.peers
        yield* until(() => peer?.closeFrame !== undefined)
        assert.strictEqual(peer?.messages.length, 100)
        assert.strictEqual(peer?.frames.at(-1)?.opcode, Frames.opcodes.close)
      }))

    it.live("fails with Unserializable for a value that JSON cannot represent, and sends the next message", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { send } = yield* opened(server.url)
        const broken = JsonRpc.notification("notifications/message", { data: 1n })
        assert.strictEqual((yield* Effect.flip(send(broken))).reason._tag, "Unserializable")
        yield* send(notification(1))
        yield* until(() => server.peers[0]?.messages.length === 1)
      }))
  })
}
