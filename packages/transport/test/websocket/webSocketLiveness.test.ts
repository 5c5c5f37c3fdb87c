import { JsonRpc } from "@effect-mcp/protocol"
import { Transport } from "@effect-mcp/session"
import { WebSocketClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { beside, until } from "../fixtures/httpConnection.ts"
import { tools } from "../support/server.ts"
import { still, turns } from "../support/still.ts"
import * as Frames from "../support/webSocketFrames.ts"
import { dial, listen, type Peer, ping } from "../support/webSocketPeer.ts"
import { reasons, serve } from "../support/webSocketServer.ts"

const silence = /the peer is dead: it sent nothing and answered no ping/

const pings = Frames.opcodes.ping

/** Lets an interval pass, and what comes of it arrive. */
const pass = (count = 1) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => Effect.andThen(TestClock.adjust("15 seconds"), turns(4))
  )

/** Waits until what this peer has written has been read. */
const read = Effect.fnUntraced(function*(peer: Peer | undefined) {
  const pongs = () => peer?.of(Frames.opcodes.pong).length ?? 0
  const before = pongs()
  peer?.frame(pings, "read?")
  yield* until(() => pongs() > before)
})

/** Nobody is given up for want of a handshake here. */
const patient = { session: { limits: { initializeTimeout: "Infinity" } } } as const

describe("a server", () => {
  it.effect("pings a client that says nothing, and gives it up when it does not answer that", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), patient)
      const peer = yield* TestClock.withLive(dial(server))
      yield* pass()
      yield* until(() => peer.of(pings).length === 1)
      assert.deepStrictEqual(peer.of(pings), [{ fin: true, opcode: pings, payload: Buffer.alloc(0) }])
      assert.deepStrictEqual(reasons(server), [])
      yield* pass()
      yield* until(() => peer.gone)
      yield* until(() => reasons(server).length === 1)
      const [reason] = reasons(server)
      assert.match(String(reason?._tag === "TransportFailed" ? reason.cause : ""), silence)
      assert.strictEqual(peer.of(pings).length, 1)
    }))

  it.effect("keeps a client that answers pings", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), patient)
      const peer = yield* TestClock.withLive(dial(server))
      yield* pass()
      yield* until(() => peer.of(pings).length === 1)
      peer.pong()
      yield* read(peer)
      for (let turn = 2; turn <= 5; turn++) {
        // One look sees the answer, and the next one nothing since.
        yield* TestClock.adjust("15 seconds")
        yield* TestClock.adjust("15 seconds")
        yield* until(() => peer.of(pings).length === turn)
        yield* read(peer)
      }
      assert.isFalse(peer.gone)
      assert.deepStrictEqual(reasons(server), [])
    }))

  it.effect("pings nobody who says anything at all", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), patient)
      const peer = yield* TestClock.withLive(dial(server))
      for (let turn = 0; turn < 10; turn++) {
        peer.say(ping(turn))
        yield* until(() => peer.messages.length === turn + 1)
        yield* TestClock.adjust("15 seconds")
      }
      assert.strictEqual(peer.of(pings).length, 0)
      assert.deepStrictEqual(reasons(server), [])
    }))

  it.effect("keeps a client that sends a long message slowly", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), patient)
      const peer = yield* TestClock.withLive(dial(server))
      const frame = Frames.encode(Frames.opcodes.text, JSON.stringify(ping("slow")))
      for (const byte of frame) {
        peer.write(Buffer.from([byte]))
        yield* pass()
      }
      yield* until(() => peer.answer("slow") !== undefined)
    }), 30_000)

  for (const ping of [0, "1 milli"] as const) {
    it.effect(`does not look all the time where it is told ${ping}`, () =>
      Effect.gen(function*() {
        const server = yield* serve(tools({}), { ...patient, webSocket: { pingInterval: ping } })
        const peer = yield* TestClock.withLive(dial(server))
        yield* TestClock.adjust("1 second")
        yield* until(() => peer.of(pings).length === 1)
        peer.pong()
        yield* read(peer)
        yield* TestClock.adjust("1 second")
        assert.isFalse(peer.gone)
        assert.deepStrictEqual(reasons(server), [])
      }))
  }

  it.effect("never looks where it is told so", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), { ...patient, webSocket: { pingInterval: "Infinity" } })
      const peer = yield* TestClock.withLive(dial(server))
      yield* pass(10)
      assert.deepStrictEqual(peer.frames, [])
      assert.isFalse(peer.gone)
    }))
})

const connect = Effect.fnUntraced(function*(url: string) {
  const context = yield* Layer.build(WebSocketClient.layerNode({ url, closeTimeout: "50 millis" }))
  const connection = yield* Context.get(context, Transport.Transport).connect
  const running = yield* beside(connection.run(() => {}))
  return { connection, running }
})

describe("a client", () => {
  it.effect("pings a server that says nothing, and gives it up when it does not answer that", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const { running } = yield* connect(server.url)
      yield* pass()
      const [peer] = server.peers
      yield* until(() => peer?.of(pings).length === 1)
      assert.isUndefined(running.pollUnsafe())
      yield* pass()
      const { reason } = yield* Effect.flip(Fiber.join(running))
      assert.strictEqual(reason._tag, "ReadFailed")
      assert.match(String(reason._tag === "ReadFailed" ? reason.cause : ""), silence)
      yield* until(() => peer?.ended === true || peer?.gone === true)
    }))

  it.effect("says so, too, to whoever waits to be sent", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const { connection } = yield* connect(server.url)
      server.peers[0]?.socket.pause()
      const message = JsonRpc.notification("notifications/message", { data: "x".repeat(100_000) })
      let sent = 0
      const sending = yield* beside(Effect.whileLoop({
        while: () => true,
        body: () => connection.send({ message, replyTo: undefined, last: false }),
        step: () => void sent++
      }))
      yield* still(() => sent)
      yield* pass(2)
      const { reason } = yield* Effect.flip(Fiber.join(sending))
      assert.match(String(reason._tag === "WriteFailed" ? reason.cause : ""), silence)
    }))

  it.effect("keeps a server that answers pings", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      const { running } = yield* connect(server.url)
      const [peer] = server.peers
      yield* pass()
      yield* until(() => peer?.of(pings).length === 1)
      peer?.pong()
      yield* read(peer)
      for (let turn = 2; turn <= 5; turn++) {
        yield* TestClock.adjust("15 seconds")
        yield* TestClock.adjust("15 seconds")
        yield* until(() => peer?.of(pings).length === turn)
        yield* read(peer)
      }
      assert.isUndefined(running.pollUnsafe())
    }))

  it.effect("answers the pings of a server", () =>
    Effect.gen(function*() {
      const server = yield* listen()
      yield* connect(server.url)
      const [peer] = server.peers
      peer?.frame(pings, "there?")
      yield* until(() => peer?.of(Frames.opcodes.pong).length === 1)
      assert.strictEqual(String(peer?.of(Frames.opcodes.pong)[0]?.payload), "there?")
    }))
})
