import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { RequestContext, ServerSession, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { call, info, settled, text, tools } from "./support/sessions.ts"

/** A server's end with a stream for each origin, any of which can be made to stall. */
const streams = () => {
  const sent: Array<readonly [Transport.Origin | undefined, JsonRpc.Frame]> = []
  const stalled = new Map<Transport.Origin, Deferred.Deferred<void>>()
  let bring: (inbound: Transport.Inbound) => void = () => {}
  let abandon: (origin: Transport.Origin) => void = () => {}
  const settledOrigins: Array<Transport.Origin> = []
  const transport: Transport.Transport["Service"] = {
    connect: Effect.succeed({
      run: (deliver, hooks) => {
        bring = deliver
        abandon = hooks?.abandon ?? abandon
        return Effect.never
      },
      send: ({ message, via }) => {
        const gate = via === undefined ? undefined : stalled.get(via)
        const note = Effect.sync(() => void sent.push([via, message]))
        return gate === undefined ? note : Effect.andThen(Deferred.await(gate), note)
      },
      settle: (origin) => void settledOrigins.push(origin)
    })
  }
  return {
    transport,
    sent,
    settled: settledOrigins,
    stall: (origin: Transport.Origin) => void stalled.set(origin, Deferred.makeUnsafe()),
    recover: (origin: Transport.Origin) => {
      const gate = stalled.get(origin)
      stalled.delete(origin)
      return gate === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(gate, undefined))
    },
    bring: (message: JsonRpc.Message, origin: Transport.Origin) => bring({ frame: Result.succeed(message), origin }),
    abandon: (origin: Transport.Origin) => abandon(origin),
    via: (origin: Transport.Origin) => sent.flatMap(([via, frame]) => via === origin ? [frame] : [])
  }
}

const initialize = JsonRpc.request("hello", "initialize", {
  protocolVersion: Revision.latest,
  capabilities: {},
  clientInfo: info
})

const open = Effect.fnUntraced(function*(options: Partial<ServerSession.Options> = {}) {
  const peer = streams()
  let interrupted = 0
  const session = yield* ServerSession.make(
    tools({
      unit: Effect.succeed(text("unit")),
      wait: Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++)),
      chatter: Effect.as(
        Effect.forEach([1, 2, 3, 4], (data) => RequestContext.log({ level: "info", data }), { discard: true }),
        text("chatter")
      )
    }),
    { info, capabilities: { logging: {} }, ...options }
  ).pipe(Effect.provideService(Transport.Transport, peer.transport))
  yield* settled
  peer.bring(initialize, {})
  return { peer, session, interrupted: () => interrupted }
})

describe("a transport with a stream for each request", () => {
  it.effect("law 12: a stream that takes nothing holds up no other", () =>
    Effect.gen(function*() {
      const { peer, session } = yield* open({ limits: { outgoing: 2 } })
      const [slow, quick] = [{}, {}]
      peer.stall(slow)
      peer.bring(call(1, "chatter"), slow)
      yield* settled
      peer.bring(call(2, "chatter"), quick)
      peer.bring(call(3, "unit"), quick)
      yield* settled
      assert.lengthOf(peer.via(slow), 0)
      assert.lengthOf(peer.via(quick), 6)
      yield* peer.recover(slow)
      yield* settled
      assert.deepStrictEqual(
        peer.via(slow).map((frame) => "method" in frame ? frame.params?.["data"] : "reply"),
        [1, 2, 3, 4, "reply"]
      )
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
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
      for (const origin of origins) assert.lengthOf(peer.via(origin), 5)
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
      assert.deepStrictEqual([peer.via(left), peer.settled.includes(left)], [[], true])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      // The id is free again.
      peer.bring(call(1, "unit"), left)
      yield* settled
      assert.lengthOf(peer.via(left), 1)
      peer.abandon(stays)
      yield* settled
      assert.deepStrictEqual([interrupted(), yield* session.inFlight], [2, { sent: 0, served: 0 }])
    }))
})
