import { JsonRpc } from "@effect-mcp/protocol"
import { Transport } from "@effect-mcp/session"
import { WebSocketClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { turns, untilStable } from "../support/eventLoop.ts"
import { forkNow, until } from "../support/httpClientConnection.ts"
import { tools } from "../support/server.ts"
import * as Frames from "../support/webSocketFrames.ts"
import { dial, listen, type Peer, ping } from "../support/webSocketPeer.ts"
import { reasons, serve } from "../support/webSocketServer.ts"

const deadPeer = /the peer is dead: it sent nothing and answered no ping/

const pings = Frames.opcodes.ping

/** Advances the clock by an interval, and waits until the messages of the check have arrived. */
const advance = (count = 1) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => Effect.andThen(TestClock.adjust("15 seconds"), turns(4))
  )

/** Waits until the other side has read everything that this peer has written. */
const awaitRead = Effect.fnUntraced(function*(peer: Peer | undefined) {
  const pongs = () => peer?.framesOf(Frames.opcodes.pong).length ?? 0
  const before = pongs()
  peer?.frame(pings, "read?")
  yield* until(() => pongs() > before)
})

/** Sessions without a timeout for the handshake. */
const noInitializeTimeout = { session: { limits: { initializeTimeout: "Infinity" } } } as const

describe("a server", () => {
  it.effect("pings a silent client, and ends its session if no answer arrives", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), noInitializeTimeout)
      const peer = yield* TestClock.withLive(dial(server))
      yield* advance()
      yield* until(() => peer.framesOf(pings).length === 1)
      assert.deepStrictEqual(peer.framesOf(pings), [{ fin: true, opcode: pings, payload: Buffer.alloc(0) }])
      assert.deepStrictEqual(reasons(server), [])
      yield* advance()
      yield* until(() => peer.isClosed)
      yield* until(() => reasons(server).length === 1)
      const [reason] = reasons(server)
      assert.match(String(reason?._tag === "TransportFailed" ? reason.cause : ""), deadPeer)
      assert.strictEqual(peer.framesOf(pings).length, 1)
    }))

  it.effect("keeps the session of a client that answers pings", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), noInitializeTimeout)
      const peer = yield* TestClock.withLive(dial(server))
      yield* advance()
      yield* until(() => peer.framesOf(pings).length === 1)
      peer.answerPings()
      yield* awaitRead(peer)
      for (let turn = 2; turn <= 5; turn++) {
        // The first check sees the answer, and the second one silence.
        yield* TestClock.adjust("15 seconds")
        yield* TestClock.adjust("15 seconds")
        yield* until(() => peer.framesOf(pings).length === turn)
        yield* awaitRead(peer)
      }
      assert.isFalse(peer.isClosed)
      assert.deepStrictEqual(reasons(server), [])
    }))

  it.effect("sends no ping to a client that sends messages", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), noInitializeTimeout)
      const peer = yield* TestClock.withLive(dial(server))
      for (let turn = 0; turn < 10; turn++) {
        peer.send(ping(turn))
        yield* until(() => peer.messages.length === turn + 1)
        yield* TestClock.adjust("15 seconds")
      }
      assert.strictEqual(peer.framesOf(pings).length, 0)
      assert.deepStrictEqual(reasons(server), [])
    }))

  it.effect("keeps the session of a client that sends a message slowly", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), noInitializeTimeout)
      const peer = yield* TestClock.withLive(dial(server))
      const frame = Frames.encode(Frames.opcodes.text, JSON.stringify(ping("slow")))
      for (const byte of frame) {
        peer.write(Buffer.from([byte]))
        yield* advance()
      }
      yield* until(() => peer.responseTo("slow") !== undefined)
    }), 30_000)

  for (const keepAliveInterval of [0, "1 milli"] as const) {
    it.effect(`checks at most once a second with a keepAliveInterval of ${keepAliveInterval}`, () =>
      Effect.gen(function*() {
        const server = yield* serve(tools({}), { ...noInitializeTimeout, webSocket: { keepAliveInterval } })
        const peer = yield* TestClock.withLive(dial(server))
        yield* TestClock.adjust("1 second")
        yield* until(() => peer.framesOf(pings).length === 1)
        peer.answerPings()
        yield* awaitRead(peer)
        yield* TestClock.adjust("1 second")
        assert.isFalse(peer.isClosed)
        assert.deepStrictEqual(reasons(server), [])
      }))
  }

  it.effect("checks nothing with an infinite keepAliveInterval", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), { ...noInitializeTimeout, webSocket: { keepAliveInterval: "Infinity" } })
      const peer = yield* TestClock.withLive(dial(server))
      yield* advance(10)
      assert.deepStrictEqual(peer.frames, [])
      assert.isFalse(peer.isClosed)
    }))
})

const connect = Effect.fnUntraced(function*(url: string) {
  const context = yield* Layer.build(WebSocketClient.layerNode({ url, closeTimeout: "50 millis" }))
  const connection = yield* Context.get(context, Transport.Transport).connect
  const running = yield* forkNow(connection.run(() => {}))
  return { connection, running }
})

describe("a client", () => {
  it.effect("pings a silent server, and fails if no answer arrives", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const { running } = yield* connect(server.url)
      yield* advance()
      const [peer] = server.peers
      yield* until(() => peer?.framesOf(pings).length === 1)
      assert.isUndefined(running.pollUnsafe())
      yield* advance()
      const { reason } = yield* Effect.flip(Fiber.join(running))
      assert.strictEqual(reason._tag, "ReadFailed")
      assert.match(String(reason._tag === "ReadFailed" ? reason.cause : ""), deadPeer)
      yield* until(() => peer?.ended === true || peer?.isClosed === true)
    }))

  it.effect("fails waiting messages with the same reason if the server is dead", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const { connection } = yield* connect(server.url)
      server.peers[0]?.socket.pause()
      const message = JsonRpc.notification("notifications/message", { data: "x".repeat(100_000) })
      let sent = 0
      const sending = yield* forkNow(Effect.whileLoop({
        while: () => true,
        body: () => connection.send({ message, replyTo: undefined, last: false }),
        step: () => void sent++
      }))
      yield* untilStable(() => sent)
      yield* advance(2)
      const { reason } = yield* Effect.flip(Fiber.join(sending))
      assert.match(String(reason._tag === "WriteFailed" ? reason.cause : ""), deadPeer)
    }))

  it.effect("keeps its connection to a server that answers pings", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const { running } = yield* connect(server.url)
      const [peer] = server.peers
      yield* advance()
      yield* until(() => peer?.framesOf(pings).length === 1)
      peer?.answerPings()
      yield* awaitRead(peer)
      for (let turn = 2; turn <= 5; turn++) {
        yield* TestClock.adjust("15 seconds")
        yield* TestClock.adjust("15 seconds")
        yield* until(() => peer?.framesOf(pings).length === turn)
        yield* awaitRead(peer)
      }
      assert.isUndefined(running.pollUnsafe())
    }))

  it.effect("answers the pings of a server", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      yield* connect(server.url)
      const [peer] = server.peers
      peer?.frame(pings, "payload")
      yield* until(() => peer?.framesOf(Frames.opcodes.pong).length === 1)
      assert.strictEqual(String(peer?.framesOf(Frames.opcodes.pong)[0]?.payload), "payload")
    }))
})
