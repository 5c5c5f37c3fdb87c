import { type CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { WebSocketClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import { constants } from "node:buffer"
import { turns } from "../../support/eventLoop.ts"
import { forkNow, until } from "../../support/httpClientConnection.ts"
import { clients, open, read } from "../../support/webSocketClient.ts"
import * as Frames from "../../support/webSocketFrames.ts"
import { listen, ping } from "../../support/webSocketPeer.ts"

const closeFrames: ReadonlyArray<
  readonly [reason: CloseReason.CloseReason | undefined, code: number, text: string]
> = [
  [undefined, 1000, "the client has closed the session"],
  [{ _tag: "Requested" }, 1000, "the client has closed the session"],
  [{ _tag: "HandshakeFailed", problem: "no common revision" }, 4000, "the handshake failed: no common revision"],
  [{ _tag: "HandshakeTimeout", afterMillis: 7 }, 4001, "the handshake did not finish within 7 ms"],
  [{ _tag: "Expired", afterMillis: 7, of: "idle" }, 4002, "expired: unused for 7 ms"],
  [{ _tag: "PeerStalled", afterMillis: 7 }, 4003, "the peer read no bytes for 7 ms"],
  [
    { _tag: "RepliesOverflow", waiting: 7, bytes: 700, limit: "maxOutgoingBytes" },
    4004,
    "the peer kept sending requests while 7 replies of 700 bytes waited for it (limit: maxOutgoingBytes)"
  ],
  [{ _tag: "TransportFailed", cause: new Error("a secret of this side") }, 4005, "the transport failed"]
]

for (const [name, layer] of Object.entries(clients)) {
  describe(`a client ${name}`, () => {
    for (const [reason, code, text] of closeFrames) {
      it.live(`closes with ${code} for ${reason?._tag ?? "no close reason"}`, () =>
        Effect.gen(function*() {
          const server = yield* listen()
          const opened = yield* open(layer, { url: server.url })
          yield* read(opened)
          if (reason !== undefined) opened.connection.onSessionEnd?.(reason)
          yield* opened.close
          const [peer] = server.peers
          yield* until(() => peer?.closeFrame !== undefined)
          assert.deepStrictEqual(peer?.closeFrame, { code, reason: text })
        }))
    }

    it.live("cuts the text of the close frame at 123 bytes, between characters", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const opened = yield* open(layer, { url: server.url })
        opened.connection.onSessionEnd?.({ _tag: "HandshakeFailed", problem: "🌍".repeat(100) })
        yield* opened.close
        yield* until(() => server.peers[0]?.closeFrame !== undefined)
        // 123 bytes, without the part of a character.
        assert.strictEqual(server.peers[0]?.closeFrame?.reason, `the handshake failed: ${"🌍".repeat(25)}`)
      }))

    it.live("waits for the server's close frame, and then closes the connection", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const opened = yield* open(layer, { url: server.url, closeTimeout: "10 seconds" })
        const closing = yield* Effect.forkChild(opened.close)
        const [peer] = server.peers
        yield* until(() => peer?.closeFrame !== undefined)
        assert.isUndefined(closing.pollUnsafe())
        peer?.sendClose(1000)
        peer?.socket.end()
        yield* Fiber.join(closing)
        yield* until(() => peer?.isClosed === true)
        assert.strictEqual(peer?.framesOf(Frames.opcodes.close).length, 1)
      }))

    it.live("reads the server's close frame although its program no longer reads", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const opened = yield* open(layer, { url: server.url, closeTimeout: "1 minute" })
        const { inbound, running } = yield* read(opened)
        const [peer] = server.peers
        peer?.send(ping(1))
        yield* until(() => inbound.length === 1)
        yield* Fiber.interrupt(running)
        peer?.send(ping(2))
        yield* turns(5)
        const closing = yield* Effect.forkChild(opened.close)
        yield* until(() => peer?.closeFrame !== undefined)
        peer?.send(ping(3))
        peer?.sendClose(1000)
        peer?.socket.end()
        yield* Fiber.join(closing)
        yield* until(() => peer?.isClosed === true)
      }))

    it.live("reads the server's close frame although its program stops reading meanwhile", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const opened = yield* open(layer, { url: server.url, closeTimeout: "1 minute" })
        const { running } = yield* read(opened)
        const [peer] = server.peers
        const closing = yield* Effect.forkChild(opened.close)
        yield* until(() => peer?.closeFrame !== undefined)
        yield* Fiber.interrupt(running)
        peer?.frame(Frames.opcodes.ping)
        yield* turns(5)
        peer?.sendClose(1000)
        peer?.socket.end()
        yield* Fiber.join(closing)
      }))

    it.live("reads the server's close frame although many unread messages arrive before it", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const opened = yield* open(layer, { url: server.url, closeTimeout: "10 seconds" })
        const [peer] = server.peers
        for (let id = 0; id < 300; id++) peer?.send({ ...ping(id), params: { padding: "x".repeat(10_000) } })
        const closing = yield* Effect.forkChild(opened.close)
        yield* until(() => peer?.closeFrame !== undefined)
        peer?.sendClose(1000)
        peer?.socket.end()
        yield* Fiber.join(closing)
      }))

    for (
      const [code, text] of [[1000, ""], [1001, "going"], [undefined, ""]] as const
    ) {
      it.live(`ends normally if the server closes with ${code ?? "no code"}`, () =>
        Effect.gen(function*() {
          const server = yield* listen()
          const { running } = yield* read(yield* open(layer, { url: server.url }))
          const [peer] = server.peers
          peer?.sendClose(code, text)
          yield* until(() => peer?.closeFrame !== undefined)
          peer?.socket.end()
          assert.deepStrictEqual(yield* Fiber.join(running), { exit: undefined, writable: false })
        }))
    }

    it.live("fails with the meaning of any other close code of the server", () =>
      Effect.gen(function*() {
        for (
          const [code, reason, problem] of [
            [1008, "", "the peer closed the connection with code 1008 (policy violation)"],
            [4002, "expired", "the peer closed the connection with code 4002 (Expired): expired"],
            [4999, "some text", "the peer closed the connection with code 4999: some text"]
          ] as const
        ) {
          const server = yield* listen()
          const { running } = yield* read(yield* open(layer, { url: server.url }))
          const [peer] = server.peers
          peer?.sendClose(code, reason)
          yield* until(() => peer?.closeFrame !== undefined)
          peer?.socket.end()
          const { message } = yield* Effect.flip(Fiber.join(running))
          assert.strictEqual(message, `reading from the peer failed: ${problem}`)
        }
      }))

    it.live("a message after the server's close frame waits, and fails with the server's reason", () =>
      Effect.gen(function*() {
        for (
          const [code, problem] of [[1000, /the peer ended the connection/], [4002, /code 4002 \(Expired\)/]] as const
        ) {
          const server = yield* listen()
          const opened = yield* open(layer, { url: server.url })
          const { running } = yield* read(opened)
          const [peer] = server.peers
          peer?.sendClose(code)
          yield* until(() => peer?.closeFrame !== undefined)
          const sending = yield* forkNow(opened.send(JsonRpc.request(1, "ping", undefined)))
          peer?.socket.end()
          yield* Effect.exit(Fiber.join(running))
          assert.match((yield* Effect.flip(Fiber.join(sending))).message, problem)
        }
      }))

    it.live("[law 1] fails if the connection breaks without a close frame", () =>
      Effect.gen(function*() {
        for (const act of ["end", "destroy"] as const) {
          const server = yield* listen()
          const opened = yield* open(layer, { url: server.url })
          const { running } = yield* read(opened)
          server.peers[0]?.socket[act]()
          assert.strictEqual((yield* Effect.flip(Fiber.join(running))).reason._tag, "ReadFailed")
          const late = yield* Effect.flip(opened.send({ jsonrpc: "2.0", method: "ping", id: 1 }))
          assert.strictEqual(late.reason._tag, "WriteFailed")
        }
      }))

    it.live("reads fragmented and binary messages, and reports invalid ones by themselves", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { inbound, frames } = yield* read(yield* open(layer, { url: server.url, maxMessageBytes: 1000 }))
        const [peer] = server.peers
        const { binary, continuation, text } = Frames.opcodes
        peer?.frame(text, "{\"a\":", { fin: false })
        peer?.frame(continuation, "\"ü\"}")
        peer?.frame(binary, "[1]")
        peer?.frame(text, "not json")
        peer?.frame(text, JSON.stringify("x".repeat(2000)))
        peer?.frame(text, "2")
        yield* until(() => frames().length === 5)
        assert.deepStrictEqual(frames(), [
          { a: "ü" },
          [1],
          { _tag: "NotJson", text: "not json" },
          { _tag: "TooLarge", limitBytes: 1000 },
          2
        ])
        assert.deepStrictEqual(inbound.map(({ bytes }) => bytes), [10, 3, 8, 2002, 1])
        assert.isTrue(inbound.every(({ frame, origin }) => origin === undefined && Result.isResult(frame)))
      }))

    it.live("[law 2] leaves no connection, whichever side has closed it", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const one = yield* open(layer, { url: server.url })
        const two = yield* open(layer, { url: server.url })
        const { running } = yield* read(two)
        const [first, second] = server.peers
        second?.sendClose(1000)
        second?.socket.end()
        yield* Fiber.join(running)
        yield* Effect.all([one.close, two.close], { concurrency: 2 })
        first?.sendClose(1000)
        for (const peer of server.peers) peer.socket.end()
        yield* until(() => server.peers.every(({ isClosed }) => isClosed))
        assert.isTrue(Exit.isExit(running.pollUnsafe()))
      }))
  })
}

describe("a client on Node", () => {
  it.live("closes with 1009 for a message above maxPayloadBytes", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const opened = yield* open(WebSocketClient.layerNode, {
        url: server.url,
        maxMessageBytes: 1000,
        maxPayloadBytes: 2000
      })
      const { running } = yield* read(opened)
      const [peer] = server.peers
      peer?.frame(Frames.opcodes.text, "x".repeat(2001))
      assert.match((yield* Effect.flip(Fiber.join(running))).message, /Max payload size exceeded/)
      yield* until(() => peer?.closeFrame !== undefined)
      assert.strictEqual(peer?.closeFrame?.code, 1009)
    }))

  it.live("closes with 1009 for a message above the longest string, also with an infinite maxMessageBytes", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      yield* read(
        yield* open(WebSocketClient.layerNode, { url: server.url, maxMessageBytes: Number.POSITIVE_INFINITY })
      )
      const [peer] = server.peers
      peer?.write(Frames.headerOf(Frames.opcodes.text, constants.MAX_STRING_LENGTH + 1, false))
      yield* until(() => peer?.closeFrame !== undefined)
      assert.strictEqual(peer?.closeFrame?.code, 1009)
    }))

  it.live("closes with 1007 for text that is not UTF-8", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const { running } = yield* read(yield* open(WebSocketClient.layerNode, server))
      const [peer] = server.peers
      peer?.frame(Frames.opcodes.text, Buffer.from([0xFF]))
      assert.match((yield* Effect.flip(Fiber.join(running))).message, /invalid UTF-8/)
      yield* until(() => peer?.closeFrame !== undefined)
      assert.strictEqual(peer?.closeFrame?.code, 1007)
    }))

  it.live("destroys the connection after closeTimeout if the server does not answer the close frame", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const opened = yield* open(WebSocketClient.layerNode, server)
      yield* opened.close
      const [peer] = server.peers
      yield* until(() => peer?.ended === true || peer?.isClosed === true)
      assert.strictEqual(peer?.closeFrame?.code, 1000)
    }))
})

it.live("a client on Node waits for the server's end of the connection up to closeTimeout", () =>
  Effect.gen(function*() {
    const server = yield* listen()
    const opened = yield* open(WebSocketClient.layerNode, { url: server.url, closeTimeout: "Infinity" })
    const closing = yield* Effect.forkChild(opened.close)
    const [peer] = server.peers
    yield* until(() => peer?.closeFrame !== undefined)
    peer?.sendClose(1000)
    yield* until(() => peer?.ended === true)
    yield* Effect.sleep("50 millis")
    assert.isUndefined(closing.pollUnsafe())
    peer?.socket.end()
    yield* Fiber.join(closing)
  }))
