import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { until } from "../fixtures/process.ts"
import { text, tools } from "../support/server.ts"
import { still, turns } from "../support/still.ts"
import { call, connect, dial, initialize, ping } from "../support/webSocketPeer.ts"
import { reasons, serve } from "../support/webSocketServer.ts"

let said = 0
const flooded = () => said

const some = tools({
  wait: Effect.never,
  flood: Effect.gen(function*() {
    for (let progress = 1;; progress++) {
      yield* RequestContext.progress({ progress, message: "x".repeat(10_000) })
      said++
    }
  })
})

describe.concurrent("a server says why it closes", () => {
  it.live("1000 where it closes one session", () =>
    Effect.gen(function*() {
      const server = yield* serve(some)
      const peer = yield* connect(server)
      const [session] = yield* server.host.sessions
      yield* Effect.forkChild(server.host.find(session?.id ?? "")?.close({ _tag: "Requested" }) ?? Effect.void)
      yield* until(() => peer.farewell !== undefined)
      assert.deepStrictEqual(peer.farewell, { code: 1000, reason: "the server has closed the session" })
    }))

  it.live("1001 where it goes, behind the answers to what is in flight", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<void>()
      const handlers = tools({ wait: Effect.as(Deferred.await(go), text("done")) })
      const server = yield* serve(handlers, { session: { limits: { gracefulCloseTimeout: "1 minute" } } })
      const peer = yield* connect(server)
      peer.say(call(1, "wait"))
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
      const stopping = yield* Effect.forkChild(server.stop)
      yield* Effect.repeat(server.host.health, { until: ({ draining }) => draining })
      yield* Deferred.succeed(go, undefined)
      yield* until(() => peer.farewell !== undefined)
      assert.deepStrictEqual(peer.farewell, { code: 1001, reason: "the server is shutting down" })
      assert.isDefined(peer.answer(1)?.result)
      peer.leave(1001)
      yield* until(() => peer.ended)
      peer.socket.end()
      yield* until(() => stopping.pollUnsafe() !== undefined)
      assert.deepStrictEqual(reasons(server).map(({ _tag }) => _tag), ["Requested"])
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("4001 where the handshake does not come", () =>
    Effect.gen(function*() {
      const server = yield* serve(some, { session: { limits: { initializeTimeout: "50 millis" } } })
      const peer = yield* dial(server)
      yield* until(() => peer.farewell !== undefined)
      assert.deepStrictEqual(peer.farewell, { code: 4001, reason: "the handshake did not finish within 50 ms" })
    }))

  it.live("4002 where the session is too old; one that is idle is not, while its client is there", () =>
    Effect.gen(function*() {
      const clock = yield* TestClock.make()
      const serving = serve(some, { session: { sessions: { maxAge: "2500 millis", idle: "50 millis" } } })
      const server = yield* Effect.provideService(serving, Clock.Clock, clock)
      const peer = yield* connect(server)
      yield* Effect.repeat(Effect.andThen(clock.adjust("100 millis"), turns(2)), {
        until: () => peer.farewell !== undefined
      })
      assert.deepStrictEqual(peer.farewell, { code: 4002, reason: "expired: open for 2500 ms, the maximum age" })
    }))

  it.live("4004 where the client asks on and on, and takes no replies", () =>
    Effect.gen(function*() {
      const server = yield* serve(some, { session: { limits: { maxOutgoingReplies: 10, maxOutgoingMessages: 1 } } })
      const peer = yield* connect(server)
      peer.socket.pause()
      peer.say(call("flood", "flood"))
      // The buffers on the way have to be full first.
      yield* still(flooded)
      for (let id = 1; id < 200; id++) peer.say(ping(id))
      yield* until(() => server.events.some((event) => event._tag === "StateChanged" && event.to === "Closing"))
      peer.socket.resume()
      yield* until(() => peer.gone)
      assert.strictEqual(peer.farewell?.code, 4004)
      assert.match(
        peer.farewell?.reason ?? "",
        /the peer kept sending requests while \d+ replies of \d+ bytes waited for it/
      )
      assert.deepStrictEqual(reasons(server).map(({ _tag }) => _tag), ["RepliesOverflow"])
    }))
})

describe.concurrent("a client that closes", () => {
  for (
    const [code, reason, ending, words] of [
      [1000, "done", "PeerEnded", ""],
      [1001, "the page has gone", "PeerEnded", ""],
      [undefined, "", "PeerEnded", ""],
      [1002, "", "TransportFailed", "the peer closed the connection with code 1002 (protocol error)"],
      [1008, "no", "TransportFailed", "the peer closed the connection with code 1008 (policy violation): no"],
      [1011, "Ünfall", "TransportFailed", "the peer closed the connection with code 1011 (internal error): Ünfall"],
      [3000, "", "TransportFailed", "the peer closed the connection with code 3000"],
      [4002, "expired", "TransportFailed", "the peer closed the connection with code 4002 (Expired): expired"]
    ] as const
  ) {
    it.live(`with ${code ?? "no code"} has ended as ${ending}`, () =>
      Effect.gen(function*() {
        const server = yield* serve(some)
        const peer = yield* connect(server)
        peer.say(call(1, "wait"))
        yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
        peer.leave(code, reason)
        yield* until(() => peer.gone)
        // The same comes back, once, and nothing else.
        assert.deepStrictEqual(peer.farewell, { code, reason })
        yield* until(() => reasons(server).length === 1)
        const [ended] = reasons(server)
        assert.strictEqual(ended?._tag, ending)
        if (ended?._tag === "TransportFailed") assert.include(String(ended.cause), words)
        yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
        assert.isUndefined(peer.answer(1))
      }))
  }

  it.live("[law 1] without a word has been cut off", () =>
    Effect.gen(function*() {
      for (const act of ["end", "destroy", "resetAndDestroy"] as const) {
        const server = yield* serve(some)
        const peer = yield* connect(server)
        peer.say(call(1, "wait"))
        yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
        peer.socket[act]()
        yield* until(() => reasons(server).length === 1)
        const [reason] = reasons(server)
        assert.include(
          String(reason?._tag === "TransportFailed" ? reason.cause : ""),
          "the connection broke without a close frame"
        )
        yield* until(() => peer.gone)
      }
    }))

  it.live("but does not let go of its connection is cut off in good time", () =>
    Effect.gen(function*() {
      const server = yield* serve(some, { webSocket: { closeTimeout: "50 millis" } })
      const peer = yield* connect(server, {})
      // A half that has ended does not end the other one.
      peer.socket.allowHalfOpen = true
      peer.leave(1000)
      yield* until(() => peer.gone || reasons(server).length === 1)
      assert.deepStrictEqual(reasons(server).map(({ _tag }) => _tag), ["PeerEnded"])
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
    }))

  it.live("amid what is said to it has ended nonetheless in good order", () =>
    Effect.gen(function*() {
      const server = yield* serve(some, {
        webSocket: { closeTimeout: "200 millis" },
        session: { limits: { progressInterval: 0 } }
      })
      const peer = yield* connect(server)
      // Its half of the TCP connection stays open, so that the server goes on speaking behind both close frames.
      peer.socket.allowHalfOpen = true
      peer.say(call(1, "flood"))
      yield* peer.said(100)
      peer.leave(1000)
      yield* until(() => reasons(server).length === 1)
      assert.deepStrictEqual(reasons(server), [{ _tag: "PeerEnded", exit: undefined }])
      assert.strictEqual(peer.frames.at(-1)?.opcode, 0x8)
    }))

  it.live("without an answer to the server's close frame is cut off in good time", () =>
    Effect.gen(function*() {
      const server = yield* serve(some, { webSocket: { closeTimeout: "50 millis" } })
      const peer = yield* connect(server)
      peer.socket.allowHalfOpen = true
      yield* server.stop
      yield* until(() => peer.gone || peer.ended)
      assert.strictEqual(peer.farewell?.code, 1001)
    }))

  it.live("before it has said anything leaves nothing", () =>
    Effect.gen(function*() {
      const server = yield* serve(some)
      const peer = yield* dial(server)
      peer.leave()
      yield* until(() => peer.gone)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      const behind = yield* dial(server)
      behind.say(initialize())
      behind.leave(1000)
      yield* until(() => behind.gone)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      assert.deepStrictEqual(reasons(server).map(({ _tag }) => _tag), ["PeerEnded", "PeerEnded"])
    }))
})
