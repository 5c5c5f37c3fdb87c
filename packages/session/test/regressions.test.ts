import { JsonRpc } from "@effect-mcp/protocol"
import {
  ClientSession,
  MemoryTransport,
  RequestContext,
  type RequestError,
  Transport,
  TransportError
} from "@effect-mcp/session"
import { FiberCount, RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { closedFor, peerEnded, requested } from "./support/closing.ts"
import * as Link from "./support/Link.ts"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  client,
  codeOf,
  connected,
  forms,
  info,
  initialize,
  logMessage,
  names,
  performHandshake,
  reasonOf,
  server,
  settled,
  start,
  text,
  tools,
  upTo,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("defects that this library had", () => {
  it.effect("law 5: each of three thousand pipelined calls gets a reply", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* raw.send(initialize())
      yield* raw.response
      link.stall()
      for (let id = 1; id <= 3000; id++) link.deliver(call(id, "x"))
      link.resume()
      yield* Effect.repeat(settled, { times: 200 })
      assert.strictEqual((yield* session.state)._tag, "Operating")
      const replied = (yield* raw.pending).flatMap((message) => "method" in message ? [] : [message.id])
      assert.strictEqual(new Set(replied).size, 3000)
    }))

  it.effect("law 12: unread replies end the session as RepliesOverflow", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawClient({ server: { limits: { maxOutgoingReplies: 100 } } })
      yield* settled
      link.stall()
      for (let id = 1; id <= 200; id++) link.deliver(JsonRpc.request(id, "ping", undefined))
      assert.deepInclude(yield* session.closed, { _tag: "RepliesOverflow", waiting: 101 })
    }))

  it.effect("law 2: thousands of unsent messages do not prevent the session from closing", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
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

  it.effect("law 9: a request whose stream fails affects no other request", () =>
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

  it.effect("[PRG-02] a progress token in the given _meta is not sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const seen: Array<number> = []
      const first = yield* start(
        session.callTool("x", {}, { onProgress: (step) => Effect.sync(() => seen.push(step.progress)) })
      )
      const second = yield* start(session.request("tools/call", { name: "y", _meta: { progressToken: 1, trace: "t" } }))
      yield* settled
      const sent = raw.received.filter(JsonRpc.isRequest)
      assert.deepStrictEqual(sent.slice(-2).map(({ params }) => params?.["_meta"]), [
        { progressToken: 1 },
        { trace: "t" }
      ])
      yield* Fiber.interruptAll([first, second])
    }))

  it.effect("a log message of an observer is sent after the response to initialize", () =>
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

  it.effect("law 5: a ping with the id of a request in flight is rejected", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* raw.send(initialize())
      yield* raw.response
      yield* raw.send(call(1, "wait"))
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      const reply = yield* raw.response
      assert.strictEqual(JsonRpc.isFailure(reply) ? reply.error.code : undefined, -32600)
    }))

  it.effect("the error contains the exit of a child process, even if initialize could not be sent", () =>
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

  it.effect("law 9: after a failed read, no handler of a waiting notification starts", () =>
    Effect.gen(function*() {
      let started = 0
      const { link, raw, session } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": () =>
              Effect.suspend(() => {
                started++
                return Effect.never
              })
          },
          limits: { gracefulTimeout: "5 seconds" }
        }
      })
      const message = JsonRpc.notification("notifications/message", { level: "info", data: "x" })
      yield* raw.send(message, message, message)
      link.breakReading(Link.readFailed)
      assert.strictEqual((yield* session.closed)._tag, "TransportFailed")
      assert.strictEqual(started, 1)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(session.ping())))
    }))
})

describe("defects that other implementations had", () => {
  it.effect("law 1: a close fails pending requests with its reason", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const calling = yield* start(session.callTool("x"))
      yield* settled
      yield* session.close
      assert.deepStrictEqual(yield* reasonOf(calling), closedFor(requested))
      assert.deepStrictEqual(names(raw.received.slice(-2)), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("law 8: [CAN-07] a cancellation that directly follows its request is not lost", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* performHandshake(raw)
      link.deliver(call(1, "wait"))
      link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("law 5: [CAN-07] of a reply and a cancellation that race, the first one counts", () =>
    Effect.gen(function*() {
      const gate = Deferred.makeUnsafe<void>()
      const { link, raw, record } = yield* withRawClient({
        handlers: tools({ gated: Effect.as(Deferred.await(gate), text("x")) })
      })
      yield* performHandshake(raw)
      link.deliver(call(1, "gated"))
      link.deliver(call(2, "gated"))
      const cancel = (requestId: number) => link.deliver(JsonRpc.notification("notifications/cancelled", { requestId }))
      // The first before its handler can have ended, the second after its reply was sent.
      cancel(1)
      Deferred.doneUnsafe(gate, Exit.void)
      yield* settled
      cancel(2)
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), [2])
      assert.deepStrictEqual([record.of("Cancelled").length, record.of("CancelIgnored").length], [1, 1])
    }))

  it.effect("law 9: a handler of the client can use its session", () =>
    Effect.gen(function*() {
      const onCall: { effect?: Effect.Effect<unknown, RequestError.RequestError> } = {}
      const { client, server } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: {
          handlers: {
            "roots/list": () => Effect.as(Effect.orDie(onCall.effect ?? Effect.die("no session")), { roots: [] })
          }
        }
      })
      onCall.effect = Effect.andThen(client.callTool("x"), client.ping())
      assert.deepStrictEqual(yield* server.listRoots(), { roots: [] })
    }))

  it.effect("law 9: a handler of notifications that throws affects only its notification", () =>
    Effect.gen(function*() {
      const handled: Array<unknown> = []
      const { raw, record, session } = yield* withRawServer({
        script: RawServer.replyToPings,
        client: {
          handlers: {
            "notifications/message": ({ data }) => {
              if (data === "bad") throw null
              return Effect.sync(() => handled.push(data))
            }
          }
        }
      })
      yield* raw.send(logMessage("bad"), logMessage("good"))
      yield* settled
      assert.deepStrictEqual(handled, ["good"])
      assert.strictEqual(record.of("HandlerFailed").length, 1)
      yield* session.ping()
    }))

  it.effect("[TMO-04] a timeout of 0 fails at once, and an infinite one never", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const none = yield* start(session.callTool("x", {}, { timeout: 0 }))
      assert.deepStrictEqual(yield* reasonOf(none), { _tag: "Timeout", afterMillis: 0 })
      const infinite = yield* start(session.callTool("x", {}, { timeout: "Infinity" }))
      yield* TestClock.adjust("10000 days")
      assert.isUndefined(infinite.pollUnsafe())
      yield* raw.send(JsonRpc.success(1, text("x")))
      assert.deepStrictEqual(yield* Fiber.join(infinite), text("x"))
    }))

  it.effect("[TMO-06] totalTimeout ends a call without progress, with extendOnProgress and without", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer()
      for (const extendOnProgress of [true, false]) {
        const calling = yield* start(
          session.callTool("x", {}, { timeout: "Infinity", totalTimeout: "3 seconds", extendOnProgress })
        )
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual(yield* reasonOf(calling), { _tag: "Timeout", afterMillis: 3000 })
      }
    }))

  it.effect("law 4: [PRG-04] progress that arrives with the response is delivered before the call ends", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const seen: Array<unknown> = []
      const calling = yield* start(
        Effect.tap(
          session.callTool("x", {}, { onProgress: ({ progress }) => Effect.sync(() => seen.push(progress)) }),
          () => Effect.sync(() => seen.push("ended"))
        )
      )
      const step = (progress: number) => JsonRpc.notification("notifications/progress", { progressToken: 1, progress })
      yield* raw.send(step(1), step(2), JsonRpc.success(1, text("x")))
      yield* Fiber.join(calling)
      assert.deepStrictEqual(seen, [1, 2, "ended"])
    }))

  it.effect("law 6: a second initialize is rejected, and the negotiated revision stays", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw, "2025-06-18")
      yield* raw.send(initialize("2024-11-05"))
      assert.strictEqual(codeOf(yield* raw.response), -32600)
      assert.strictEqual((yield* session.profile).revision, "2025-06-18")
    }))

  it.effect("law 5: a duplicate id is rejected, and the first request is served", () =>
    Effect.gen(function*() {
      const gate = Deferred.makeUnsafe<void>()
      const { raw } = yield* withRawClient({
        handlers: tools({ gated: Effect.as(Deferred.await(gate), text("x")) })
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "gated"))
      yield* raw.send(call(1, "gated"))
      assert.strictEqual(codeOf(yield* raw.response), -32600)
      Deferred.doneUnsafe(gate, Exit.void)
      assert.deepStrictEqual(yield* raw.response, JsonRpc.success(1, text("x")))
    }))

  it.effect("law 5: a request whose handler throws null, or dies with it, gets an error", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({
          throws: () => {
            throw null
          },
          dies: Effect.die(null)
        })
      })
      yield* performHandshake(raw)
      for (const [id, name] of ["throws", "dies"].entries()) {
        yield* raw.send(call(id, name))
        const answer = yield* raw.response
        assert.deepStrictEqual([answer.id, codeOf(answer)], [id, -32603])
      }
    }))

  it.effect("law 5: a request whose result JSON cannot represent (a BigInt, a cycle) gets an error", () =>
    Effect.gen(function*() {
      const cycle: { [name: string]: unknown } = {}
      cycle["self"] = cycle
      const { raw } = yield* withRawClient({
        handlers: tools({
          big: Effect.succeed({ content: [], structuredContent: { big: 1n } }),
          cycle: Effect.succeed({ content: [], structuredContent: cycle })
        })
      })
      yield* performHandshake(raw)
      for (const name of ["big", "cycle"]) {
        yield* raw.send(call(name, name))
        const answer = yield* raw.response
        assert.deepStrictEqual([answer.id, codeOf(answer)], [name, -32603])
      }
    }))

  it.effect("law 3: [PRG-01] 0 and the empty string are valid ids and progress tokens", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({
        handlers: tools({ wait: Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never) })
      })
      yield* performHandshake(raw)
      for (const id of [0, ""]) {
        yield* raw.send(call(id, "wait", { _meta: { progressToken: id } }))
        assert.deepStrictEqual(yield* raw.receive, {
          jsonrpc: "2.0",
          method: "notifications/progress",
          params: { progress: 1, progressToken: id }
        })
        yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: id }))
        yield* settled
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
        yield* raw.send(JsonRpc.request(id, "ping", undefined))
        assert.deepStrictEqual(yield* raw.response, JsonRpc.success(id, {}))
      }
    }))

  it.effect("`params: null` counts as no params, in requests, notifications and pings", () =>
    Effect.gen(function*() {
      const { link, raw, record } = yield* withRawClient({ handlers: tools({}) })
      yield* raw.send(initialize())
      yield* raw.response
      link.deliver({ jsonrpc: "2.0", method: "notifications/initialized", params: null })
      link.deliver({ jsonrpc: "2.0", id: 1, method: "ping", params: null })
      link.deliver({ jsonrpc: "2.0", id: 2, method: "tools/list", params: null })
      link.deliver({ jsonrpc: "2.0", method: "notifications/cancelled", params: null })
      assert.deepStrictEqual([yield* raw.response, yield* raw.response], [
        JsonRpc.success(1, {}),
        JsonRpc.success(2, { tools: [] })
      ])
      assert.deepStrictEqual(record.of("CancelIgnored").map(({ id }) => id), [undefined])
    }))

  it.effect("law 3: [CAN-06] a late response to a cancelled request changes nothing, and is reported", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer({ script: RawServer.replyToPings })
      yield* Fiber.interrupt(yield* start(session.callTool("x")))
      yield* raw.send(JsonRpc.success(1, text("late")))
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Late"])
      yield* session.ping()
    }))

  it.effect("law 2: a handler that outlives its session is reported, and sends no more messages", () =>
    Effect.gen(function*() {
      const gate = Deferred.makeUnsafe<void>()
      const failures: Array<unknown> = []
      const { link, raw, record, session } = yield* withRawClient({
        handlers: tools({
          slow: Effect.uninterruptible(Effect.gen(function*() {
            yield* Deferred.await(gate)
            yield* RequestContext.progress({ progress: 1 })
            yield* RequestContext.log({ level: "info", data: "late" })
            failures.push((yield* Effect.orDie(Effect.flip(RequestContext.listRoots()))).reason)
            return text("late")
          }))
        }),
        server: { capabilities: { logging: {} } }
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "slow", { _meta: { progressToken: 1 } }))
      const closing = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(record.of("Closed").map(({ unfinished }) => unfinished), [
        [{ method: "tools/call", count: 1 }]
      ])
      const before = link.sent.length
      Deferred.doneUnsafe(gate, Exit.void)
      yield* settled
      assert.deepStrictEqual(failures, [{ _tag: "ExchangeEnded" }])
      assert.strictEqual(link.sent.length, before)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("law 1: [STD-10] a request of the server fails at once if its input ends", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ server: { limits: { gracefulTimeout: "5 seconds" } } })
      yield* performHandshake(raw)
      const calling = yield* start(session.ping({ timeout: "Infinity" }))
      yield* settled
      link.endReading()
      assert.deepStrictEqual(yield* reasonOf(calling), closedFor(peerEnded))
      assert.deepStrictEqual(yield* session.closed, peerEnded)
    }))

  it.effect("[INIT-10] a client that never sends initialized is served, and receives requests", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* raw.send(JsonRpc.request(0, "initialize", {
        protocolVersion: "2025-11-25",
        capabilities: { roots: {} },
        clientInfo: info
      }))
      yield* raw.response
      const calling = yield* start(session.listRoots())
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(names([yield* raw.receive, yield* raw.receive]), ["roots/list", 1])
      yield* raw.send(JsonRpc.success(1, { roots: [] }))
      assert.deepStrictEqual(yield* Fiber.join(calling), { roots: [] })
    }))

  it.effect("law 10: one Layer constant over two transports makes two sessions", () =>
    Effect.gen(function*() {
      const layer = ClientSession.layer({ info })
      const ids: Array<unknown> = []
      const over = Effect.fnUntraced(function*(name: string) {
        const pair = yield* MemoryTransport.make()
        yield* server(pair.server, tools({ name: Effect.succeed(text(name)) }))
        return Layer.provide(layer, MemoryTransport.layer(pair.client))
      })
      const calling = Effect.gen(function*() {
        const session = yield* ClientSession.ClientSession
        ids.push(session)
        return yield* session.callTool("name")
      })
      const [one, two] = [yield* over("one"), yield* over("two")]
      const both = Effect.flatMap(
        calling,
        (outer) => Effect.map(Effect.provide(calling, two), (inner) => [outer, inner])
      )
      assert.deepStrictEqual(yield* Effect.provide(both, one), [text("one"), text("two")])
      assert.notStrictEqual(ids[0], ids[1])
    }))

  for (const { form, pair } of forms) {
    it.effect(`law 9: two peers that wait for each other with full queues make progress (${form})`, () =>
      Effect.gen(function*() {
        const limits = { maxOutgoingMessages: 1, maxIncomingRequests: 1000 }
        const { client, links, server } = yield* connected({
          pair,
          handlers: tools({
            back: Effect.as(
              Effect.orDie(Effect.flatMap(RequestContext.RequestContext, ({ request }) => request("roots/list", {}))),
              text("back")
            )
          }),
          client: {
            limits,
            handlers: { "roots/list": () => Effect.succeed({ roots: [] }) }
          },
          server: { limits, capabilities: { logging: {} } }
        })
        links.client.stall()
        links.server.stall()
        const calls = yield* start(
          Effect.forEach(upTo(100), () => client.callTool("back"), { concurrency: "unbounded" })
        )
        const logs = yield* start(
          Effect.forEach(upTo(10), (data) => server.log({ level: "info", data }), { concurrency: "unbounded" })
        )
        yield* settled
        assert.isUndefined(logs.pollUnsafe())
        // From here on, the links let through one message each in turn.
        for (let turn = 0; turn < 600; turn++) {
          links.client.releaseOne()
          yield* settled
          links.server.releaseOne()
          yield* settled
        }
        assert.strictEqual((yield* Fiber.join(calls)).length, 100)
        yield* Fiber.join(logs)
      }))
  }
})
