import { type CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { WebSocketClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import { constants } from "node:buffer"
import { beside, until } from "../../fixtures/httpConnection.ts"
import { clients, open, read } from "../../support/webSocketClient.ts"
import * as Frames from "../../support/webSocketFrames.ts"
import { listen, ping } from "../../support/webSocketPeer.ts"

const farewells: ReadonlyArray<readonly [reason: CloseReason.CloseReason | undefined, code: number, words: string]> = [
  [undefined, 1000, "the client has closed the session"],
  [{ _tag: "Requested" }, 1000, "the client has closed the session"],
  [{ _tag: "HandshakeFailed", problem: "no common revision" }, 4000, "the handshake failed: no common revision"],
  [{ _tag: "HandshakeTimeout", afterMillis: 7 }, 4001, "the handshake did not finish within 7 ms"],
  [{ _tag: "Expired", afterMillis: 7, of: "idle" }, 4002, "expired: unused for 7 ms"],
  [{ _tag: "PeerStalled", afterMillis: 7 }, 4003, "the peer took no bytes for 7 ms"],
  [
    { _tag: "RepliesOverflow", waiting: 7, bytes: 700, limit: "maxOutgoingBytes" },
    4004,
    "the peer kept sending requests while 7 replies of 700 bytes waited for it (limit: maxOutgoingBytes)"
  ],
  [{ _tag: "TransportFailed", cause: new Error("a secret of this side") }, 4005, "the transport failed"]
]

for (const [name, layer] of Object.entries(clients)) {
  describe(`a client ${name}`, () => {
    for (const [reason, code, words] of farewells) {
      it.live(`closes with ${code} for ${reason?._tag ?? "no reason in particular"}`, () =>
        Effect.gen(function*() {
          const server = yield* listen()
          const opened = yield* open(layer, { url: server.url })
          yield* read(opened)
          if (reason !== undefined) opened.connection.onSessionEnd?.(reason)
          yield* opened.leave
          const [peer] = server.peers
          yield* until(() => peer?.farewell !== undefined)
          assert.deepStrictEqual(peer?.farewell, { code, reason: words })
        }))
    }

    it.live("says as much about it as there is room for", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const opened = yield* open(layer, { url: server.url })
        opened.connection.onSessionEnd?.({ _tag: "HandshakeFailed", problem: "🌍".repeat(100) })
        yield* opened.leave
        yield* until(() => server.peers[0]?.farewell !== undefined)
        // 123 bytes, but for what would be part of a character.
        assert.strictEqual(server.peers[0]?.farewell?.reason, `the handshake failed: ${"🌍".repeat(25)}`)
      }))

    it.live("waits for the server's close frame, and then lets go", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const opened = yield* open(layer, { url: server.url, closeTimeout: "10 seconds" })
        const leaving = yield* Effect.forkChild(opened.leave)
        const [peer] = server.peers
        yield* until(() => peer?.farewell !== undefined)
        assert.isUndefined(leaving.pollUnsafe())
        peer?.leave(1000)
        peer?.socket.end()
        yield* Fiber.join(leaving)
        yield* until(() => peer?.gone === true)
        assert.strictEqual(peer?.of(Frames.opcodes.close).length, 1)
      }))

    it.live("takes the server's close frame though much comes before it that nobody reads", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const opened = yield* open(layer, { url: server.url, closeTimeout: "10 seconds" })
        const [peer] = server.peers
        for (let id = 0; id < 300; id++) peer?.say({ ...ping(id), params: { padding: "x".repeat(10_000) } })
        const leaving = yield* Effect.forkChild(opened.leave)
        yield* until(() => peer?.farewell !== undefined)
        peer?.leave(1000)
        peer?.socket.end()
        yield* Fiber.join(leaving)
      }))

    for (
      const [code, words] of [[1000, ""], [1001, "going"], [undefined, ""]] as const
    ) {
      it.live(`a server that closes with ${code ?? "no code"} has ended the connection in good order`, () =>
        Effect.gen(function*() {
          const server = yield* listen()
          const { running } = yield* read(yield* open(layer, { url: server.url }))
          const [peer] = server.peers
          peer?.leave(code, words)
          yield* until(() => peer?.farewell !== undefined)
          peer?.socket.end()
          assert.deepStrictEqual(yield* Fiber.join(running), { exit: undefined, writable: false })
        }))
    }

    it.live("a server that closes with another code has failed, and it is said how", () =>
      Effect.gen(function*() {
        for (
          const [code, reason, problem] of [
            [1008, "", "the peer closed the connection with code 1008 (policy violation)"],
            [4002, "expired", "the peer closed the connection with code 4002 (Expired): expired"],
            [4999, "why not", "the peer closed the connection with code 4999: why not"]
          ] as const
        ) {
          const server = yield* listen()
          const { running } = yield* read(yield* open(layer, { url: server.url }))
          const [peer] = server.peers
          peer?.leave(code, reason)
          yield* until(() => peer?.farewell !== undefined)
          peer?.socket.end()
          const { message } = yield* Effect.flip(Fiber.join(running))
          assert.strictEqual(message, `reading from the peer failed: ${problem}`)
        }
      }))

    it.live("what is sent behind a server's close frame waits, and fails with why the server has closed", () =>
      Effect.gen(function*() {
        for (
          const [code, words] of [[1000, /the peer ended the connection/], [4002, /code 4002 \(Expired\)/]] as const
        ) {
          const server = yield* listen()
          const opened = yield* open(layer, { url: server.url })
          const { running } = yield* read(opened)
          const [peer] = server.peers
          peer?.leave(code)
          yield* until(() => peer?.farewell !== undefined)
          const sending = yield* beside(opened.send(JsonRpc.request(1, "ping", undefined)))
          peer?.socket.end()
          yield* Effect.exit(Fiber.join(running))
          assert.match((yield* Effect.flip(Fiber.join(sending))).message, words)
        }
      }))

    it.live("[law 1] a server that is gone without a word has failed", () =>
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

    it.live("reads fragments, and what is binary; what cannot be read costs only itself", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const { inbound, frames } = yield* read(yield* open(layer, { url: server.url, maxMessageBytes: 1000 }))
        const [peer] = server.peers
        const { binary, continuation, text } = Frames.opcodes
        peer?.frame(text, "{\"a\":", { fin: false })
        peer?.frame(continuation, "\"ü\"}")
        peer?.frame(binary, "[1]")
        peer?.frame(text, "no json")
        peer?.frame(text, JSON.stringify("x".repeat(2000)))
        peer?.frame(text, "2")
        yield* until(() => frames().length === 5)
        assert.deepStrictEqual(frames(), [
          { a: "ü" },
          [1],
          { _tag: "NotJson", text: "no json" },
          { _tag: "TooLarge", limitBytes: 1000 },
          2
        ])
        assert.deepStrictEqual(inbound.map(({ bytes }) => bytes), [10, 3, 7, 2002, 1])
        assert.isTrue(inbound.every(({ frame, origin }) => origin === undefined && Result.isResult(frame)))
      }))

    it.live("[law 2] once it has left there is no connection, whoever has closed it", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const one = yield* open(layer, { url: server.url })
        const two = yield* open(layer, { url: server.url })
        const { running } = yield* read(two)
        const [first, second] = server.peers
        second?.leave(1000)
        second?.socket.end()
        yield* Fiber.join(running)
        yield* Effect.all([one.leave, two.leave], { concurrency: 2 })
        first?.leave(1000)
        for (const peer of server.peers) peer.socket.end()
        yield* until(() => server.peers.every(({ gone }) => gone))
        assert.isTrue(Exit.isExit(running.pollUnsafe()))
      }))
  })
}

describe("a client on Node", () => {
  it.live("closes with 1009 where a message is beyond what is received at all", () =>
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
      yield* until(() => peer?.farewell !== undefined)
      assert.strictEqual(peer?.farewell?.code, 1009)
    }))

  it.live("closes with 1009 where a message would not fit into a string, though it be said that anything may come", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      yield* read(
        yield* open(WebSocketClient.layerNode, { url: server.url, maxMessageBytes: Number.POSITIVE_INFINITY })
      )
      const [peer] = server.peers
      peer?.write(Frames.announcement(Frames.opcodes.text, constants.MAX_STRING_LENGTH + 1, false))
      yield* until(() => peer?.farewell !== undefined)
      assert.strictEqual(peer?.farewell?.code, 1009)
    }))

  it.live("closes with 1007 where text is no UTF-8", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const { running } = yield* read(yield* open(WebSocketClient.layerNode, server))
      const [peer] = server.peers
      peer?.frame(Frames.opcodes.text, Buffer.from([0xFF]))
      assert.match((yield* Effect.flip(Fiber.join(running))).message, /invalid UTF-8/)
      yield* until(() => peer?.farewell !== undefined)
      assert.strictEqual(peer?.farewell?.code, 1007)
    }))

  it.live("cuts the connection off where the server does not answer its close frame", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const opened = yield* open(WebSocketClient.layerNode, server)
      yield* opened.leave
      const [peer] = server.peers
      yield* until(() => peer?.ended === true || peer?.gone === true)
      assert.strictEqual(peer?.farewell?.code, 1000)
    }))
})

it.live("a client on Node waits as long as it was told to for a server that does not let go", () =>
  Effect.gen(function*() {
    const server = yield* listen()
    const opened = yield* open(WebSocketClient.layerNode, { url: server.url, closeTimeout: "Infinity" })
    const leaving = yield* Effect.forkChild(opened.leave)
    const [peer] = server.peers
    yield* until(() => peer?.farewell !== undefined)
    peer?.leave(1000)
    yield* until(() => peer?.ended === true)
    yield* Effect.sleep("50 millis")
    assert.isUndefined(leaving.pollUnsafe())
    peer?.socket.end()
    yield* Fiber.join(leaving)
  }))
