import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { constants } from "node:buffer"
import { until } from "../fixtures/process.ts"
import { text, tools } from "../support/server.ts"
import * as Frames from "../support/webSocketFrames.ts"
import { call, connect, dial, initialize, type Peer, ping } from "../support/webSocketPeer.ts"
import { reasons, serve } from "../support/webSocketServer.ts"

const { binary, close, continuation, ping: pingFrame, pong, text: textFrame } = Frames.opcodes

const echo = tools({
  echo: ({ text: words }) => Effect.succeed(text(String(words))),
  steps: Effect.gen(function*() {
    for (let progress = 1; progress <= 3; progress++) yield* RequestContext.progress({ progress })
    return text("done")
  })
})

const answered = (peer: Peer, id: number | string) => until(() => peer.answer(id) !== undefined || peer.gone)

const bytesOf = (message: unknown): Buffer => Buffer.from(JSON.stringify(message))

/** Says a message in frames of these sizes, and the rest in the last. */
const inFragments = (peer: Peer, message: unknown, ...sizes: ReadonlyArray<number>) => {
  let bytes = bytesOf(message)
  for (const [index, size] of sizes.entries()) {
    peer.frame(index === 0 ? textFrame : continuation, bytes.subarray(0, size), { fin: false })
    bytes = bytes.subarray(size)
  }
  peer.frame(continuation, bytes)
}

describe.concurrent("messages", () => {
  it.live("[TRN-01] go as whole text frames, one message each, and are not masked", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      peer.say(call(1, "steps"))
      yield* answered(peer, 1)
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

  it.live("that come in fragments are joined, also where a character is cut and a ping comes between", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      const words = "Grüße, 世界 🌍"
      const message = call(1, "echo", { text: words })
      const cut = bytesOf(message).indexOf("界") + 1
      inFragments(peer, message, 3, 0, cut - 3)
      const bytes = bytesOf(call(2, "echo", { text: words }))
      peer.frame(textFrame, bytes.subarray(0, 10), { fin: false })
      peer.frame(pingFrame, "amid")
      peer.frame(continuation, bytes.subarray(10))
      yield* answered(peer, 2)
      for (const id of [1, 2]) assert.deepStrictEqual(peer.answer(id)?.result?.["content"], text(words).content)
      assert.deepStrictEqual(peer.of(pong).map(({ payload }) => String(payload)), ["amid"])
    }))

  it.live("that come many in one piece are all read, in order", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      const ids = Array.from({ length: 100 }, (_, index) => index + 1)
      peer.write(Buffer.concat(ids.map((id) => Frames.encode(textFrame, bytesOf(ping(id))))))
      yield* answered(peer, 100)
      assert.deepStrictEqual(peer.messages.slice(1).map(({ id }) => id), ids)
    }))

  it.live("[law 7] that come a byte at a time are read as if they came whole", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      for (const byte of Frames.encode(textFrame, bytesOf(ping("slow")))) {
        peer.write(Buffer.from([byte]))
        yield* Effect.sleep(0)
      }
      yield* answered(peer, "slow")
      assert.isDefined(peer.answer("slow")?.result)
    }))

  it.live("that are binary are read as if they were text", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      peer.frame(binary, bytesOf(call(1, "echo", { text: "ü" })))
      yield* answered(peer, 1)
      assert.deepStrictEqual(peer.answer(1)?.result?.["content"], text("ü").content)
    }))

  it.live("[law 7] that cannot be read cost only themselves", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      peer.frame(textFrame, "no json")
      peer.say(ping(1))
      peer.frame(textFrame, "")
      peer.frame(binary, Buffer.from([0x22, 0xFF, 0x22]))
      peer.say(ping(2))
      yield* answered(peer, 2)
      assert.isDefined(peer.answer(1)?.result)
      assert.deepStrictEqual(
        server.events.flatMap((event) => event._tag === "BadFrame" ? [event.error] : []),
        [
          { _tag: "NotJson", text: "no json" },
          { _tag: "NotJson", text: "" },
          { _tag: "NotJson", text: "\"\uFFFD\"" }
        ]
      )
      assert.strictEqual(peer.messages.filter(({ error }) => error?.code === -32700).length, 3)
    }))

  it.live("[law 7] that are too long cost only themselves, whole and in fragments", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo, { webSocket: { maxMessageBytes: 1000, maxPayloadBytes: 10_000 } })
      const peer = yield* connect(server)
      const long = call(1, "echo", { text: "x".repeat(5000) })
      peer.say(long)
      peer.say(ping(2))
      inFragments(peer, { ...long, id: 3 }, 900, 900, 900)
      const exact = call(4, "echo", { text: "" })
      const room = 1000 - bytesOf(exact).length
      peer.say(call(4, "echo", { text: "x".repeat(room) }))
      peer.say(call(5, "echo", { text: `ü${"x".repeat(room - 1)}` }))
      peer.say(ping(6))
      yield* answered(peer, 6)
      assert.deepStrictEqual(
        [1, 2, 3, 4, 5, 6].map((id) => peer.answer(id)?.result !== undefined),
        [false, true, false, true, false, true]
      )
      assert.deepStrictEqual(
        server.events.flatMap((event) => event._tag === "BadFrame" ? [event.error] : []),
        [1, 3, 5].map(() => ({ _tag: "TooLarge" as const, limitBytes: 1000 }))
      )
    }))
})

/** Numbers that look like chance, and are the same each time. */
const chance = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

describe.concurrent("whatever is cut", () => {
  it.live("[law 7] into any frames and any pieces says the same", () =>
    Effect.gen(function*() {
      const next = chance(7)
      const server = yield* serve(echo)
      const peer = yield* connect(server)
      const words = Array.from({ length: 40 }, () => "aü世🌍".repeat(Math.floor(next() * 40)))
      const stream = Buffer.concat(words.flatMap((word, id) => {
        const bytes = bytesOf(call(id + 1, "echo", { text: word }))
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
      yield* until(() => peer.messages.length > words.length || peer.gone)
      for (const [index, word] of words.entries()) {
        assert.deepStrictEqual(peer.answer(index + 1)?.result?.["content"], text(word).content)
      }
    }))

  it.live("or is no WebSocket at all, it harms nobody else", () =>
    Effect.gen(function*() {
      const next = chance(11)
      const server = yield* serve(echo)
      const other = yield* connect(server)
      const peers = yield* Effect.forEach(Array.from({ length: 40 }), () => connect(server))
      for (const [index, peer] of peers.entries()) {
        const noise = Buffer.from(Array.from({ length: 300 }, () => Math.floor(next() * 256)))
        // Some of it begins as what would be allowed.
        if (index % 2 === 0) noise[0] = 0x80 | (noise[0] ?? 0) & 0xF
        if (index % 4 === 0) noise[1] = 0x80 | (noise[1] ?? 0)
        peer.write(noise)
        peer.socket.end()
      }
      yield* until(() => peers.every(({ gone }) => gone))
      other.say(ping(1))
      yield* answered(other, 1)
      assert.isDefined(other.answer(1)?.result)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 1 })
      assert.deepStrictEqual(server.logs, [])
    }))
})

describe.concurrent("initialize", () => {
  it.live("that is too long is not taken, and the next one is", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const peer = yield* dial(server)
      const { params, ...message } = initialize("long")
      peer.say({ ...message, params: { ...params, clientInfo: { name: "x".repeat(70_000), version: "1.0.0" } } })
      peer.say(initialize("short"))
      yield* answered(peer, "short")
      assert.isUndefined(peer.answer("long"))
      assert.isDefined(peer.answer("short")?.result)
      assert.deepStrictEqual(
        server.events.flatMap((event) => event._tag === "BadFrame" ? [event.error] : []),
        [{ _tag: "TooLarge", limitBytes: 64 * 1024 }]
      )
      // Nothing else is bounded like that.
      peer.say(call(1, "echo", { text: "x".repeat(70_000) }))
      yield* answered(peer, 1)
      assert.isDefined(peer.answer(1)?.result)
    }))
})

describe.concurrent("the connection is closed", () => {
  const broken: ReadonlyArray<readonly [name: string, code: number, words: RegExp, act: (peer: Peer) => void]> = [
    [
      "by a message beyond what is received at all",
      1009,
      /Max payload size exceeded/,
      (peer) => peer.frame(textFrame, Buffer.alloc(10_001, "x"))
    ],
    ["by fragments that are too long together", 1009, /Max payload size exceeded/, (peer) => {
      peer.frame(textFrame, Buffer.alloc(6000, "x"), { fin: false })
      peer.frame(continuation, Buffer.alloc(6000, "x"))
    }],
    [
      "by the mere announcement of a message that is too long",
      1009,
      /Max payload size exceeded/,
      (peer) => peer.write(Frames.encode(textFrame, Buffer.alloc(100_000)).subarray(0, 14))
    ],
    ["by text that is no UTF-8", 1007, /invalid UTF-8/, (peer) => peer.frame(textFrame, Buffer.from([0xC3, 0x28]))],
    [
      "by a frame that is not masked",
      1002,
      /MASK must be set/,
      (peer) => peer.frame(textFrame, "{}", { masked: false })
    ],
    ["by a fragment of nothing", 1002, /invalid opcode/, (peer) => peer.frame(continuation, "{}")],
    ["by an unknown kind of frame", 1002, /invalid opcode/, (peer) => peer.frame(0x3, "{}")],
    ["by a close frame with a code that must not be sent", 1002, /invalid status code/, (peer) => peer.leave(1006)]
  ]
  for (const [name, code, words, act] of broken) {
    it.live(`with ${code} ${name}, and what came before has been read`, () =>
      Effect.gen(function*() {
        const server = yield* serve(echo, { webSocket: { maxMessageBytes: 1000, maxPayloadBytes: 10_000 } })
        const peer = yield* connect(server)
        peer.say(call(1, "echo", { text: "before" }))
        yield* answered(peer, 1)
        act(peer)
        peer.say(ping("behind"))
        yield* until(() => peer.gone)
        assert.strictEqual(peer.farewell?.code, code)
        assert.strictEqual(peer.of(close).length, 1)
        assert.isUndefined(peer.answer("behind"))
        yield* until(() => reasons(server).length === 1)
        const [reason] = reasons(server)
        assert.strictEqual(reason?._tag, "TransportFailed")
        assert.match(String(reason?._tag === "TransportFailed" ? reason.cause : ""), words)
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  it.live("with 1009 by what would not fit into a string, though it be said that anything may come", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo, { webSocket: { maxMessageBytes: Number.POSITIVE_INFINITY } })
      const peer = yield* dial(server)
      peer.write(Frames.announcement(textFrame, constants.MAX_STRING_LENGTH + 1, true))
      yield* until(() => peer.gone)
      assert.strictEqual(peer.farewell?.code, 1009)
    }))

  it.live("by none of this of another client's", () =>
    Effect.gen(function*() {
      const server = yield* serve(echo)
      const other = yield* connect(server)
      const peer = yield* dial(server)
      peer.say(initialize())
      peer.frame(textFrame, Buffer.from([0xFF]))
      yield* until(() => peer.gone)
      other.say(ping(1))
      yield* answered(other, 1)
      assert.isDefined(other.answer(1)?.result)
    }))
})
