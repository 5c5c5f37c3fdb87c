import type { CloseReason } from "@effect-mcp/protocol"
import { MemoryTransport, type Transport, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as TestClock from "effect/testing/TestClock"
import { closedEvents, closedFor, peerEnded, requested, serving } from "./support/closing.ts"
import * as Link from "./support/Link.ts"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  client,
  names,
  performHandshake,
  reasonOf,
  server,
  settled,
  start,
  text,
  tools,
  traced,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("a transport that fails", () => {
  for (
    const [failure, fail, expected] of [
      ["reading fails", (link) => link.breakReading(Link.readFailed), {
        _tag: "TransportFailed",
        cause: Link.readFailed
      }],
      [
        "reading fails with PeerEnded",
        (link) => link.breakReading(TransportError.make({ _tag: "PeerEnded", exit: undefined })),
        peerEnded
      ],
      ["the peer ends", (link) => link.stopReading(Exit.succeed({ exit: undefined, writable: false })), peerEnded],
      ["reading dies", (link) => link.stopReading(Exit.die("a bug")), { _tag: "TransportFailed", cause: "a bug" }]
    ] satisfies ReadonlyArray<[string, (link: Link.Link) => void, CloseReason.CloseReason]>
  ) {
    it.effect(`law 1: ${failure}: handlers are interrupted and calls fail at once`, () =>
      Effect.gen(function*() {
        const { effect, seen } = traced(Effect.sleep(1))
        const { link, raw, record, session } = yield* serving(effect)
        const ping = yield* start(session.ping())
        yield* settled
        fail(link)
        yield* settled
        assert.deepStrictEqual(seen, ["started", "interrupted"])
        assert.deepStrictEqual(yield* reasonOf(ping), closedFor(expected))
        assert.deepStrictEqual(yield* session.closed, expected)
        assert.deepStrictEqual(closedEvents(record), [{ _tag: "Closed", reason: expected, unfinished: [] }])
        assert.isFalse(link.isOpen())
        assert.deepStrictEqual(names(yield* raw.pending), ["ping"])
      }))
  }

  it.effect("law 1: a send that throws ends the session, and all pending requests fail", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      let broken = false
      const transport: Transport.Transport["Service"] = {
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          send: (outbound) => {
            if (broken) throw new Error("a bug in the transport")
            return connection.send(outbound)
          }
        }))
      }
      yield* RawServer.make(pair.server, RawServer.replyToInitialize())
      const session = yield* client(transport)
      yield* settled
      const before = yield* start(session.callTool("x"))
      broken = true
      const { reason } = yield* Effect.flip(session.ping())
      assert.strictEqual(reason._tag, "SendFailed")
      assert.strictEqual((yield* session.closed)._tag, "TransportFailed")
      assert.strictEqual((yield* reasonOf(before))._tag, "Closed")
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("law 1: a read that the transport interrupts ends the session", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      const waiting = yield* start(session.callTool("x"))
      link.stopReading(Exit.interrupt())
      yield* settled
      assert.isDefined(waiting.pollUnsafe(), "the caller still waits")
      assert.strictEqual((yield* session.closed)._tag, "TransportFailed")
    }))

  it.effect("law 1: a failed write ends the session, and fails the sender with SendFailed", () =>
    Effect.gen(function*() {
      const { link, record, session } = yield* withRawServer()
      const waiting = yield* start(session.callTool("x"))
      yield* settled
      link.failSending(Link.writeFailed)
      const error = yield* Effect.flip(session.callTool("y"))
      assert.deepStrictEqual(error.reason, { _tag: "SendFailed", error: Link.writeFailed })
      const reason: CloseReason.CloseReason = { _tag: "TransportFailed", cause: Link.writeFailed }
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(reason))
      assert.deepStrictEqual(yield* session.closed, reason)
      assert.deepStrictEqual(record.of("SendFailed").map(({ method }) => method), ["tools/call"])
    }))

  it.effect("law 1: a reply that cannot be written ends the session", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.never)
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ wait: effect, x: Effect.succeed(text("x")) })
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "wait"))
      link.failSending(Link.writeFailed)
      yield* raw.send(call(2, "x"))
      assert.deepStrictEqual(yield* session.closed, { _tag: "TransportFailed", cause: Link.writeFailed })
      assert.deepStrictEqual(seen, ["started", "interrupted"])
    }))

  it.effect("law 1: a write that fails with PeerEnded ends the session", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      const waiting = yield* start(session.callTool("x"))
      yield* settled
      const error = TransportError.make({ _tag: "PeerEnded", exit: undefined })
      link.failSending(error)
      assert.deepStrictEqual((yield* Effect.flip(session.ping())).reason, { _tag: "SendFailed", error })
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(peerEnded))
      assert.deepStrictEqual(yield* session.closed, peerEnded)
    }))

  it.effect("law 1: a message without a route fails alone", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer({ script: RawServer.replyToPings })
      const noRoute = TransportError.make({ _tag: "NoRoute", method: "ping" })
      link.failSending(noRoute)
      const error = yield* Effect.flip(session.ping())
      assert.deepStrictEqual(error.reason, { _tag: "SendFailed", error: noRoute })
      link.failSending(undefined)
      yield* session.ping()
    }))

  const withSends = (
    send: (outbound: Transport.Outbound) => Effect.Effect<void, TransportError.TransportError> | undefined
  ) =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server, RawServer.replyToInitialize(RawServer.replyToPings))
      return yield* client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          send: (outbound) => send(outbound) ?? connection.send(outbound)
        }))
      })
    })

  const isPing = ({ message }: Transport.Outbound) => "method" in message && message.method === "ping"

  it.effect("law 1: a write that the transport interrupts fails the caller", () =>
    Effect.gen(function*() {
      const session = yield* withSends((outbound) => isPing(outbound) ? Effect.interrupt : undefined)
      const waiting = yield* start(session.ping())
      yield* settled
      assert.isDefined(waiting.pollUnsafe(), "the caller waits for the response to a request that was never sent")
    }))

  it.effect("law 1: a write that dies ends the session", () =>
    Effect.gen(function*() {
      const session = yield* withSends((outbound) => isPing(outbound) ? Effect.die("a bug") : undefined)
      const error = yield* Effect.flip(session.ping())
      assert.strictEqual(error.reason._tag, "SendFailed")
      assert.strictEqual((yield* session.closed)._tag, "TransportFailed")
    }))

  it.effect("law 2: a connect that fails releases what it acquired, while the scope of the caller stays open", () =>
    Effect.gen(function*() {
      let open = 0
      const transport: Transport.Transport["Service"] = {
        connect: Effect.andThen(
          Effect.acquireRelease(Effect.sync(() => open++), () => Effect.sync(() => open--)),
          Effect.fail(TransportError.make({ _tag: "ConnectFailed", target: "nowhere", cause: new Error("no") }))
        )
      }
      const failed = yield* Effect.flip(client(transport))
      assert.strictEqual(failed.reason._tag, "ConnectFailed")
      assert.include(failed.message, "nowhere")
      assert.strictEqual(open, 0)
      assert.strictEqual((yield* Effect.flip(server(transport))).reason._tag, "ConnectFailed")
      assert.strictEqual(open, 0)
    }))

  it.effect("law 2: a read that ends only when the connection closes does not delay the close", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, RawServer.replyToInitialize())
      const session = yield* client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          run: (deliver) => Effect.uninterruptible(connection.run(deliver))
        }))
      })
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      const closed = close.pollUnsafe()
      // Without this, the test would hang if the close does.
      yield* raw.end
      assert.isDefined(closed)
    }))
})

describe("a transport whose read never ends", () => {
  it.effect("law 2: does not delay the close", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, RawServer.replyToInitialize())
      const session = yield* client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          run: (deliver) => Effect.uninterruptible(Effect.andThen(connection.run(deliver), Effect.never))
        }))
      })
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      assert.deepStrictEqual(close.pollUnsafe(), Exit.succeed(requested))
      assert.isTrue(raw.ended())
    }))
})
