import { ErrorCode, JsonRpc, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./support/Link.ts"
import {
  call,
  client,
  codeOf,
  forms,
  info,
  initialize,
  initialized,
  logMessage,
  names,
  performHandshake,
  settled,
  start,
  text,
  tools,
  withRawClient
} from "./support/sessions.ts"

const requestRoots = (session: ServerSession.ServerSessionShape, options?: { readonly timeout?: number }) =>
  session.listRoots(options)

const root = (name: string) => ({ roots: [{ uri: `file:///${name}` }] })

const withRoots = (protocolVersion: string = Revision.latestLegacy) =>
  JsonRpc.request(0, "initialize", { protocolVersion, capabilities: { roots: {} }, clientInfo: info })

describe("a server's handshake", () => {
  for (const { form, pair } of forms) {
    it.effect(`[INIT-04] [INIT-07] responds with the requested revision and its description (${form})`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawClient({
          pair,
          handlers: tools({}),
          server: { instructions: "Call add.", capabilities: { logging: {} } }
        })
        const answer = yield* performHandshake(raw, "2025-03-26")
        assert.deepStrictEqual<unknown>(answer, {
          jsonrpc: "2.0",
          id: 0,
          result: {
            protocolVersion: "2025-03-26",
            capabilities: { tools: {}, logging: {} },
            serverInfo: info,
            instructions: "Call add."
          }
        })
        const profile = yield* session.profile
        assert.deepStrictEqual(profile, { revision: "2025-03-26", capabilities: {}, info })
        assert.deepStrictEqual(yield* session.state, { _tag: "Operating", profile })
      }))
  }

  it.effect("the session stores the requested revision and the metadata of initialize, up to a size", () =>
    Effect.gen(function*() {
      const storedAfter = Effect.fnUntraced(function*(protocolVersion: string, _meta?: object) {
        const { raw, session } = yield* withRawClient()
        const waiting = yield* start(session.requestedRevision)
        yield* settled
        assert.isUndefined(waiting.pollUnsafe())
        yield* raw.send(JsonRpc.request(0, "initialize", {
          protocolVersion,
          capabilities: {},
          clientInfo: info,
          ...(_meta === undefined ? undefined : { _meta })
        }))
        yield* raw.response
        assert.strictEqual((yield* session.profile).revision, Revision.latestLegacy)
        return [yield* Fiber.join(waiting), yield* session.initializeMeta]
      })
      assert.deepStrictEqual(yield* storedAfter(Revision.latestLegacy), [Revision.latestLegacy, undefined])
      assert.deepStrictEqual(yield* storedAfter("2099-01-01", { "example.org/a": [1] }), ["2099-01-01", {
        "example.org/a": [1]
      }])
      const [revision, meta] = yield* storedAfter("x".repeat(1000), { a: Array.from({ length: 200 }, () => []) })
      assert.deepStrictEqual([String(revision).length, meta], [64, undefined])
    }))

  it.effect("[INIT-05] [INIT-04] responds with the newest revision of its options instead of an unsupported one", () =>
    Effect.gen(function*() {
      for (const requested of ["2025-11-25", "1999-01-01", "2025-03-26"]) {
        const { raw } = yield* withRawClient({ server: { revisions: ["2024-11-05", "2025-06-18", "2025-03-26"] } })
        const answer = yield* performHandshake(raw, requested)
        assert.include(JSON.stringify(answer), requested === "2025-03-26" ? "2025-03-26" : "2025-06-18")
      }
    }))

  it.effect("a handler that is undefined counts as absent", () =>
    Effect.gen(function*() {
      // The types of handlers do not allow this, but programs without types do it.
      const handlers: object = { ...tools({}), "tools/call": undefined }
      const { raw } = yield* withRawClient({ handlers })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.MethodNotFound)
    }))

  it.effect("law 6: in AwaitingInitialize only ping and initialize have an effect", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* raw.send(call("r", "x"))
      const rejected = yield* raw.response
      assert.deepStrictEqual([rejected.id, codeOf(rejected)], ["r", ErrorCode.InvalidRequest])
      assert.include(JSON.stringify(rejected), "Server not initialized")
      yield* raw.send(JsonRpc.request("p", "ping", undefined))
      assert.deepStrictEqual(yield* raw.response, { jsonrpc: "2.0", id: "p", result: {} })
      yield* raw.send(initialized)
      yield* raw.send(logMessage("hello"))
      yield* raw.send(JsonRpc.notification("initialize", initialize().params))
      yield* raw.send(JsonRpc.success(1, {}))
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method }) => method), [
        "notifications/initialized",
        "notifications/message",
        "initialize"
      ])
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Unknown"])
      assert.deepStrictEqual(yield* session.state, { _tag: "AwaitingInitialize" })
      assert.isFalse(JsonRpc.isFailure(yield* performHandshake(raw)))
    }))

  it.effect("[INIT-02] an initialize with invalid params is rejected with -32602, and the next one succeeds", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient()
      for (const params of [undefined, {}, { ...initialize().params, clientInfo: { name: 1 } }]) {
        yield* raw.send(JsonRpc.request("bad", "initialize", params))
        const answer = yield* raw.response
        assert.deepStrictEqual([answer.id, codeOf(answer)], ["bad", ErrorCode.InvalidParams])
      }
      link.deliver({ jsonrpc: "2.0", id: "null", method: "initialize", params: null })
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidParams)
      assert.strictEqual((yield* session.state)._tag, "AwaitingInitialize")
      assert.isFalse(JsonRpc.isFailure(yield* performHandshake(raw)))
    }))

  it.effect("law 6: a second initialize, valid or invalid, is rejected with -32600 and changes nothing", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient()
      yield* performHandshake(raw, "2025-06-18")
      const before = yield* session.state
      yield* raw.send({ ...initialize("2024-11-05"), id: 1 })
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidRequest)
      yield* raw.send(JsonRpc.request(2, "initialize", {}))
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidRequest)
      yield* raw.send(initialized)
      assert.deepStrictEqual(yield* session.state, before)
      assert.strictEqual((yield* session.profile).revision, "2025-06-18")
      assert.deepStrictEqual(record.of("Rejected").map(({ id }) => id), [1, 2])
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method }) => method), [
        "notifications/initialized"
      ])
    }))

  it.effect("[INIT-10] with requireInitialized, requests before initialized are rejected", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { requireInitialized: true }
      })
      yield* raw.send(initialize())
      yield* raw.response
      yield* raw.send(call(1, "x"))
      const rejected = yield* raw.response
      assert.deepStrictEqual([rejected.id, codeOf(rejected)], [1, ErrorCode.InvalidRequest])
      assert.include(JSON.stringify(rejected), "Server not initialized")
      yield* raw.send(JsonRpc.request(2, "ping", undefined))
      assert.isFalse(JsonRpc.isFailure(yield* raw.response))
      // A request of that name is not the notification.
      yield* raw.send(JsonRpc.request("named", initialized.method, undefined))
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidRequest)
      assert.strictEqual((yield* session.state)._tag, "Negotiated")
      yield* raw.send(initialized)
      yield* raw.send(call(3, "x"))
      assert.deepStrictEqual<unknown>(yield* raw.response, { jsonrpc: "2.0", id: 3, result: text("x") })
    }))

  it.effect("[INIT-10] by default, a first request counts as initialized, and a ping does not", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* raw.send(initialize())
      yield* raw.response
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      yield* raw.response
      assert.strictEqual((yield* session.state)._tag, "Negotiated")
      yield* raw.send(call(2, "x"))
      assert.isFalse(JsonRpc.isFailure(yield* raw.response))
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("[INIT-10] [PING-01] the server can send a ping before initialize", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const ping = yield* start(session.ping())
      assert.deepStrictEqual(yield* raw.receive, { jsonrpc: "2.0", id: 1, method: "ping" })
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(ping)
      assert.strictEqual((yield* session.state)._tag, "AwaitingInitialize")
    }))

  it.effect("[INIT-10] requests are held until the client sends initialized", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const early = yield* start(requestRoots(session))
      yield* raw.send(withRoots())
      yield* raw.response
      const later = yield* start(requestRoots(session))
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.strictEqual((yield* session.inFlight).sent, 2)
      yield* raw.send(initialized)
      assert.deepStrictEqual(yield* raw.receive, { jsonrpc: "2.0", id: 1, method: "roots/list" })
      assert.deepStrictEqual(yield* raw.receive, { jsonrpc: "2.0", id: 2, method: "roots/list" })
      yield* raw.send(JsonRpc.success(2, root("two")))
      yield* raw.send(JsonRpc.success(1, root("one")))
      assert.deepStrictEqual([yield* Fiber.join(early), yield* Fiber.join(later)], [root("one"), root("two")])
    }))

  it.effect("[INIT-10] a first request releases held requests, which are sent before its reply", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* raw.send(withRoots())
      yield* raw.response
      yield* start(requestRoots(session))
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(names(yield* raw.pending), ["roots/list", 1])
    }))

  it.effect("[INIT-10] with requireInitialized, a request does not release held requests", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { requireInitialized: true }
      })
      yield* raw.send(withRoots())
      yield* raw.response
      yield* start(requestRoots(session))
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      yield* raw.send(initialized)
      assert.deepStrictEqual(names(yield* raw.pending), ["roots/list"])
    }))

  it.effect("[TMO-02] a held request can time out; neither it nor a cancellation is sent then", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const held = yield* start(Effect.flip(requestRoots(session, { timeout: 1000 })))
      yield* raw.send(withRoots())
      yield* raw.response
      yield* TestClock.adjust(999)
      assert.isUndefined(held.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual((yield* Fiber.join(held)).reason, { _tag: "Timeout", afterMillis: 1000 })
      yield* raw.send(initialized)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[CAN-01] a held request whose caller is interrupted is never sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const held = yield* start(requestRoots(session))
      yield* Fiber.interrupt(held)
      yield* raw.send(withRoots())
      yield* raw.response
      yield* raw.send(initialized)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("law 3: a response with the id of a held request does not complete it", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient()
      const held = yield* start(requestRoots(session))
      yield* raw.send(withRoots())
      yield* raw.response
      yield* raw.send(JsonRpc.success(1, root("early")))
      yield* settled
      assert.isUndefined(held.pollUnsafe(), "a response to an unsent request completed it")
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Unknown"])
      yield* raw.send(initialized)
      assert.deepStrictEqual(names(yield* raw.pending), ["roots/list"])
      yield* raw.send(JsonRpc.success(1, root("late")))
      assert.deepStrictEqual(yield* Fiber.join(held), root("late"))
    }))

  it.effect("[INIT-15] [ROOT-01] a held request that the client does not support fails and is not sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const held = yield* start(Effect.flip(requestRoots(session)))
      yield* performHandshake(raw)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      const exit = held.pollUnsafe()
      assert.isDefined(exit, "it waits for a response although it cannot be sent")
      assert.deepStrictEqual((yield* Fiber.join(held)).reason, { _tag: "MissingCapability", capability: "roots" })
    }))

  it.effect("held requests fail when the session ends", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const held = yield* start(Effect.flip(requestRoots(session)))
      yield* session.close
      assert.deepStrictEqual((yield* Fiber.join(held)).reason, {
        _tag: "Closed",
        reason: { _tag: "Requested" },
        isSent: false
      })
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[INIT-10] [LOG-01] log messages are not held; in AwaitingInitialize they fail", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ server: { capabilities: { logging: {} } } })
      const early = yield* Effect.flip(session.log({ level: "info", data: "early" }))
      assert.deepStrictEqual(early.reason, { _tag: "WrongState", state: "AwaitingInitialize" })
      yield* raw.send(initialize())
      yield* raw.response
      yield* session.log({ level: "info", data: "now" })
      assert.deepStrictEqual(yield* raw.receive, {
        jsonrpc: "2.0",
        method: "notifications/message",
        params: { level: "info", data: "now" }
      })
    }))

  it.effect("[INIT-16] with initializeTimeout, a session without initialize closes", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawClient({
        server: { limits: { initializeTimeout: "10 seconds" } }
      })
      yield* raw.send(JsonRpc.request("p", "ping", undefined))
      yield* raw.response
      yield* TestClock.adjust(9999)
      assert.strictEqual((yield* session.state)._tag, "AwaitingInitialize")
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* session.closed, { _tag: "HandshakeTimeout", afterMillis: 10_000 })
      assert.isFalse(link.isOpen())
      assert.strictEqual(record.of("Closed").length, 1)
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[INIT-16] after initialize, initializeTimeout has no effect", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ server: { limits: { initializeTimeout: "10 seconds" } } })
      yield* TestClock.adjust(9999)
      yield* raw.send(initialize())
      yield* raw.response
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* session.state)._tag, "Negotiated")
    }))

  it.effect("by default, a server waits for initialize without a limit", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* TestClock.adjust("400 days")
      assert.strictEqual((yield* session.state)._tag, "AwaitingInitialize")
      assert.isFalse(JsonRpc.isFailure(yield* performHandshake(raw)))
    }))

  it.effect("the profile waits for initialize", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const profile = yield* start(session.profile)
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(profile.pollUnsafe())
      yield* raw.send(initialize("2025-06-18"))
      assert.deepStrictEqual(yield* Fiber.join(profile), { revision: "2025-06-18", capabilities: {}, info })
      yield* session.close
      assert.strictEqual((yield* session.profile).revision, "2025-06-18")
    }))

  for (
    const [how, end] of [
      ["closes", ({ session }) => Effect.asVoid(session.close)],
      ["loses its peer", ({ link }) => Effect.sync(() => link.endReading())],
      ["loses its transport", ({ link }) => Effect.sync(() => link.breakReading(Link.readFailed))]
    ] satisfies ReadonlyArray<
      [
        string,
        (it: { readonly session: ServerSession.ServerSessionShape; readonly link: Link.Link }) => Effect.Effect<void>
      ]
    >
  ) {
    it.effect(`the profile fails with SessionClosedError when the session ${how} first`, () =>
      Effect.gen(function*() {
        const { link, session } = yield* withRawClient()
        const profile = yield* start(Effect.flip(session.profile))
        yield* settled
        yield* end({ session, link })
        const error = yield* Fiber.join(profile)
        assert.strictEqual(error._tag, "SessionClosedError")
        assert.deepStrictEqual(error.reason, yield* session.closed)
        assert.deepStrictEqual((yield* Effect.flip(session.profile)).reason, error.reason)
      }))
  }

  it.effect("an initialize that was sent before the server connected is answered", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const connecting = yield* start(client(pair.client))
      yield* settled
      yield* ServerSession.make(tools({}), { info }).pipe(Effect.provideService(Transport.Transport, pair.server))
      assert.strictEqual((yield* Fiber.join(connecting)).profile.info.name, "test")
    }))

  it.effect("requests that are pipelined after initialize are served", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* settled
      link.stall()
      link.deliver(initialize())
      link.deliver(initialized)
      link.deliver(call(1, "x"))
      assert.strictEqual((yield* session.state)._tag, "Operating")
      link.resume()
      assert.deepStrictEqual(names(yield* raw.pending), [0, 1])
    }))
})
