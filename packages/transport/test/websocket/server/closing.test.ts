import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { turns, untilStable } from "../../support/eventLoop.ts"
import { until } from "../../support/process.ts"
import { text, tools } from "../../support/server.ts"
import { call, connect, dial, initialize, ping } from "../../support/webSocketPeer.ts"
import { reasons, serve } from "../../support/webSocketServer.ts"

let progressSent = 0

const handlers = tools({
  wait: Effect.never,
  flood: Effect.gen(function*() {
    for (let progress = 1;; progress++) {
      yield* RequestContext.progress({ progress, message: "x".repeat(10_000) })
      progressSent++
    }
  })
})

describe.concurrent("a server sends the close code", () => {
  it.live("1000 if the host closes the session", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const peer = yield* connect(server)
      const [session] = yield* server.host.sessions
      yield* Effect.forkChild(server.host.find(session?.id ?? "")?.close({ _tag: "Requested" }) ?? Effect.void)
      yield* until(() => peer.closeFrame !== undefined)
      assert.deepStrictEqual(peer.closeFrame, { code: 1000, reason: "the server has closed the session" })
    }))

  it.live("1001 on shutdown, after the responses to the requests in flight", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      const handlers = tools({ wait: Effect.as(Deferred.await(released), text("done")) })
      const server = yield* serve(handlers, { session: { limits: { gracefulTimeout: "1 minute" } } })
      const peer = yield* connect(server)
      peer.send(call(1, "wait"))
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
      const stopping = yield* Effect.forkChild(server.stop)
      yield* Effect.repeat(server.host.health, { until: ({ draining }) => draining })
      yield* Deferred.succeed(released, undefined)
      yield* until(() => peer.closeFrame !== undefined)
      assert.deepStrictEqual(peer.closeFrame, { code: 1001, reason: "the server is shutting down" })
      assert.isDefined(peer.responseTo(1)?.result)
      peer.sendClose(1001)
      yield* until(() => peer.ended)
      peer.socket.end()
      yield* until(() => stopping.pollUnsafe() !== undefined)
      assert.deepStrictEqual(reasons(server).map(({ _tag }) => _tag), ["Requested"])
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("4001 if the handshake does not finish in time", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { limits: { initializeTimeout: "50 millis" } } })
      const peer = yield* dial(server)
      yield* until(() => peer.closeFrame !== undefined)
      assert.deepStrictEqual(peer.closeFrame, { code: 4001, reason: "the handshake did not finish within 50 ms" })
    }))

  it.live("4002 if the session reaches its maximum age, but not for idleness while its client is connected", () =>
    Effect.gen(function*() {
      const clock = yield* TestClock.make()
      const serving = serve(handlers, { session: { sessions: { maxAge: "2500 millis", idleTimeout: "50 millis" } } })
      const server = yield* Effect.provideService(serving, Clock.Clock, clock)
      const peer = yield* connect(server)
      yield* Effect.repeat(Effect.andThen(clock.adjust("100 millis"), turns(2)), {
        until: () => peer.closeFrame !== undefined
      })
      assert.deepStrictEqual(peer.closeFrame, { code: 4002, reason: "expired: open for 2500 ms, the maximum age" })
    }))

  it.live("4004 if the client keeps sending requests and reads no replies", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { limits: { maxOutgoingReplies: 10, maxOutgoingMessages: 1 } } })
      const peer = yield* connect(server)
      peer.socket.pause()
      peer.send(call("flood", "flood"))
      // First, all buffers on the way must be full.
      yield* untilStable(() => progressSent)
      for (let id = 1; id < 200; id++) peer.send(ping(id))
      yield* until(() => server.events.some((event) => event._tag === "StateChanged" && event.to === "Closing"))
      peer.socket.resume()
      yield* until(() => peer.isClosed)
      assert.strictEqual(peer.closeFrame?.code, 4004)
      assert.match(
        peer.closeFrame?.reason ?? "",
        /the peer kept sending requests while \d+ replies of \d+ bytes waited for it/
      )
      assert.deepStrictEqual(reasons(server).map(({ _tag }) => _tag), ["RepliesOverflow"])
    }))
})

describe.concurrent("a client that closes", () => {
  for (
    const [code, reason, closeReason, problem] of [
      [1000, "done", "PeerEnded", ""],
      [1001, "the page was closed", "PeerEnded", ""],
      [undefined, "", "PeerEnded", ""],
      [1002, "", "TransportFailed", "the peer closed the connection with code 1002 (protocol error)"],
      [1008, "no", "TransportFailed", "the peer closed the connection with code 1008 (policy violation): no"],
      [1011, "Ünfall", "TransportFailed", "the peer closed the connection with code 1011 (internal error): Ünfall"],
      [3000, "", "TransportFailed", "the peer closed the connection with code 3000"],
      [4002, "expired", "TransportFailed", "the peer closed the connection with code 4002 (Expired): expired"]
    ] as const
  ) {
    it.live(`with ${code ?? "no code"} ends its session with ${closeReason}`, () =>
      Effect.gen(function*() {
        const server = yield* serve(handlers)
        const peer = yield* connect(server)
        peer.send(call(1, "wait"))
        yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
        peer.sendClose(code, reason)
        yield* until(() => peer.isClosed)
        // The server answers with the same close frame, once.
        assert.deepStrictEqual(peer.closeFrame, { code, reason })
        yield* until(() => reasons(server).length === 1)
        const [ended] = reasons(server)
        assert.strictEqual(ended?._tag, closeReason)
        if (ended?._tag === "TransportFailed") assert.include(String(ended.cause), problem)
        yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
        assert.isUndefined(peer.responseTo(1))
      }))
  }

  it.live("[law 1] without a close frame ends its session with TransportFailed", () =>
    Effect.gen(function*() {
      for (const act of ["end", "destroy", "resetAndDestroy"] as const) {
        const server = yield* serve(handlers)
        const peer = yield* connect(server)
        peer.send(call(1, "wait"))
        yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
        peer.socket[act]()
        yield* until(() => reasons(server).length === 1)
        const [reason] = reasons(server)
        assert.include(
          String(reason?._tag === "TransportFailed" ? reason.cause : ""),
          "the connection broke without a close frame"
        )
        yield* until(() => peer.isClosed)
      }
    }))

  it.live("and keeps its connection open is disconnected after closeTimeout", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { webSocket: { closeTimeout: "50 millis" } })
      const peer = yield* connect(server, {})
      // The end of one side does not end the other one.
      peer.socket.allowHalfOpen = true
      peer.sendClose(1000)
      yield* until(() => peer.isClosed || reasons(server).length === 1)
      assert.deepStrictEqual(reasons(server).map(({ _tag }) => _tag), ["PeerEnded"])
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
    }))

  it.live("while messages are sent to it ends its session with PeerEnded", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, {
        webSocket: { closeTimeout: "200 millis" },
        session: { limits: { progressInterval: 0 } }
      })
      const peer = yield* connect(server)
      // The client's side of the TCP connection stays open, so that the server could send after both close frames.
      peer.socket.allowHalfOpen = true
      peer.send(call(1, "flood"))
      yield* peer.awaitMessages(100)
      peer.sendClose(1000)
      yield* until(() => reasons(server).length === 1)
      assert.deepStrictEqual(reasons(server), [{ _tag: "PeerEnded", exit: undefined }])
      assert.strictEqual(peer.frames.at(-1)?.opcode, 0x8)
    }))

  it.live("without an answer to the server's close frame is disconnected after closeTimeout", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { webSocket: { closeTimeout: "50 millis" } })
      const peer = yield* connect(server)
      peer.socket.allowHalfOpen = true
      yield* server.stop
      yield* until(() => peer.isClosed || peer.ended)
      assert.strictEqual(peer.closeFrame?.code, 1001)
    }))

  it.live("before its handshake leaves no session", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const peer = yield* dial(server)
      peer.sendClose()
      yield* until(() => peer.isClosed)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      const second = yield* dial(server)
      second.send(initialize())
      second.sendClose(1000)
      yield* until(() => second.isClosed)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      assert.deepStrictEqual(reasons(server).map(({ _tag }) => _tag), ["PeerEnded", "PeerEnded"])
    }))
})
