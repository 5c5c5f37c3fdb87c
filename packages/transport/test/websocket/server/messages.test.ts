import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { constants } from "node:buffer"
import { until } from "../../support/process.ts"
import { text, tools } from "../../support/server.ts"
import * as Frames from "../../support/webSocketFrames.ts"
import { call, connect, dial, initialize, type Peer, ping } from "../../support/webSocketPeer.ts"
import { reasons, serve } from "../../support/webSocketServer.ts"

const { binary, close, continuation, ping: pingFrame, pong, text: textFrame } = Frames.opcodes

const echo = tools({
  echo: ({ text: value }) => Effect.succeed(text(String(value))),
  steps: Effect.gen(function*() {
    for (let progress = 1; progress <= 3; progress++) yield* RequestContext.progress({ progress })
    return text("done")
  })
})

const awaitResponse = (peer: Peer, id: number | string) =>
  until(() => peer.responseTo(id) !== undefined || peer.isClosed)

const bytesOf = (message: unknown): Buffer => Buffer.from(JSON.stringify(message))

/** Sends a message in frames of these sizes, and one with the rest. */
const sendFragments = (peer: Peer, message: unknown, ...sizes: ReadonlyArray<number>) => {
  let bytes = bytesOf(message)
  for (const [index, size] of sizes.entries()) {
    peer.frame(index === 0 ? textFrame : continuation, bytes.subarray(0, size), { fin: false })
    bytes = bytes.subarray(size)
  }
  peer.frame(continuation, bytes)
}

describe.concurrent("messages", () => {
  it.live("[TRN-01] are sent as unmasked text frames, one for each message", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      peer.send(call(1, "steps"))
      yield* awaitResponse(peer, 1)
      assert.isTrue(peer.frames.every(({ fin, opcode }) => fin && opcode === textFrame))
      assert.deepStrictEqual(
        peer.messages.slice(1).map(({ id, method, params }) => [id, method, params?.["progress"]]),
        [
          [undefined, "notifications/progress", 1],
          [undefined, "notifications/progress", 2],
          [undefined, "notifications/progress", 3],
          [1, undefined, undefined]
        ]
      )
    }))

  it.live("in fragments are joined, also if a character is split or a ping is between them", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      const value = "Grüße, 世界 🌍"
      const message = call(1, "echo", { text: value })
      const cut = bytesOf(message).indexOf("界") + 1
      sendFragments(peer, message, 3, 0, cut - 3)
      const bytes = bytesOf(call(2, "echo", { text: value }))
      peer.frame(textFrame, bytes.subarray(0, 10), { fin: false })
      peer.frame(pingFrame, "between")
      peer.frame(continuation, bytes.subarray(10))
      yield* awaitResponse(peer, 2)
      for (const id of [1, 2]) assert.deepStrictEqual(peer.responseTo(id)?.result?.["content"], text(value).content)
      assert.deepStrictEqual(peer.framesOf(pong).map(({ payload }) => String(payload)), ["between"])
    }))

  it.live("of one TCP write are all read, in order", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      const ids = Array.from({ length: 100 }, (_, index) => index + 1)
      peer.write(Buffer.concat(ids.map((id) => Frames.encode(textFrame, bytesOf(ping(id))))))
      yield* awaitResponse(peer, 100)
      assert.deepStrictEqual(peer.messages.slice(1).map(({ id }) => id), ids)
    }))

  it.live("[law 7] that arrive one byte at a time are read", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      for (const byte of Frames.encode(textFrame, bytesOf(ping("slow")))) {
        peer.write(Buffer.from([byte]))
        yield* Effect.sleep(0)
      }
      yield* awaitResponse(peer, "slow")
      assert.isDefined(peer.responseTo("slow")?.result)
    }))

  it.live("in binary frames are read like text", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      peer.frame(binary, bytesOf(call(1, "echo", { text: "ü" })))
      yield* awaitResponse(peer, 1)
      assert.deepStrictEqual(peer.responseTo(1)?.result?.["content"], text("ü").content)
    }))

  it.live("[law 7] that are not JSON or not UTF-8 are rejected, and the next one is served", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      peer.frame(textFrame, "not json")
      peer.send(ping(1))
      peer.frame(textFrame, "")
      peer.frame(binary, Buffer.from([0x22, 0xFF, 0x22]))
      peer.send(ping(2))
      yield* awaitResponse(peer, 2)
      assert.isDefined(peer.responseTo(1)?.result)
      assert.deepStrictEqual(
        server.events.flatMap((event) => event._tag === "BadFrame" ? [event.error] : []),
        [
          { _tag: "NotJson", text: "not json" },
          { _tag: "NotJson", text: "" },
          { _tag: "NotJson", text: "\"\uFFFD\"" }
        ]
      )
      assert.strictEqual(peer.messages.filter(({ error }) => error?.code === -32700).length, 3)
    }))

  it.live("[law 7] above maxMessageBytes are rejected, whole or in fragments, and the next one is served", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo, { webSocket: { maxMessageBytes: 1000, maxPayloadBytes: 10_000 } })
      const peer = yield* connect(server)
      const long = call(1, "echo", { text: "x".repeat(5000) })
      peer.send(long)
      peer.send(ping(2))
      sendFragments(peer, { ...long, id: 3 }, 900, 900, 900)
      const exact = call(4, "echo", { text: "" })
      const room = 1000 - bytesOf(exact).length
      peer.send(call(4, "echo", { text: "x".repeat(room) }))
      peer.send(call(5, "echo", { text: `ü${"x".repeat(room - 1)}` }))
      peer.send(ping(6))
      yield* awaitResponse(peer, 6)
      assert.deepStrictEqual(
        [1, 2, 3, 4, 5, 6].map((id) => peer.responseTo(id)?.result !== undefined),
        [false, true, false, true, false, true]
      )
      assert.deepStrictEqual(
        server.events.flatMap((event) => event._tag === "BadFrame" ? [event.error] : []),
        [1, 3, 5].map(() => ({ _tag: "TooLarge" as const, limitBytes: 1000 }))
      )
    }))
})

/** Returns a generator of pseudo-random numbers, which a seed reproduces. */
const randomNumbers = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

describe.concurrent("random input", () => {
  it.live("[law 7] of messages in frames and writes of any size is read correctly", () =>
    Effect.gen(function*() {
      const next = randomNumbers(7)
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      const values = Array.from({ length: 40 }, () => "aü世🌍".repeat(Math.floor(next() * 40)))
      const stream = Buffer.concat(values.flatMap((value, id) => {
        const bytes = bytesOf(call(id + 1, "echo", { text: value }))
        const frames: Array<Buffer> = []
        for (let at = 0; at < bytes.length || frames.length === 0;) {
          const size = Math.floor(next() * 60)
          const fin = at + size >= bytes.length
          frames.push(
            Frames.encode(at === 0 && frames.length === 0 ? textFrame : continuation, bytes.subarray(at, at + size), {
              fin
            })
          )
          if (next() < 0.1) frames.push(Frames.encode(pingFrame, "?"))
          if (fin) break
          at += size
        }
        return frames
      }))
      for (let at = 0; at < stream.length;) {
        const size = 1 + Math.floor(next() * 200)
        peer.write(stream.subarray(at, at + size))
        at += size
        if (next() < 0.2) yield* Effect.sleep(0)
      }
      yield* until(() => peer.messages.length > values.length || peer.isClosed)
      for (const [index, value] of values.entries()) {
        assert.deepStrictEqual(peer.responseTo(index + 1)?.result?.["content"], text(value).content)
      }
    }))

  it.live("that is not a WebSocket does not affect other clients", () =>
    Effect.gen(function*() {
      const next = randomNumbers(11)
      const server = yield* serve(echo)
      const other = yield* connect(server)
      const peers = yield* Effect.forEach(Array.from({ length: 40 }), () => connect(server))
      for (const [index, peer] of peers.entries()) {
        const noise = Buffer.from(Array.from({ length: 300 }, () => Math.floor(next() * 256)))
        // Some of it begins like a valid frame.
        if (index % 2 === 0) noise[0] = 0x80 | (noise[0] ?? 0) & 0xF
        if (index % 4 === 0) noise[1] = 0x80 | (noise[1] ?? 0)
        peer.write(noise)
        peer.socket.end()
      }
      yield* until(() => peers.every(({ isClosed }) => isClosed))
      other.send(ping(1))
      yield* awaitResponse(other, 1)
      assert.isDefined(other.responseTo(1)?.result)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 1 })
      assert.deepStrictEqual(server.logs, [])
    }))
})

describe.concurrent("an initialize request", () => {
  it.live("above 64 KiB is rejected, and a smaller one is accepted then", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* dial(server)
      const { params, ...message } = initialize("long")
      peer.send({ ...message, params: { ...params, clientInfo: { name: "x".repeat(70_000), version: "1.0.0" } } })
      peer.send(initialize("short"))
      yield* awaitResponse(peer, "short")
      assert.isUndefined(peer.responseTo("long"))
      assert.isDefined(peer.responseTo("short")?.result)
      assert.deepStrictEqual(
        server.events.flatMap((event) => event._tag === "BadFrame" ? [event.error] : []),
        [{ _tag: "TooLarge", limitBytes: 64 * 1024 }]
      )
      // This limit holds for no other message.
      peer.send(call(1, "echo", { text: "x".repeat(70_000) }))
      yield* awaitResponse(peer, 1)
      assert.isDefined(peer.responseTo(1)?.result)
    }))
})

describe.concurrent("a server closes the connection", () => {
  const violations: ReadonlyArray<readonly [name: string, code: number, problem: RegExp, act: (peer: Peer) => void]> = [
    [
      "after a message above maxPayloadBytes",
      1009,
      /Max payload size exceeded/,
      (peer) => peer.frame(textFrame, Buffer.alloc(10_001, "x"))
    ],
    ["after fragments that together exceed maxPayloadBytes", 1009, /Max payload size exceeded/, (peer) => {
      peer.frame(textFrame, Buffer.alloc(6000, "x"), { fin: false })
      peer.frame(continuation, Buffer.alloc(6000, "x"))
    }],
    [
      "after the header of a message above maxPayloadBytes",
      1009,
      /Max payload size exceeded/,
      (peer) => peer.write(Frames.encode(textFrame, Buffer.alloc(100_000)).subarray(0, 14))
    ],
    ["after text that is not UTF-8", 1007, /invalid UTF-8/, (peer) => peer.frame(textFrame, Buffer.from([0xC3, 0x28]))],
    [
      "after a frame that is not masked",
      1002,
      /MASK must be set/,
      (peer) => peer.frame(textFrame, "{}", { masked: false })
    ],
    [
      "after a continuation frame without a first one",
      1002,
      /invalid opcode/,
      (peer) => peer.frame(continuation, "{}")
    ],
    ["after a frame with an unknown opcode", 1002, /invalid opcode/, (peer) => peer.frame(0x3, "{}")],
    ["after a close frame with an invalid code", 1002, /invalid status code/, (peer) => peer.sendClose(1006)]
  ]
  for (const [name, code, problem, act] of violations) {
    it.live(`with ${code} ${name}, and serves the messages before it`, () =>
      Effect.gen(function*() {
        const server = yield* serve(echo, { webSocket: { maxMessageBytes: 1000, maxPayloadBytes: 10_000 } })
        const peer = yield* connect(server)
        peer.send(call(1, "echo", { text: "before" }))
        yield* awaitResponse(peer, 1)
        act(peer)
        peer.send(ping("last"))
        yield* until(() => peer.isClosed)
        assert.strictEqual(peer.closeFrame?.code, code)
        assert.strictEqual(peer.framesOf(close).length, 1)
        assert.isUndefined(peer.responseTo("last"))
        yield* until(() => reasons(server).length === 1)
        const [reason] = reasons(server)
        assert.strictEqual(reason?._tag, "TransportFailed")
        assert.match(String(reason?._tag === "TransportFailed" ? reason.cause : ""), problem)
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  it.live("with 1009 after a message above the longest string, also with an infinite maxMessageBytes", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo, { webSocket: { maxMessageBytes: Number.POSITIVE_INFINITY } })
      const peer = yield* dial(server)
      peer.write(Frames.headerOf(textFrame, constants.MAX_STRING_LENGTH + 1, true))
      yield* until(() => peer.isClosed)
      assert.strictEqual(peer.closeFrame?.code, 1009)
    }))

  it.live("of the violating client only", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const other = yield* connect(server)
      const peer = yield* dial(server)
      peer.send(initialize())
      peer.frame(textFrame, Buffer.from([0xFF]))
      yield* until(() => peer.isClosed)
      other.send(ping(1))
      yield* awaitResponse(other, 1)
      assert.isDefined(other.responseTo(1)?.result)
    }))
})
