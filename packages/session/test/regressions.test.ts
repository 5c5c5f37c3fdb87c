import { JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, Transport, TransportError } from "@effect-mcp/session"
import { Census, RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Link from "./support/Link.ts"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  client,
  initialize,
  server,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("defects that were found, and must not come back", () => {
  it.effect("law 5: a client that pipelines three thousand calls has an answer to each", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* raw.send(initialize())
      yield* raw.response
      link.stall()
      for (let id = 1; id <= 3000; id++) link.deliver(call(id, "x"))
      link.recover()
      yield* Effect.repeat(settled, { times: 200 })
      assert.strictEqual((yield* session.state)._tag, "Operating")
      const answered = (yield* raw.pending).flatMap((message) => "method" in message ? [] : [message.id])
      assert.strictEqual(new Set(answered).size, 3000)
    }))

  it.effect("law 12: replies that nobody takes end the session for what it is", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawClient({ server: { limits: { replies: 100 } } })
      yield* settled
      link.stall()
      for (let id = 1; id <= 200; id++) link.deliver(JsonRpc.request(id, "ping", undefined))
      assert.deepStrictEqual(yield* session.closed, { _tag: "RepliesOverflow", waiting: 101 })
    }))

  it.effect("law 2: a thousand messages that cannot be sent do not keep the session from closing", () =>
    Effect.gen(function*() {
      const census = Census.make()
      const { link, raw, session } = yield* census.count(withRawClient({ server: { capabilities: { logging: {} } } }))
      yield* raw.send(initialize())
      yield* raw.response
      link.stall()
      for (let count = 0; count < 5000; count++) {
        yield* start(Effect.exit(session.log({ level: "info", data: count })))
      }
      link.breakReading(Link.readFailed)
      assert.strictEqual((yield* session.closed)._tag, "TransportFailed")
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("law 9: a request whose own stream breaks is the only one to suffer", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      yield* server(pair.server, tools({ x: Effect.succeed(text("x")) }))
      const broken = TransportError.make({ _tag: "WriteFailed", cause: new Error("connection reset") })
      const session = yield* client({
        connect: Effect.map(pair.client.connect, (connection): Transport.Connection => ({
          ...connection,
          request: (message) =>
            message.method === "ping"
              ? Effect.fail(broken)
              : connection.request === undefined
              ? Effect.die("no streams")
              : connection.request(message)
        }))
      })
      const error = yield* Effect.flip(session.ping())
      assert.deepStrictEqual(error.reason, { _tag: "SendFailed", error: broken })
      assert.deepStrictEqual(yield* session.callTool("x"), text("x"))
    }))

  it.effect("[PRG-02] a progress token from elsewhere does not reach the wire", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const seen: Array<number> = []
      const first = yield* start(
        session.callTool("x", {}, { onProgress: (step) => Effect.sync(() => seen.push(step.progress)) })
      )
      const second = yield* start(session.request("tools/call", { name: "y", _meta: { progressToken: 1, trace: "t" } }))
      yield* settled
      const sent = raw.received.filter((message): message is JsonRpc.Request => "method" in message && "id" in message)
      assert.deepStrictEqual(sent.slice(-2).map(({ params }) => params?.["_meta"]), [
        { progressToken: 1 },
        { trace: "t" }
      ])
      yield* Fiber.interruptAll([first, second])
    }))

  it.effect("an observer that logs does not come before the answer to initialize", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      let log: Effect.Effect<unknown> = Effect.void
      const session = yield* server(pair.server, {}, {
        capabilities: { logging: {} },
        observe: (event) => {
          if (event._tag === "StateChanged" && event.to === "Negotiated") Effect.runFork(log)
        }
      })
      log = Effect.exit(session.log({ level: "info", data: "hello" }))
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* raw.send(initialize())
      yield* settled
      const order = (yield* raw.pending).map((message) => "method" in message ? message.method : message.id)
      assert.deepStrictEqual(order, [0, "notifications/message"])
    }))

  it.effect("law 5: a ping with the id of a request in flight is refused", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* raw.send(initialize())
      yield* raw.response
      yield* raw.send(call(1, "wait"))
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      const reply = yield* raw.response
      assert.strictEqual(JsonRpc.isFailure(reply) ? reply.error.code : undefined, -32600)
    }))

  it.effect("how a child exited is in the error, also when the handshake could not be sent", () =>
    Effect.gen(function*() {
      const exit = { exitCode: 3, signal: undefined, stderr: ["no such file: notes.db"] }
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server)
      const error = yield* Effect.flip(client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          send: () => Effect.fail(TransportError.make({ _tag: "PeerEnded", exit }))
        }))
      }))
      assert.deepStrictEqual(error.reason, { _tag: "Closed", reason: { _tag: "PeerEnded", exit } })
      assert.include(error.message, "no such file: notes.db")
    }))

  it.effect("law 9: an abrupt end starts no handler of a notification any more", () =>
    Effect.gen(function*() {
      let began = 0
      const { link, raw, session } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": () =>
              Effect.suspend(() => {
                began++
                return Effect.never
              })
          },
          limits: { gracefulClose: "5 seconds" }
        }
      })
      const message = JsonRpc.notification("notifications/message", { level: "info", data: "x" })
      yield* raw.say(message, message, message)
      link.breakReading(Link.readFailed)
      assert.strictEqual((yield* session.closed)._tag, "TransportFailed")
      assert.strictEqual(began, 1)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(session.ping())))
    }))
})
