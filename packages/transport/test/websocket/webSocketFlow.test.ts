import { JsonRpc } from "@effect-mcp/protocol"
import { MemoryBudget, RequestContext, Transport } from "@effect-mcp/session"
import { WebSocketClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import { beside, until } from "../fixtures/httpConnection.ts"
import { tools } from "../support/server.ts"
import { still } from "../support/still.ts"
import * as Frames from "../support/webSocketFrames.ts"
import { call, connect, listen, ping } from "../support/webSocketPeer.ts"
import { reasons, serve } from "../support/webSocketServer.ts"

const stepBytes = 10_000

/** More than the buffers on the way can hold: those of the transport, and those of both ends of a TCP connection. */
const limitBytes = 24 * 1024 * 1024

/** A tool that says something on and on, and how much it has said. */
const flooding = () => {
  let said = 0
  const handlers = tools({
    flood: Effect.gen(function*() {
      for (let progress = 1;; progress++) {
        yield* RequestContext.progress({ progress, message: "x".repeat(stepBytes) })
        said += stepBytes
      }
    })
  })
  return { handlers, said: () => said }
}

describe("a server whose client reads nothing", () => {
  it.live("[law 12] charges what waits to the budget of the process, until it is read or the connection has ended", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const { handlers } = flooding()
      const server = yield* Effect.provideService(serve(handlers), MemoryBudget.MemoryBudget, budget)
      const peer = yield* connect(server)
      for (const id of [1, 2]) {
        peer.socket.pause()
        peer.say(call(id, "flood"))
        yield* until(() => budget.usedBytes() > 1024 * 1024)
        peer.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } })
        if (id === 1) peer.socket.resume()
        else peer.socket.destroy()
        yield* until(() => budget.usedBytes() === 0)
      }
    }))

  it.live("[law 12] has its handlers wait, keeps little, and goes on where it was", () =>
    Effect.gen(function*() {
      const { handlers, said } = flooding()
      const server = yield* serve(handlers, { session: { limits: { progressInterval: 0 } } })
      const peer = yield* connect(server)
      const other = yield* connect(server)
      peer.socket.pause()
      peer.say(call(1, "flood"))
      yield* until(() => said() > 1024 * 1024)
      const stalled = yield* still(said)
      assert.isBelow(stalled, limitBytes)
      // Nobody else is slowed.
      other.say(ping(1))
      yield* until(() => other.answer(1) !== undefined)
      peer.socket.resume()
      yield* until(() => said() > stalled + limitBytes)
      peer.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })
      peer.say(ping("behind"))
      yield* until(() => peer.answer("behind") !== undefined)
      const steps = peer.messages.flatMap(({ params }) => params?.["progress"] ?? [])
      assert.deepStrictEqual(steps, steps.map((_, index) => index + 1))
    }))

  it.live("[law 12] gives it up in the end, and does not wait for it when it goes", () =>
    Effect.gen(function*() {
      const { handlers, said } = flooding()
      const server = yield* serve(handlers, {
        session: { limits: { progressInterval: 0, writeTimeout: "300 millis" } },
        webSocket: { closeTimeout: "50 millis" }
      })
      const peer = yield* connect(server)
      peer.socket.pause()
      peer.say(call(1, "flood"))
      yield* until(() => reasons(server).length === 1)
      assert.strictEqual(reasons(server)[0]?._tag, "PeerStalled")
      assert.isBelow(said(), limitBytes)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      peer.socket.resume()
      yield* until(() => peer.gone)
    }))

  it.live("does not wait for it when it goes before that", () =>
    Effect.gen(function*() {
      const { handlers, said } = flooding()
      const server = yield* serve(handlers, {
        session: { limits: { progressInterval: 0 } },
        webSocket: { closeTimeout: "50 millis" }
      })
      const peer = yield* connect(server)
      peer.socket.pause()
      peer.say(call(1, "flood"))
      yield* still(said)
      yield* server.stop
      peer.socket.resume()
      yield* until(() => peer.gone)
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
      return { connection, send, leave: Scope.close(scope, Exit.void) }
    })

    it.live("[law 12] waits for a server that reads nothing, and goes on where it was", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { connection, send } = yield* opened(server.url)
        yield* beside(connection.run(() => {}))
        const [peer] = server.peers
        peer?.socket.pause()
        let sent = 0
        const sending = yield* beside(
          Effect.whileLoop({
            while: () => sent < 5000,
            body: () => send(notification(sent + 1)),
            step: () => void sent++
          })
        )
        const stalled = yield* still(() => sent)
        assert.isBelow(stalled * stepBytes, limitBytes)
        // Who does not wait any more sends nothing.
        const given = yield* beside(send(notification(-1)))
        yield* Fiber.interrupt(given)
        peer?.socket.resume()
        yield* Fiber.join(sending)
        yield* until(() => peer?.messages.length === 5000)
        const numbers = peer?.messages.map(({ params }) => parseInt(String(params?.["data"]), 10))
        assert.deepStrictEqual(numbers, Array.from({ length: 5000 }, (_, index) => index + 1))
      }))

    it.live("[law 2] leaves though a message waits, which fails", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { connection, leave, send } = yield* opened(server.url)
        yield* beside(connection.run(() => {}))
        server.peers[0]?.socket.pause()
        let sent = 0
        const sending = yield* beside(
          Effect.whileLoop({ while: () => true, body: () => send(notification(sent)), step: () => void sent++ })
        )
        yield* still(() => sent)
        yield* leave
        assert.strictEqual((yield* Effect.flip(Fiber.join(sending))).reason._tag, "WriteFailed")
        assert.strictEqual((yield* Effect.flip(send(notification(0)))).reason._tag, "WriteFailed")
      }))

    it.live("[law 1] fails what waits when the connection breaks off", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { connection, send } = yield* opened(server.url)
        const running = yield* beside(connection.run(() => {}))
        server.peers[0]?.socket.pause()
        let sent = 0
        const sending = yield* beside(
          Effect.whileLoop({ while: () => true, body: () => send(notification(sent)), step: () => void sent++ })
        )
        yield* still(() => sent)
        server.peers[0]?.socket.resetAndDestroy()
        assert.strictEqual((yield* Effect.flip(Fiber.join(sending))).reason._tag, "WriteFailed")
        assert.strictEqual((yield* Effect.flip(Fiber.join(running))).reason._tag, "ReadFailed")
      }))

    it.live("hands over what was sent before it left, and nothing of what it says was not", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { leave, send } = yield* opened(server.url)
        yield* send(JsonRpc.notification("notifications/message", { level: "info", data: "x".repeat(1024 * 1024) }))
        const waiting = yield* beside(Effect.result(send(notification(2))))
        assert.isUndefined(waiting.pollUnsafe())
        yield* leave
        const taken = yield* Fiber.join(waiting)
        const [peer] = server.peers
        yield* until(() => peer?.farewell !== undefined)
        assert.strictEqual(peer?.messages.length, Result.isSuccess(taken) ? 2 : 1)
      }))

    it.live("hands over what was sent before it left", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { leave, send } = yield* opened(server.url)
        for (let id = 1; id <= 100; id++) yield* send(notification(id))
        yield* leave
        const [peer] = server.peers
        yield* until(() => peer?.farewell !== undefined)
        assert.strictEqual(peer?.messages.length, 100)
        assert.strictEqual(peer?.frames.at(-1)?.opcode, Frames.opcodes.close)
      }))

    it.live("a message that is no JSON is that message's trouble alone", () =>
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
