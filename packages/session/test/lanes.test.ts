import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { RequestContext, ServerSession, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import { call, info, recorder, settled, start, text, tools, upTo } from "./support/sessions.ts"

/** A server's transport with a stream for each origin. Each stream can be stalled. */
const streams = () => {
  const sent: Array<readonly [Transport.StreamOrigin | undefined, JsonRpc.Frame]> = []
  const uninterruptible = new Set<Transport.StreamOrigin>()
  const stalled = new Map<Transport.StreamOrigin, Deferred.Deferred<void>>()
  let deliverTo: (inbound: Transport.Inbound) => void = () => {}
  let abandon: (origin: Transport.StreamOrigin) => void = () => {}
  const settledOrigins: Array<Transport.StreamOrigin> = []
  const aborted: Array<Transport.StreamOrigin | undefined> = []
  const standalone = {}
  const transport: Transport.Transport["Service"] = {
    connect: Effect.succeed({
      run: (deliver, hooks) => {
        deliverTo = deliver
        abandon = hooks?.abandon ?? abandon
        return Effect.never
      },
      send: ({ message, replyTo }) => {
        const gate = stalled.get(replyTo ?? standalone)
        const note = Effect.sync(() => void sent.push([replyTo, message]))
        if (gate === undefined) return note
        const waiting = Effect.andThen(Deferred.await(gate), note)
        return uninterruptible.has(replyTo ?? standalone) ? Effect.uninterruptible(waiting) : waiting
      },
      stalled: (origin) => void aborted.push(origin),
      endExchange: (origin) => void settledOrigins.push(origin)
    })
  }
  return {
    transport,
    sent,
    settled: settledOrigins,
    aborted,
    /** The origin that stands for the standalone stream. */
    standalone,
    /** Makes the sends on this stream uninterruptible. */
    makeUninterruptible: (origin: Transport.StreamOrigin) => void uninterruptible.add(origin),
    stall: (origin: Transport.StreamOrigin) => void stalled.set(origin, Deferred.makeUnsafe()),
    recover: (origin: Transport.StreamOrigin) => {
      const gate = stalled.get(origin)
      stalled.delete(origin)
      return gate === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(gate, undefined))
    },
    deliver: (message: JsonRpc.Message, origin: Transport.StreamOrigin) =>
      deliverTo({ frame: Result.succeed(message), origin }),
    abandon: (origin: Transport.StreamOrigin) => abandon(origin),
    sentTo: (origin: Transport.StreamOrigin) => sent.flatMap(([replyTo, frame]) => replyTo === origin ? [frame] : [])
  }
}

const initialize = JsonRpc.request("init", "initialize", {
  protocolVersion: Revision.latestLegacy,
  capabilities: {},
  clientInfo: info
})

const open = Effect.fnUntraced(function*(options: Partial<ServerSession.Options> = {}) {
  const peer = streams()
  const record = recorder()
  let interrupted = 0
  const session = yield* ServerSession.make(
    tools({
      quick: Effect.succeed(text("quick")),
      wait: Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++)),
      big: Effect.succeed(text("x".repeat(10_000))),
      logs: Effect.as(
        Effect.forEach([1, 2, 3, 4], (data) => RequestContext.log({ level: "info", data }), { discard: true }),
        text("logs")
      )
    }),
    { info, capabilities: { logging: {} }, observe: record.observe, ...options }
  ).pipe(Effect.provideService(Transport.Transport, peer.transport))
  yield* settled
  peer.deliver(initialize, {})
  return { peer, record, session, interrupted: () => interrupted }
})

describe("a transport with a stream for each request", () => {
  it.effect("law 12: a stalled stream does not block others", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open({ limits: { maxOutgoingMessages: 2 } })
      const [slow, quick] = [{}, {}]
      peer.stall(slow)
      peer.deliver(call(1, "logs"), slow)
      yield* settled
      peer.deliver(call(2, "logs"), quick)
      peer.deliver(call(3, "quick"), quick)
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

  it.effect("law 12: a stream that is stalled for the write timeout is aborted, and the session continues", () =>
    Effect.gen(function*() {
      const { peer, record, session } = yield* open()
      const [slow, quick] = [{}, {}]
      peer.stall(slow)
      peer.deliver(call(1, "quick"), slow)
      yield* TestClock.adjust("10 seconds")
      peer.deliver(call(2, "quick"), quick)
      yield* TestClock.adjust(19_999)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      assert.deepStrictEqual(peer.aborted, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.strictEqual(peer.aborted[0], slow)
      assert.deepStrictEqual(record.of("SendFailed").map(({ error }) => error.reason), [
        { _tag: "StreamStalled", afterMillis: 30_000 }
      ])
      assert.strictEqual((yield* session.state)._tag, "Operating")
      // The id and the stream can be used again.
      yield* peer.recover(slow)
      peer.deliver(call(1, "quick"), slow)
      yield* settled
      assert.deepStrictEqual([peer.sentTo(slow).length, peer.sentTo(quick).length], [1, 1])
    }))

  it.effect("law 12: later messages of an aborted stream have their own timeout", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open()
      const slow = {}
      peer.stall(slow)
      peer.deliver(call(1, "logs"), slow)
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(peer.aborted, [slow])
      yield* peer.recover(slow)
      yield* settled
      assert.deepStrictEqual(
        peer.sentTo(slow).map((frame) => "method" in frame ? frame.params?.["data"] : "reply"),
        [2, 3, 4, "reply"]
      )
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("law 12: a stalled standalone stream is aborted, and the session continues", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open()
      peer.stall(peer.standalone)
      const ping = yield* start(Effect.flip(session.ping({ timeout: "Infinity" })))
      yield* TestClock.adjust("30 seconds")
      const { reason } = yield* Fiber.join(ping)
      assert.strictEqual(reason._tag === "SendFailed" && reason.error.reason._tag, "StreamStalled")
      assert.deepStrictEqual(peer.aborted, [undefined])
      const origin = {}
      peer.deliver(call(1, "quick"), origin)
      yield* settled
      assert.lengthOf(peer.sentTo(origin), 1)
    }))

  it.effect("laws 2 and 12: messages of a stream fail while an aborted one cannot be interrupted", () =>
    Effect.gen(function*() {
      const { peer, record, session } = yield* open()
      const [slow, quick] = [{}, {}]
      peer.makeUninterruptible(slow)
      peer.stall(slow)
      peer.deliver(call(1, "logs"), slow)
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.strictEqual(record.of("SendFailed").length, 5)
      peer.deliver(call(2, "quick"), slow)
      peer.deliver(call(3, "quick"), quick)
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.strictEqual(record.of("SendFailed").length, 6)
      assert.lengthOf(peer.sentTo(quick), 1)
      yield* peer.recover(slow)
      yield* settled
      peer.deliver(call(4, "quick"), slow)
      yield* settled
      assert.deepStrictEqual(peer.sentTo(slow).flatMap((frame) => "id" in frame ? [frame.id] : []), [4])
      yield* session.close
    }))

  it.effect("law 12: replies that wait on different streams count together (RepliesOverflow)", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open({ limits: { maxOutgoingBytes: 50_000 } })
      const origins = upTo(6).map((name) => ({ name }))
      for (const origin of origins) peer.stall(origin)
      for (const [id, origin] of origins.slice(0, 5).entries()) peer.deliver(call(id, "big"), origin)
      yield* settled
      assert.strictEqual((yield* session.state)._tag, "Operating")
      const free = {}
      peer.deliver(call("free", "big"), free)
      yield* settled
      assert.lengthOf(peer.sentTo(free), 1)
      peer.deliver(call("last", "big"), origins[5] ?? {})
      yield* settled
      assert.strictEqual((yield* session.closed)._tag, "RepliesOverflow")
    }))

  it.effect("law 1: a close waits for the messages of every stream", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open()
      const origins = [{}, {}, {}]
      for (const [index, origin] of origins.entries()) {
        peer.stall(origin)
        peer.deliver(call(index, "logs"), origin)
      }
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 3 })
      yield* Effect.forkChild(session.close)
      yield* Effect.forEach(origins, peer.recover)
      yield* session.closed
      for (const origin of origins) assert.lengthOf(peer.sentTo(origin), 5)
    }))

  it.effect("[SHS-10] the handlers of an abandoned stream are interrupted, and others are not", () =>
    Effect.gen(function*() {
      const { interrupted, peer, session } = yield* open()
      const [abandoned, kept] = [{}, {}]
      peer.deliver(call(1, "wait"), abandoned)
      peer.deliver(call(2, "wait"), kept)
      yield* settled
      peer.abandon(abandoned)
      yield* settled
      assert.strictEqual(interrupted(), 1)
      assert.deepStrictEqual([peer.sentTo(abandoned), peer.settled.includes(abandoned)], [[], true])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      // The id can be used again.
      peer.deliver(call(1, "quick"), abandoned)
      yield* settled
      assert.lengthOf(peer.sentTo(abandoned), 1)
      peer.abandon(kept)
      yield* settled
      assert.deepStrictEqual([interrupted(), yield* session.inFlight], [2, { sent: 0, served: 0 }])
    }))
})
