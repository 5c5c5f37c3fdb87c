import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { RequestContext, ServerSession, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import { call, info, recorder, settled, start, text, tools, upTo } from "./support/sessions.ts"

/** A server's end with a stream for each origin, any of which can be made to stall. */
const streams = () => {
  const sent: Array<readonly [Transport.StreamOrigin | undefined, JsonRpc.Frame]> = []
  const stubborn = new Set<Transport.StreamOrigin>()
  const stalled = new Map<Transport.StreamOrigin, Deferred.Deferred<void>>()
  let bring: (inbound: Transport.Inbound) => void = () => {}
  let abandon: (origin: Transport.StreamOrigin) => void = () => {}
  const settledOrigins: Array<Transport.StreamOrigin> = []
  const brokenOff: Array<Transport.StreamOrigin | undefined> = []
  const standalone = {}
  const transport: Transport.Transport["Service"] = {
    connect: Effect.succeed({
      run: (deliver, hooks) => {
        bring = deliver
        abandon = hooks?.abandon ?? abandon
        return Effect.never
      },
      send: ({ message, replyTo }) => {
        const gate = stalled.get(replyTo ?? standalone)
        const note = Effect.sync(() => void sent.push([replyTo, message]))
        if (gate === undefined) return note
        const waiting = Effect.andThen(Deferred.await(gate), note)
        return stubborn.has(replyTo ?? standalone) ? Effect.uninterruptible(waiting) : waiting
      },
      stalled: (origin) => void brokenOff.push(origin),
      endExchange: (origin) => void settledOrigins.push(origin)
    })
  }
  return {
    transport,
    sent,
    settled: settledOrigins,
    brokenOff,
    /** The name of the standalone stream. */
    standalone,
    /** What is sent on this stream cannot be interrupted. */
    makeStubborn: (origin: Transport.StreamOrigin) => void stubborn.add(origin),
    stall: (origin: Transport.StreamOrigin) => void stalled.set(origin, Deferred.makeUnsafe()),
    recover: (origin: Transport.StreamOrigin) => {
      const gate = stalled.get(origin)
      stalled.delete(origin)
      return gate === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(gate, undefined))
    },
    bring: (message: JsonRpc.Message, origin: Transport.StreamOrigin) =>
      bring({ frame: Result.succeed(message), origin }),
    abandon: (origin: Transport.StreamOrigin) => abandon(origin),
    sentTo: (origin: Transport.StreamOrigin) => sent.flatMap(([replyTo, frame]) => replyTo === origin ? [frame] : [])
  }
}

const initialize = JsonRpc.request("hello", "initialize", {
  protocolVersion: Revision.latest,
  capabilities: {},
  clientInfo: info
})

const open = Effect.fnUntraced(function*(options: Partial<ServerSession.Options> = {}) {
  const peer = streams()
  const record = recorder()
  let interrupted = 0
  const session = yield* ServerSession.make(
    tools({
      unit: Effect.succeed(text("unit")),
      wait: Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++)),
      big: Effect.succeed(text("x".repeat(10_000))),
      chatter: Effect.as(
        Effect.forEach([1, 2, 3, 4], (data) => RequestContext.log({ level: "info", data }), { discard: true }),
        text("chatter")
      )
    }),
    { info, capabilities: { logging: {} }, observe: record.observe, ...options }
  ).pipe(Effect.provideService(Transport.Transport, peer.transport))
  yield* settled
  peer.bring(initialize, {})
  return { peer, record, session, interrupted: () => interrupted }
})

describe("a transport with a stream for each request", () => {
  it.effect("law 12: a stream that takes nothing holds up no other", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open({ limits: { maxOutgoingMessages: 2 } })
      const [slow, quick] = [{}, {}]
      peer.stall(slow)
      peer.bring(call(1, "chatter"), slow)
      yield* settled
      peer.bring(call(2, "chatter"), quick)
      peer.bring(call(3, "unit"), quick)
      yield* settled
      assert.lengthOf(peer.sentTo(slow), 0)
      assert.lengthOf(peer.sentTo(quick), 6)
      yield* peer.recover(slow)
      yield* settled
      assert.deepStrictEqual(
        peer.sentTo(slow).map((frame) => "method" in frame ? frame.params?.["data"] : "reply"),
        [1, 2, 3, 4, "reply"]
      )
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("law 12: a stream that takes nothing for the write timeout is given up, and the session goes on", () =>
    Effect.gen(function*() {
      const { peer, record, session } = yield* open()
      const [slow, quick] = [{}, {}]
      peer.stall(slow)
      peer.bring(call(1, "unit"), slow)
      yield* TestClock.adjust("10 seconds")
      peer.bring(call(2, "unit"), quick)
      yield* TestClock.adjust(19_999)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      assert.deepStrictEqual(peer.brokenOff, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.strictEqual(peer.brokenOff[0], slow)
      assert.deepStrictEqual(record.of("SendFailed").map(({ error }) => error.reason), [
        { _tag: "StreamStalled", afterMillis: 30_000 }
      ])
      assert.strictEqual((yield* session.state)._tag, "Operating")
      // The id is free again, and so is the way.
      yield* peer.recover(slow)
      peer.bring(call(1, "unit"), slow)
      yield* settled
      assert.deepStrictEqual([peer.sentTo(slow).length, peer.sentTo(quick).length], [1, 1])
    }))

  it.effect("law 12: what waits on it behind the message that is given up has its own time", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open()
      const slow = {}
      peer.stall(slow)
      peer.bring(call(1, "chatter"), slow)
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(peer.brokenOff, [slow])
      yield* peer.recover(slow)
      yield* settled
      assert.deepStrictEqual(
        peer.sentTo(slow).map((frame) => "method" in frame ? frame.params?.["data"] : "reply"),
        [2, 3, 4, "reply"]
      )
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("law 12: the standalone stream is given up alone, too", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open()
      peer.stall(peer.standalone)
      const ping = yield* start(Effect.flip(session.ping({ timeout: "Infinity" })))
      yield* TestClock.adjust("30 seconds")
      const { reason } = yield* Fiber.join(ping)
      assert.strictEqual(reason._tag === "SendFailed" && reason.error.reason._tag, "StreamStalled")
      assert.deepStrictEqual(peer.brokenOff, [undefined])
      const origin = {}
      peer.bring(call(1, "unit"), origin)
      yield* settled
      assert.lengthOf(peer.sentTo(origin), 1)
    }))

  it.effect("laws 2 and 12: if what is given up cannot be interrupted, all that takes the same way fails until it has ended", () =>
    Effect.gen(function*() {
      const { peer, record, session } = yield* open()
      const [slow, quick] = [{}, {}]
      peer.makeStubborn(slow)
      peer.stall(slow)
      peer.bring(call(1, "chatter"), slow)
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.strictEqual(record.of("SendFailed").length, 5)
      peer.bring(call(2, "unit"), slow)
      peer.bring(call(3, "unit"), quick)
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.strictEqual(record.of("SendFailed").length, 6)
      assert.lengthOf(peer.sentTo(quick), 1)
      yield* peer.recover(slow)
      yield* settled
      peer.bring(call(4, "unit"), slow)
      yield* settled
      assert.deepStrictEqual(peer.sentTo(slow).flatMap((frame) => "id" in frame ? [frame.id] : []), [4])
      yield* session.close
    }))

  it.effect("law 12: RepliesOverflow: replies that wait on streams of their own count together", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open({ limits: { maxOutgoingBytes: 50_000 } })
      const origins = upTo(6).map((name) => ({ name }))
      for (const origin of origins) peer.stall(origin)
      for (const [id, origin] of origins.slice(0, 5).entries()) peer.bring(call(id, "big"), origin)
      yield* settled
      assert.strictEqual((yield* session.state)._tag, "Operating")
      const free = {}
      peer.bring(call("free", "big"), free)
      yield* settled
      assert.lengthOf(peer.sentTo(free), 1)
      peer.bring(call("one more", "big"), origins[5] ?? {})
      yield* settled
      assert.strictEqual((yield* session.closed)._tag, "RepliesOverflow")
    }))

  it.effect("law 1: closing gives up what waits on every stream", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open()
      const origins = [{}, {}, {}]
      for (const [index, origin] of origins.entries()) {
        peer.stall(origin)
        peer.bring(call(index, "chatter"), origin)
      }
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 3 })
      yield* Effect.forkChild(session.close)
      yield* Effect.forEach(origins, peer.recover)
      yield* session.closed
      for (const origin of origins) assert.lengthOf(peer.sentTo(origin), 5)
    }))

  it.effect("[SHS-10] what nobody will take any more is interrupted, and its neighbours are not", () =>
    Effect.gen(function*() {
      const { interrupted, peer, session } = yield* open()
      const [left, stays] = [{}, {}]
      peer.bring(call(1, "wait"), left)
      peer.bring(call(2, "wait"), stays)
      yield* settled
      peer.abandon(left)
      yield* settled
      assert.strictEqual(interrupted(), 1)
      assert.deepStrictEqual([peer.sentTo(left), peer.settled.includes(left)], [[], true])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      // The id is free again.
      peer.bring(call(1, "unit"), left)
      yield* settled
      assert.lengthOf(peer.sentTo(left), 1)
      peer.abandon(stays)
      yield* settled
      assert.deepStrictEqual([interrupted(), yield* session.inFlight], [2, { sent: 0, served: 0 }])
    }))
})
