import { ErrorCode, JsonRpc, McpError, RequestId, Revision } from "@effect-mcp/protocol"
import { type ClientSession, MemoryTransport, type Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./support/Link.ts"
import * as RawServer from "./support/RawServer.ts"
import {
  client,
  codeOf,
  forms,
  info,
  initialize,
  logMessage,
  names,
  recorder,
  settled,
  start,
  withRawServer
} from "./support/sessions.ts"

describe("a client's handshake", () => {
  /** Starts the handshake of a client with a server that follows a script, and that fails. */
  const attempt = Effect.fnUntraced(function*(script: RawServer.Script, options: ClientSession.Options = { info }) {
    const pair = yield* MemoryTransport.make()
    const link = Link.over(pair.client)
    const record = recorder()
    const raw = yield* RawServer.make(pair.server, script)
    const census = FiberCount.make()
    const exit = yield* start(census.count(
      Effect.scoped(Effect.flip(client(link.transport, { observe: record.observe, ...options })))
    ))
    return { raw, link, record, census, error: Fiber.join(exit), fiber: exit }
  })

  for (const { form, pair } of forms) {
    it.effect(`[INIT-01] [INIT-02] [INIT-08] [MSG-05] sends initialize, initialized and requests (${form})`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawServer({
          pair,
          client: { capabilities: { roots: { listChanged: true } } },
          script: RawServer.replyToPings
        })
        yield* session.ping()
        assert.deepStrictEqual(raw.received, [
          {
            jsonrpc: "2.0",
            id: 0,
            method: "initialize",
            params: {
              protocolVersion: Revision.latestLegacy,
              capabilities: { roots: { listChanged: true } },
              clientInfo: info
            }
          },
          { jsonrpc: "2.0", method: "notifications/initialized" },
          { jsonrpc: "2.0", id: 1, method: "ping" }
        ])
      }))
  }

  it.effect("[MSG-05] [MSG-04] no request id is used twice, whatever the outcome of its request", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({
        script: (message) =>
          JsonRpc.isRequest(message) && message.id === 1
            ? [JsonRpc.success(message.id, {})]
            : JsonRpc.isRequest(message) && message.id === 2
            ? [JsonRpc.failure(message.id, McpError.invalidRequest("no"))]
            : []
      })
      yield* session.ping()
      yield* Effect.flip(session.ping())
      yield* Fiber.interrupt(yield* start(session.ping()))
      const late = yield* start(Effect.flip(session.ping({ timeout: 10 })))
      yield* TestClock.adjust(10)
      yield* Fiber.join(late)
      const unsent = yield* Effect.flip(session.request("tools/call", { name: "x", arguments: { no: 1n } }))
      assert.strictEqual(unsent.reason._tag, "SendFailed")
      yield* start(session.ping())
      const ids = raw.received.flatMap((message) => JsonRpc.isRequest(message) ? [message.id] : [])
      assert.deepStrictEqual(ids, [0, 1, 2, 3, 4, 6])
      assert.isTrue(ids.every(RequestId.isRequestId))
    }))

  it.effect("[INIT-03] the client requests the newest revision of its options", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({
        client: { revisions: ["2025-03-26", "2024-11-05"] },
        result: RawServer.initializeResult({ protocolVersion: "2024-11-05" })
      })
      const first = raw.received[0]
      assert.isDefined(first)
      assert.strictEqual("method" in first && first.params?.["protocolVersion"], "2025-03-26")
      assert.strictEqual(session.profile.revision, "2024-11-05")
    }))

  it.effect("the profile contains what the server sent, unknown members included", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer({
        result: RawServer.initializeResult({
          capabilities: { tools: { listChanged: true }, future: { x: 1 } },
          serverInfo: { name: "s", version: "2", homepage: "https://example.org" },
          instructions: "Call add."
        })
      })
      assert.deepStrictEqual<unknown>(session.profile, {
        revision: Revision.latestLegacy,
        capabilities: { tools: { listChanged: true }, future: { x: 1 } },
        info: { name: "s", version: "2", homepage: "https://example.org" },
        instructions: "Call add."
      })
      assert.deepStrictEqual(yield* session.state, { _tag: "Operating", profile: session.profile })
    }))

  it.effect("[INIT-15] [TOOL-01] a request without the server's capability fails and is not sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ result: RawServer.initializeResult({ capabilities: {} }) })
      const error = yield* Effect.flip(session.callTool("add"))
      assert.deepStrictEqual(error.reason, { _tag: "MissingCapability", capability: "tools" })
      assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
    }))

  it.effect("[INIT-16] an error response fails as Refused with its error, and the connection is closed", () =>
    Effect.gen(function*() {
      const rejection = new McpError.McpError({ code: -32000, message: "not allowed", data: { limit: 1 } })
      const { census, error, link, raw } = yield* attempt((message) =>
        "id" in message && message.id === 0 ? [JsonRpc.failure(0, rejection)] : []
      )
      const { message, reason } = yield* error
      assert.strictEqual(reason._tag, "Rejected")
      if (reason._tag !== "Rejected") return
      assert.deepStrictEqual([reason.error.code, reason.error.message, reason.error.data], [
        -32000,
        "not allowed",
        { limit: 1 }
      ])
      assert.include(message, "not allowed")
      assert.isTrue(raw.ended())
      assert.isFalse(link.isOpen())
      assert.deepStrictEqual(names(raw.received), ["initialize"])
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("[INIT-06] [INIT-16] an unsupported revision fails, and later messages get no reply", () =>
    Effect.gen(function*() {
      const { census, error, raw, record } = yield* attempt(
        () => [
          JsonRpc.success(0, RawServer.initializeResult({ protocolVersion: "2099-01-01" })),
          JsonRpc.request("after", "ping", undefined),
          JsonRpc.request("later", "roots/list", undefined),
          logMessage("hello")
        ],
        { info, revisions: ["2025-06-18", "2025-03-26"] }
      )
      assert.deepStrictEqual((yield* error).reason, {
        _tag: "UnsupportedRevision",
        chosen: "2099-01-01",
        supported: ["2025-06-18", "2025-03-26"]
      })
      assert.deepStrictEqual(names(raw.received), ["initialize"])
      assert.isTrue(raw.ended())
      yield* settled
      assert.strictEqual(census.living(), 0)
      assert.deepStrictEqual(record.of("StateChanged").map(({ to }) => to), ["Initializing", "Closed"])
    }))

  it.effect("[INIT-06] a revision that is not in the client's options fails as UnsupportedRevision", () =>
    Effect.gen(function*() {
      const { error } = yield* attempt(
        () => [JsonRpc.success(0, RawServer.initializeResult({ protocolVersion: "2024-11-05" }))],
        { info, revisions: ["2025-11-25"] }
      )
      assert.strictEqual((yield* error).reason._tag, "UnsupportedRevision")
    }))

  for (
    const [what, result] of [
      ["null", null],
      ["an array", []],
      ["without serverInfo", { protocolVersion: Revision.latestLegacy, capabilities: {} }],
      ["without capabilities", { protocolVersion: Revision.latestLegacy, serverInfo: info }],
      ["with a number as revision", RawServer.initializeResult({ protocolVersion: 20251125 })],
      ["with a number as instructions", RawServer.initializeResult({ instructions: 42 })]
    ] as const
  ) {
    it.effect(`[INIT-07] [INIT-16] a result that is ${what} fails as InvalidResult`, () =>
      Effect.gen(function*() {
        const { error, raw } = yield* attempt(() => [{ jsonrpc: "2.0", id: 0, result }])
        const { reason } = yield* error
        assert.strictEqual(reason._tag, "InvalidResult")
        assert.isTrue(reason._tag === "InvalidResult" && reason.problem.length > 0 && !reason.problem.includes("\n"))
        assert.deepStrictEqual(names(raw.received), ["initialize"])
        assert.isTrue(raw.ended())
      }))
  }

  it.effect("[INIT-16] [CAN-02] fails as Timeout after 30 seconds, and initialize is not cancelled", () =>
    Effect.gen(function*() {
      const { census, error, fiber, raw } = yield* attempt(() => [])
      yield* TestClock.adjust(29_999)
      assert.isUndefined(fiber.pollUnsafe())
      assert.isFalse(raw.ended())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual((yield* error).reason, { _tag: "Timeout", afterMillis: 30_000 })
      assert.deepStrictEqual(names(raw.received), ["initialize"])
      assert.isTrue(raw.ended())
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("[INIT-16] [TMO-04] fails as Timeout after handshakeTimeout, whatever the request timeout", () =>
    Effect.gen(function*() {
      const { error } = yield* attempt(() => [], { info, limits: { handshakeTimeout: "2 seconds", requestTimeout: 5 } })
      yield* TestClock.adjust(2000)
      assert.deepStrictEqual((yield* error).reason, { _tag: "Timeout", afterMillis: 2000 })
    }))

  it.effect("[CAN-02] fails as Timeout, and an initialize that the transport has not received is not cancelled", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const link = Link.over(pair.client)
      link.stall()
      const raw = yield* RawServer.make(pair.server)
      const made = yield* start(
        Effect.scoped(Effect.flip(client(link.transport, { limits: { handshakeTimeout: 1000 } })))
      )
      yield* TestClock.adjust(1000)
      assert.strictEqual((yield* Fiber.join(made)).reason._tag, "Timeout")
      link.resume()
      yield* settled
      assert.deepStrictEqual(names(link.sent), ["initialize"])
      assert.deepStrictEqual(raw.received, [])
    }))

  it.effect("[INIT-16] fails as Closed if the server ends first", () =>
    Effect.gen(function*() {
      const { census, error, raw } = yield* attempt(() => [])
      yield* raw.end
      assert.deepStrictEqual((yield* error).reason, { _tag: "Closed", reason: { _tag: "PeerEnded", exit: undefined } })
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("[INIT-16] fails as Closed with the exit of a child process", () =>
    Effect.gen(function*() {
      const { error, link } = yield* attempt(() => [])
      const exit = { exitCode: 3, signal: undefined, stderr: ["no such module"] }
      yield* settled
      link.endReading(exit)
      const { message, reason } = yield* error
      assert.deepStrictEqual(reason, { _tag: "Closed", reason: { _tag: "PeerEnded", exit } })
      assert.include(message, "no such module")
    }))

  it.effect("[INIT-16] fails as Closed if reading fails", () =>
    Effect.gen(function*() {
      const { error, link, raw } = yield* attempt(() => [])
      yield* settled
      link.breakReading(Link.readFailed)
      assert.deepStrictEqual((yield* error).reason, {
        _tag: "Closed",
        reason: { _tag: "TransportFailed", cause: Link.readFailed }
      })
      assert.isTrue(raw.ended())
    }))

  it.effect("[INIT-16] fails as Closed if writing initialize fails", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const link = Link.over(pair.client)
      link.failSending(Link.writeFailed)
      const error = yield* Effect.scoped(Effect.flip(client(link.transport)))
      assert.strictEqual(error.reason._tag, "Closed")
      assert.strictEqual(error.reason._tag === "Closed" && error.reason.reason._tag, "TransportFailed")
      assert.include(error.message, "broken pipe")
      assert.isFalse(link.isOpen())
    }))

  it.effect("fails as ConnectFailed if the transport is in use", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, RawServer.replyToInitialize())
      const session = yield* client(pair.client)
      const error = yield* Effect.flip(client(pair.client))
      assert.strictEqual(error.reason._tag, "ConnectFailed")
      assert.deepStrictEqual(
        error.reason._tag === "ConnectFailed" && error.reason.error.reason,
        { _tag: "InUse" }
      )
      assert.strictEqual((yield* session.state)._tag, "Operating")
      assert.isFalse(raw.ended())
    }))

  it.effect("fails after the connection has closed", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server, () => [JsonRpc.failure(0, McpError.invalidRequest("no"))])
      let released = false
      const made = yield* start(Effect.flip(client({
        connect: Effect.andThen(
          Effect.addFinalizer(() =>
            Effect.andThen(
              Effect.sleep(50),
              Effect.sync(() => {
                released = true
              })
            )
          ),
          pair.client.connect
        )
      })))
      yield* TestClock.adjust(49)
      assert.isUndefined(made.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(made)).reason._tag, "Rejected")
      assert.isTrue(released)
    }))

  it.effect("[CAN-02] an interruption closes the connection and leaves no fiber", () =>
    Effect.gen(function*() {
      const { census, fiber, link, raw } = yield* attempt(() => [])
      yield* raw.receive
      yield* Fiber.interrupt(fiber)
      assert.isTrue(raw.ended())
      assert.isFalse(link.isOpen())
      assert.deepStrictEqual(names(raw.received), ["initialize"])
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("[CAN-02] an interruption closes the connection while its scope stays open", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const link = Link.over(pair.client)
      const raw = yield* RawServer.make(pair.server)
      const scope = yield* Scope.make()
      const made = yield* start(Scope.provide(client(link.transport), scope))
      yield* raw.receive
      yield* Fiber.interrupt(made)
      yield* settled
      assert.isTrue(raw.ended(), "the connection is open without a session")
      assert.deepStrictEqual(names(raw.received), ["initialize"])
      yield* Scope.close(scope, Exit.void)
    }))

  it.effect("[INIT-16] fails as Closed if its scope closes", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server)
      const scope = yield* Scope.make()
      const made = yield* start(Effect.flip(Scope.provide(client(pair.client), scope)))
      yield* raw.receive
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual((yield* Fiber.join(made)).reason, { _tag: "Closed", reason: { _tag: "Requested" } })
      assert.isTrue(raw.ended())
      assert.deepStrictEqual(names(raw.received), ["initialize"])
    }))

  it.effect("[PING-01] [INIT-10] early pings are answered, log messages kept, and requests rejected", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const link = Link.over(pair.client)
      const record = recorder()
      const logged: Array<unknown> = []
      const raw = yield* RawServer.make(pair.server)
      const made = yield* start(client(link.transport, {
        observe: record.observe,
        handlers: { "notifications/message": ({ data }) => Effect.sync(() => logged.push(data)) }
      }))
      yield* raw.receive
      yield* raw.send(
        JsonRpc.request("early", "ping", undefined),
        logMessage("hello"),
        JsonRpc.request("too early", "sampling/createMessage", {}),
        JsonRpc.notification("no/such/notification")
      )
      assert.deepStrictEqual(yield* raw.receive, { jsonrpc: "2.0", id: "early", result: {} })
      const rejected = yield* raw.receive
      assert.deepStrictEqual(["id" in rejected && rejected.id, codeOf(rejected)], [
        "too early",
        ErrorCode.InvalidRequest
      ])
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method }) => method), ["no/such/notification"])
      assert.deepStrictEqual(record.of("Rejected").map(({ id, method }) => [id, method]), [[
        "too early",
        "sampling/createMessage"
      ]])
      assert.deepStrictEqual(logged, [])
      yield* raw.send(JsonRpc.success(0, RawServer.initializeResult()))
      const session = yield* Fiber.join(made)
      assert.strictEqual((yield* session.state)._tag, "Operating")
      assert.deepStrictEqual(names(raw.received), ["initialize", "early", "too early", "notifications/initialized"])
      assert.deepStrictEqual(logged, ["hello"])
    }))

  it.effect("[INIT-10] log messages before the response are handled after it, in order, before later ones", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const logged: Array<unknown> = []
      const raw = yield* RawServer.make(pair.server)
      const made = yield* start(client(pair.client, {
        handlers: {
          "notifications/message": ({ data }) => Effect.andThen(Effect.yieldNow, Effect.sync(() => logged.push(data)))
        }
      }))
      yield* raw.receive
      yield* raw.send(
        logMessage("first"),
        JsonRpc.notification("notifications/message", { level: "loud" }),
        logMessage("second")
      )
      assert.deepStrictEqual(logged, [])
      yield* raw.send(JsonRpc.success(0, RawServer.initializeResult()), logMessage("third"))
      yield* Fiber.join(made)
      yield* settled
      assert.deepStrictEqual(logged, ["first", "second", "third"])
    }))

  it.effect("law 12: of more than 256 early log messages the oldest are dropped, with an event each", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const record = recorder()
      const logged: Array<unknown> = []
      const raw = yield* RawServer.make(pair.server)
      const made = yield* start(client(pair.client, {
        observe: record.observe,
        handlers: { "notifications/message": ({ data }) => Effect.sync(() => logged.push(data)) }
      }))
      yield* raw.receive
      for (let n = 1; n <= 258; n++) yield* raw.send(logMessage(n))
      yield* settled
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ problem }) => problem), [
        "more than 256 log messages, or 1048576 bytes, before the response to initialize; the oldest was dropped",
        "more than 256 log messages, or 1048576 bytes, before the response to initialize; the oldest was dropped"
      ])
      yield* raw.send(JsonRpc.success(0, RawServer.initializeResult()))
      yield* Fiber.join(made)
      yield* settled
      assert.deepStrictEqual([logged.length, logged[0], logged.at(-1)], [256, 3, 258])
    }))

  it.effect("law 12: log messages before the response take at most 1 MiB of memory on a transport with bytes", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const record = recorder()
      const logged: Array<unknown> = []
      const raw = yield* RawServer.make(pair.server)
      const counted: Transport.Transport["Service"] = {
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          run: (deliver, hooks) => connection.run((inbound) => deliver({ ...inbound, bytes: 1 }), hooks)
        }))
      }
      const made = yield* start(client(counted, {
        observe: record.observe,
        handlers: { "notifications/message": ({ data }) => Effect.sync(() => logged.push(data)) }
      }))
      yield* raw.receive
      const long = (digit: string) => digit.repeat(200_000)
      yield* raw.send(logMessage(long("1")), logMessage(long("2")), logMessage(long("3")))
      yield* settled
      assert.strictEqual(record.of("NotificationIgnored").length, 1)
      yield* raw.send(JsonRpc.success(0, RawServer.initializeResult()))
      yield* Fiber.join(made)
      yield* settled
      assert.deepStrictEqual(logged.map((data) => String(data)[0]), ["2", "3"])
    }))

  it.effect("[INIT-16] log messages before a response that fails the handshake are dropped, with an event each", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const record = recorder()
      const logged: Array<unknown> = []
      const raw = yield* RawServer.make(pair.server)
      const made = yield* start(Effect.flip(client(pair.client, {
        observe: record.observe,
        handlers: { "notifications/message": ({ data }) => Effect.sync(() => logged.push(data)) }
      })))
      yield* raw.receive
      yield* raw.send(logMessage("hello"), JsonRpc.failure(0, McpError.invalidRequest("no")))
      assert.strictEqual((yield* Fiber.join(made)).reason._tag, "Rejected")
      assert.deepStrictEqual(record.of("NotificationIgnored"), [{
        _tag: "NotificationIgnored",
        method: "notifications/message",
        problem: "the session closed before the response to initialize"
      }])
      assert.deepStrictEqual(logged, [])
    }))

  it.effect("[PING-01] [INIT-08] messages in the chunk of the response find an established session", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, (message) =>
        "id" in message && message.id === 0
          ? [
            JsonRpc.success(0, RawServer.initializeResult()),
            logMessage("hello"),
            JsonRpc.request("p", "ping", undefined),
            JsonRpc.request("r", "roots/list", undefined)
          ]
          : [])
      const session = yield* client(pair.client, {
        handlers: { "notifications/message": ({ data }) => Effect.sync(() => logged.push(data)) }
      })
      assert.strictEqual((yield* session.state)._tag, "Operating")
      yield* settled
      assert.deepStrictEqual(logged, ["hello"])
      assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized", "p", "r"])
      assert.deepStrictEqual(raw.received.map(codeOf), [undefined, undefined, undefined, ErrorCode.MethodNotFound])
    }))

  it.effect("[INIT-08] a second response to initialize changes nothing, and no second initialized is sent", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      yield* raw.send(
        JsonRpc.success(0, RawServer.initializeResult({ protocolVersion: "2024-11-05", capabilities: {} })),
        JsonRpc.failure(0, McpError.invalidRequest("second"))
      )
      assert.strictEqual(session.profile.revision, Revision.latestLegacy)
      assert.deepStrictEqual(yield* session.state, { _tag: "Operating", profile: session.profile })
      assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
      assert.strictEqual(record.of("UnmatchedResponse").length, 2)
    }))

  it.effect("a server's request that only clients may send is answered with -32601", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawServer()
      yield* raw.send(initialize())
      yield* settled
      assert.deepStrictEqual(raw.received.map(codeOf).slice(2), [ErrorCode.MethodNotFound])
    }))
})
