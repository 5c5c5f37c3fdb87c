import { ErrorCode, JsonRpc, McpError, RequestId, Revision } from "@effect-mcp/protocol"
import { type ClientSession, MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { Census } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./support/Link.ts"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  client,
  codeOf,
  forms,
  info,
  initialize,
  initialized,
  introduce,
  names,
  recorder,
  settled,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const log = JsonRpc.notification("notifications/message", { level: "info", data: "hello" })

describe("a client's handshake", () => {
  /** A client that tries to shake hands with a server that follows a script. */
  const attempt = Effect.fnUntraced(function*(script: RawServer.Script, options: ClientSession.Options = { info }) {
    const pair = yield* MemoryTransport.make()
    const link = Link.over(pair.client)
    const record = recorder()
    const raw = yield* RawServer.make(pair.server, script)
    const census = Census.make()
    const exit = yield* Effect.forkChild(
      census.count(
        Effect.scoped(Effect.flip(client(link.transport, { observe: record.observe, ...options })))
      ),
      { startImmediately: true }
    )
    return { raw, link, record, census, error: Fiber.join(exit), fiber: exit }
  })

  for (const { form, pair } of forms) {
    it.effect(`[INIT-01] [INIT-02] [INIT-08] [MSG-05] what it says, and in which order (${form})`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawServer({
          pair,
          client: { capabilities: { roots: { listChanged: true } } },
          script: (message) =>
            "method" in message && "id" in message && message.method === "ping"
              ? [JsonRpc.success(message.id, {})]
              : []
        })
        yield* session.ping()
        assert.deepStrictEqual(raw.received, [
          {
            jsonrpc: "2.0",
            id: 0,
            method: "initialize",
            params: {
              protocolVersion: Revision.latest,
              capabilities: { roots: { listChanged: true } },
              clientInfo: info
            }
          },
          { jsonrpc: "2.0", method: "notifications/initialized" },
          { jsonrpc: "2.0", id: 1, method: "ping" }
        ])
      }))
  }

  it.effect("[MSG-05] [MSG-04] no id is used twice, whatever became of its request", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({
        script: (message) =>
          "method" in message && "id" in message && message.id === 1
            ? [JsonRpc.success(message.id, {})]
            : "method" in message && "id" in message && message.id === 2
            ? [JsonRpc.failure(message.id, McpError.invalidRequest("no"))]
            : []
      })
      yield* session.ping()
      yield* Effect.flip(session.ping())
      yield* Fiber.interrupt(yield* Effect.forkChild(session.ping(), { startImmediately: true }))
      const late = yield* Effect.forkChild(Effect.flip(session.ping({ deadline: 10 })), { startImmediately: true })
      yield* TestClock.adjust(10)
      yield* Fiber.join(late)
      const unsent = yield* Effect.flip(session.request("tools/call", { name: "x", arguments: { no: 1n } }))
      assert.strictEqual(unsent.reason._tag, "SendFailed")
      yield* Effect.forkChild(session.ping(), { startImmediately: true })
      const ids = raw.received.flatMap((message) => "method" in message && "id" in message ? [message.id] : [])
      assert.deepStrictEqual(ids, [0, 1, 2, 3, 4, 6])
      assert.isTrue(ids.every(RequestId.isRequestId))
    }))

  it.effect("[INIT-03] it offers the newest revision it was given", () =>
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

  it.effect("the profile is what the server said, unknown members included", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer({
        result: RawServer.initializeResult({
          capabilities: { tools: { listChanged: true }, future: { x: 1 } },
          serverInfo: { name: "s", version: "2", homepage: "https://example.org" },
          instructions: "Ask nicely."
        })
      })
      assert.deepStrictEqual<unknown>(session.profile, {
        revision: Revision.latest,
        capabilities: { tools: { listChanged: true }, future: { x: 1 } },
        info: { name: "s", version: "2", homepage: "https://example.org" },
        instructions: "Ask nicely."
      })
      assert.deepStrictEqual(yield* session.state, { _tag: "Operating", profile: session.profile })
    }))

  it.effect("[INIT-15] [TOOL-01] what the server has not declared is not asked of it", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ result: RawServer.initializeResult({ capabilities: {} }) })
      const error = yield* Effect.flip(session.callTool("add"))
      assert.deepStrictEqual(error.reason, { _tag: "MissingCapability", capability: "tools" })
      assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
    }))

  it.effect("[INIT-16] Refused: the server's own words, and the connection is closed", () =>
    Effect.gen(function*() {
      const refusal = new McpError.McpError({ code: -32000, message: "not you", data: { why: "because" } })
      const { census, error, link, raw } = yield* attempt((message) =>
        "id" in message && message.id === 0 ? [JsonRpc.failure(0, refusal)] : []
      )
      const { message, reason } = yield* error
      assert.strictEqual(reason._tag, "Refused")
      if (reason._tag !== "Refused") return
      assert.deepStrictEqual([reason.error.code, reason.error.message, reason.error.data], [
        -32000,
        "not you",
        { why: "because" }
      ])
      assert.include(message, "not you")
      assert.isTrue(raw.ended())
      assert.isFalse(link.isOpen())
      assert.deepStrictEqual(names(raw.received), ["initialize"])
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("[INIT-06] [INIT-16] UnsupportedRevision: nothing more is sent, whatever comes behind it", () =>
    Effect.gen(function*() {
      const { census, error, raw, record } = yield* attempt(
        () => [
          JsonRpc.success(0, RawServer.initializeResult({ protocolVersion: "2099-01-01" })),
          JsonRpc.request("behind", "ping", undefined),
          JsonRpc.request("far behind", "roots/list", undefined),
          log
        ],
        { info, revisions: ["2025-06-18", "2025-03-26"] }
      )
      assert.deepStrictEqual((yield* error).reason, {
        _tag: "UnsupportedRevision",
        answered: "2099-01-01",
        supported: ["2025-06-18", "2025-03-26"]
      })
      assert.deepStrictEqual(names(raw.received), ["initialize"])
      assert.isTrue(raw.ended())
      yield* settled
      assert.strictEqual(census.living(), 0)
      assert.deepStrictEqual(record.of("StateChanged").map(({ to }) => to), ["Initializing", "Closed"])
    }))

  it.effect("[INIT-06] a revision this library speaks, but this client was told not to", () =>
    Effect.gen(function*() {
      const { error } = yield* attempt(
        () => [JsonRpc.success(0, RawServer.initializeResult({ protocolVersion: "2024-11-05" }))],
        { info, revisions: ["2025-11-25"] }
      )
      assert.strictEqual((yield* error).reason._tag, "UnsupportedRevision")
    }))

  for (
    const [what, result] of [
      ["nothing", null],
      ["an array", []],
      ["no serverInfo", { protocolVersion: Revision.latest, capabilities: {} }],
      ["no capabilities", { protocolVersion: Revision.latest, serverInfo: info }],
      ["a revision that is a number", RawServer.initializeResult({ protocolVersion: 20251125 })],
      ["instructions that are none", RawServer.initializeResult({ instructions: 42 })]
    ] as const
  ) {
    it.effect(`[INIT-07] [INIT-16] InvalidResult: ${what}`, () =>
      Effect.gen(function*() {
        const { error, raw } = yield* attempt(() => [{ jsonrpc: "2.0", id: 0, result }])
        const { reason } = yield* error
        assert.strictEqual(reason._tag, "InvalidResult")
        assert.isTrue(reason._tag === "InvalidResult" && reason.problem.length > 0 && !reason.problem.includes("\n"))
        assert.deepStrictEqual(names(raw.received), ["initialize"])
        assert.isTrue(raw.ended())
      }))
  }

  it.effect("[INIT-16] [CAN-02] Timeout: after 30 seconds, and nothing is cancelled", () =>
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

  it.effect("[INIT-16] [TMO-04] Timeout: as the limits say, whatever the request deadline is", () =>
    Effect.gen(function*() {
      const { error } = yield* attempt(() => [], { info, limits: { handshake: "2 seconds", requestDeadline: 5 } })
      yield* TestClock.adjust(2000)
      assert.deepStrictEqual((yield* error).reason, { _tag: "Timeout", afterMillis: 2000 })
    }))

  it.effect("[CAN-02] Timeout: an initialize that the transport has not even taken is not cancelled either", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const link = Link.over(pair.client)
      link.stall()
      const raw = yield* RawServer.make(pair.server)
      const made = yield* Effect.forkChild(
        Effect.scoped(Effect.flip(client(link.transport, { limits: { handshake: 1000 } }))),
        { startImmediately: true }
      )
      yield* TestClock.adjust(1000)
      assert.strictEqual((yield* Fiber.join(made)).reason._tag, "Timeout")
      link.recover()
      yield* settled
      assert.deepStrictEqual(names(link.handed), ["initialize"])
      assert.deepStrictEqual(raw.received, [])
    }))

  it.effect("[INIT-16] Closed: the server ends first", () =>
    Effect.gen(function*() {
      const { census, error, raw } = yield* attempt(() => [])
      yield* raw.end
      assert.deepStrictEqual((yield* error).reason, { _tag: "Closed", reason: { _tag: "PeerEnded", exit: undefined } })
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("[INIT-16] Closed: with how a child process exited", () =>
    Effect.gen(function*() {
      const { error, link } = yield* attempt(() => [])
      const exit = { exitCode: 3, signal: undefined, stderr: ["no such module"] }
      yield* settled
      link.endReading(exit)
      const { message, reason } = yield* error
      assert.deepStrictEqual(reason, { _tag: "Closed", reason: { _tag: "PeerEnded", exit } })
      assert.include(message, "no such module")
    }))

  it.effect("[INIT-16] Closed: reading breaks", () =>
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

  it.effect("[INIT-16] Closed: writing initialize breaks", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const link = Link.over(pair.client)
      link.failSends(Link.writeFailed)
      const error = yield* Effect.scoped(Effect.flip(client(link.transport)))
      assert.strictEqual(error.reason._tag, "Closed")
      assert.strictEqual(error.reason._tag === "Closed" && error.reason.reason._tag, "TransportFailed")
      assert.include(error.message, "broken pipe")
      assert.isFalse(link.isOpen())
    }))

  it.effect("ConnectFailed: there is no connection, or only one for somebody else", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, RawServer.shakesHands())
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

  it.effect("it fails only when the connection has been closed", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server, () => [JsonRpc.failure(0, McpError.invalidRequest("no"))])
      let released = false
      const made = yield* Effect.forkChild(
        Effect.flip(client({
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
        })),
        { startImmediately: true }
      )
      yield* TestClock.adjust(49)
      assert.isUndefined(made.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(made)).reason._tag, "Refused")
      assert.isTrue(released)
    }))

  it.effect("[CAN-02] interrupting it closes the connection and leaves no fiber", () =>
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

  it.effect("[CAN-02] interrupting it closes the connection, though its scope lives on", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const link = Link.over(pair.client)
      const raw = yield* RawServer.make(pair.server)
      const scope = yield* Scope.make()
      const made = yield* Effect.forkChild(Scope.provide(client(link.transport), scope), { startImmediately: true })
      yield* raw.receive
      yield* Fiber.interrupt(made)
      yield* settled
      assert.isTrue(raw.ended(), "the connection is open, and nobody has a session for it")
      assert.deepStrictEqual(names(raw.received), ["initialize"])
      yield* Scope.close(scope, Exit.void)
    }))

  it.effect("[INIT-16] Closed: its scope closes meanwhile", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server)
      const scope = yield* Scope.make()
      const made = yield* Effect.forkChild(Effect.flip(Scope.provide(client(pair.client), scope)), {
        startImmediately: true
      })
      yield* raw.receive
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual((yield* Fiber.join(made)).reason, { _tag: "Closed", reason: { _tag: "Requested" } })
      assert.isTrue(raw.ended())
      assert.deepStrictEqual(names(raw.received), ["initialize"])
    }))

  it.effect("[PING-01] [INIT-10] before the answer a ping is answered, a log ignored, a request refused", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const link = Link.over(pair.client)
      const record = recorder()
      const logged: Array<unknown> = []
      const raw = yield* RawServer.make(pair.server)
      const made = yield* Effect.forkChild(
        client(link.transport, {
          observe: record.observe,
          handlers: { "notifications/message": ({ data }) => Effect.sync(() => logged.push(data)) }
        }),
        { startImmediately: true }
      )
      yield* raw.receive
      yield* raw.say(
        JsonRpc.request("early", "ping", undefined),
        log,
        JsonRpc.request("too early", "sampling/createMessage", {}),
        JsonRpc.notification("no/such/notification")
      )
      assert.deepStrictEqual(yield* raw.receive, { jsonrpc: "2.0", id: "early", result: {} })
      const refused = yield* raw.receive
      assert.deepStrictEqual(["id" in refused && refused.id, codeOf(refused)], ["too early", ErrorCode.InvalidRequest])
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method }) => method), [
        "notifications/message",
        "no/such/notification"
      ])
      assert.deepStrictEqual(record.of("Refused").map(({ id, method }) => [id, method]), [[
        "too early",
        "sampling/createMessage"
      ]])
      assert.deepStrictEqual(logged, [])
      yield* raw.say(JsonRpc.success(0, RawServer.initializeResult()))
      const session = yield* Fiber.join(made)
      assert.strictEqual((yield* session.state)._tag, "Operating")
      assert.deepStrictEqual(names(raw.received), ["initialize", "early", "too early", "notifications/initialized"])
    }))

  it.effect("[PING-01] [INIT-08] right behind the answer, in the same chunk, there is a session", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, (message) =>
        "id" in message && message.id === 0
          ? [
            JsonRpc.success(0, RawServer.initializeResult()),
            log,
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

  it.effect("[INIT-08] a second answer to initialize changes nothing, and is no reason to say initialized twice", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      yield* raw.say(
        JsonRpc.success(0, RawServer.initializeResult({ protocolVersion: "2024-11-05", capabilities: {} })),
        JsonRpc.failure(0, McpError.invalidRequest("on second thoughts"))
      )
      assert.strictEqual(session.profile.revision, Revision.latest)
      assert.deepStrictEqual(yield* session.state, { _tag: "Operating", profile: session.profile })
      assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
      assert.strictEqual(record.of("UnmatchedResponse").length, 2)
    }))

  it.effect("a request of the server's that only a client may send is no method of this client", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawServer()
      yield* raw.say(initialize())
      yield* settled
      assert.deepStrictEqual(raw.received.map(codeOf).slice(2), [ErrorCode.MethodNotFound])
    }))
})

const askForRoots = (session: ServerSession.Shape, options?: { readonly deadline?: number }) =>
  session.listRoots(options)

const root = (name: string) => ({ roots: [{ uri: `file:///${name}` }] })

const withRoots = (protocolVersion: string = Revision.latest) =>
  JsonRpc.request(0, "initialize", { protocolVersion, capabilities: { roots: {} }, clientInfo: info })

describe("both sides' transports", () => {
  it.effect("are told of what was negotiated, once, before anything else is said under it", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const told: Array<string> = []
      const telling = (who: string, end: Transport.Transport["Service"]): Transport.Transport["Service"] => ({
        connect: Effect.map(end.connect, (connection) => ({
          ...connection,
          send: (outbound) => {
            told.push(`${who} ${"method" in outbound.message ? outbound.message.method : "answers"}`)
            return connection.send(outbound)
          },
          established: ({ info, revision }) => {
            told.push(`${who} knows ${info.name} ${revision}`)
          }
        }))
      })
      yield* ServerSession.make({}, { info: { name: "s", version: "1" } }).pipe(
        Effect.provideService(Transport.Transport, telling("server", pair.server))
      )
      const session = yield* client(telling("client", pair.client), { revisions: ["2025-06-18"] })
      yield* session.ping()
      assert.deepStrictEqual(told.filter((line) => line.startsWith("client")), [
        "client initialize",
        "client knows s 2025-06-18",
        "client notifications/initialized",
        "client ping"
      ])
      assert.deepStrictEqual(told.filter((line) => line.startsWith("server knows")), ["server knows test 2025-06-18"])
      assert.deepStrictEqual(told.filter((line) => line === "server answers").length, 2)
    }))

  it.effect("are told nothing where nothing was negotiated", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server, () => [
        JsonRpc.success(0, RawServer.initializeResult({ protocolVersion: "1999-01-01" }))
      ])
      let told = 0
      yield* Effect.flip(client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          established: () => {
            told++
          }
        }))
      }))
      assert.strictEqual(told, 0)
    }))
})

describe("a server's handshake", () => {
  for (const { form, pair } of forms) {
    it.effect(`[INIT-04] [INIT-07] what it answers (${form})`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawClient({
          pair,
          handlers: tools({}),
          server: { instructions: "Ask nicely.", capabilities: { logging: {} } }
        })
        const answer = yield* introduce(raw, "2025-03-26")
        assert.deepStrictEqual<unknown>(answer, {
          jsonrpc: "2.0",
          id: 0,
          result: {
            protocolVersion: "2025-03-26",
            capabilities: { tools: {}, logging: {} },
            serverInfo: info,
            instructions: "Ask nicely."
          }
        })
        const profile = yield* session.profile
        assert.deepStrictEqual(profile, { revision: "2025-03-26", capabilities: {}, info })
        assert.deepStrictEqual(yield* session.state, { _tag: "Operating", profile })
      }))
  }

  it.effect("[INIT-05] [INIT-04] only the revisions it was given count; else it answers the newest of them", () =>
    Effect.gen(function*() {
      for (const asked of ["2025-11-25", "1999-01-01", "2025-03-26"]) {
        const { raw } = yield* withRawClient({ server: { revisions: ["2025-06-18", "2024-11-05", "2025-03-26"] } })
        const answer = yield* introduce(raw, asked)
        assert.include(JSON.stringify(answer), asked === "2025-03-26" ? "2025-03-26" : "2025-06-18")
      }
    }))

  it.effect("a handler that is undefined is none", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: { ...tools({}), "tools/call": undefined } as never })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.MethodNotFound)
    }))

  it.effect("law 6: in Opening only ping and initialize have an effect", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* raw.send(call("r", "x"))
      const refused = yield* raw.response
      assert.deepStrictEqual([refused.id, codeOf(refused)], ["r", ErrorCode.InvalidRequest])
      assert.include(JSON.stringify(refused), "Server not initialized")
      yield* raw.send(JsonRpc.request("p", "ping", undefined))
      assert.deepStrictEqual(yield* raw.response, { jsonrpc: "2.0", id: "p", result: {} })
      yield* raw.send(initialized)
      yield* raw.send(log)
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
      assert.deepStrictEqual(yield* session.state, { _tag: "Opening" })
      assert.isFalse(JsonRpc.isFailure(yield* introduce(raw)))
    }))

  it.effect("[INIT-02] a bad initialize is told what does not fit, and the next one may", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      for (const params of [undefined, {}, { ...initialize().params, clientInfo: { name: 1 } }]) {
        yield* raw.send(JsonRpc.request("bad", "initialize", params))
        const answer = yield* raw.response
        assert.deepStrictEqual([answer.id, codeOf(answer)], ["bad", ErrorCode.InvalidParams])
      }
      yield* raw.send({ jsonrpc: "2.0", id: "null", method: "initialize", params: null as never })
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidParams)
      assert.strictEqual((yield* session.state)._tag, "Opening")
      assert.isFalse(JsonRpc.isFailure(yield* introduce(raw)))
    }))

  it.effect("law 6: a second initialize, good or bad, is refused and changes nothing", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient()
      yield* introduce(raw, "2025-06-18")
      const before = yield* session.state
      yield* raw.send({ ...initialize("2024-11-05"), id: 1 })
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidRequest)
      yield* raw.send(JsonRpc.request(2, "initialize", {}))
      assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidRequest)
      yield* raw.send(initialized)
      assert.deepStrictEqual(yield* session.state, before)
      assert.strictEqual((yield* session.profile).revision, "2025-06-18")
      assert.deepStrictEqual(record.of("Refused").map(({ id }) => id), [1, 2])
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method }) => method), [
        "notifications/initialized"
      ])
    }))

  it.effect("[INIT-10] the strict policy refuses requests until the client has said initialized", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { requireInitialized: true }
      })
      yield* raw.send(initialize())
      yield* raw.response
      yield* raw.send(call(1, "x"))
      const refused = yield* raw.response
      assert.deepStrictEqual([refused.id, codeOf(refused)], [1, ErrorCode.InvalidRequest])
      assert.include(JSON.stringify(refused), "Server not initialized")
      yield* raw.send(JsonRpc.request(2, "ping", undefined))
      assert.isFalse(JsonRpc.isFailure(yield* raw.response))
      assert.strictEqual((yield* session.state)._tag, "Negotiated")
      yield* raw.send(initialized)
      yield* raw.send(call(3, "x"))
      assert.deepStrictEqual<unknown>(yield* raw.response, { jsonrpc: "2.0", id: 3, result: text("x") })
    }))

  it.effect("[INIT-10] the usual policy takes a first request for initialized, and a ping not", () =>
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

  it.effect("[INIT-10] [PING-01] a server may ping before initialize", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const ping = yield* Effect.forkChild(session.ping(), { startImmediately: true })
      assert.deepStrictEqual(yield* raw.receive, { jsonrpc: "2.0", id: 1, method: "ping" })
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(ping)
      assert.strictEqual((yield* session.state)._tag, "Opening")
    }))

  it.effect("[INIT-10] requests are held until the client says initialized", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const early = yield* Effect.forkChild(askForRoots(session), { startImmediately: true })
      yield* raw.send(withRoots())
      yield* raw.response
      const later = yield* Effect.forkChild(askForRoots(session), { startImmediately: true })
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

  it.effect("[INIT-10] requests are released by a first request, ahead of its reply", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* raw.send(withRoots())
      yield* raw.response
      yield* Effect.forkChild(askForRoots(session), { startImmediately: true })
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(names(yield* raw.pending), ["roots/list", 1])
    }))

  it.effect("[INIT-10] the strict policy does not release them for a request", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { requireInitialized: true }
      })
      yield* raw.send(withRoots())
      yield* raw.response
      yield* Effect.forkChild(askForRoots(session), { startImmediately: true })
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      yield* raw.send(initialized)
      assert.deepStrictEqual(names(yield* raw.pending), ["roots/list"])
    }))

  it.effect("[TMO-02] the deadline of a held request counts, and then neither it nor a cancellation is sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const held = yield* Effect.forkChild(Effect.flip(askForRoots(session, { deadline: 1000 })), {
        startImmediately: true
      })
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
      const held = yield* Effect.forkChild(askForRoots(session), { startImmediately: true })
      yield* Fiber.interrupt(held)
      yield* raw.send(withRoots())
      yield* raw.response
      yield* raw.send(initialized)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("law 3: a response to a request that is still held is no response to it", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient()
      const held = yield* Effect.forkChild(askForRoots(session), { startImmediately: true })
      yield* raw.send(withRoots())
      yield* raw.response
      yield* raw.send(JsonRpc.success(1, root("guessed")))
      yield* settled
      assert.isUndefined(held.pollUnsafe(), "a guess became the answer")
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Unknown"])
      yield* raw.send(initialized)
      assert.deepStrictEqual(names(yield* raw.pending), ["roots/list"])
      yield* raw.send(JsonRpc.success(1, root("given")))
      assert.deepStrictEqual(yield* Fiber.join(held), root("given"))
    }))

  it.effect("[INIT-15] [ROOT-01] a held request that the client turns out not to support is never sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const held = yield* Effect.forkChild(Effect.flip(askForRoots(session)), { startImmediately: true })
      yield* introduce(raw)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      const exit = held.pollUnsafe()
      assert.isDefined(exit, "it waits for an answer that it must not ask for")
      assert.deepStrictEqual((yield* Fiber.join(held)).reason, { _tag: "MissingCapability", capability: "roots" })
    }))

  it.effect("held requests fail when the session ends", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const held = yield* Effect.forkChild(Effect.flip(askForRoots(session)), { startImmediately: true })
      yield* session.close
      assert.deepStrictEqual((yield* Fiber.join(held)).reason, { _tag: "Closed", reason: { _tag: "Requested" } })
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[INIT-10] [LOG-01] log messages are not held, but there is none in Opening", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ server: { capabilities: { logging: {} } } })
      const early = yield* Effect.flip(session.log({ level: "info", data: "early" }))
      assert.deepStrictEqual(early.reason, { _tag: "NotAllowed", state: "Opening" })
      yield* raw.send(initialize())
      yield* raw.response
      yield* session.log({ level: "info", data: "now" })
      assert.deepStrictEqual(yield* raw.receive, {
        jsonrpc: "2.0",
        method: "notifications/message",
        params: { level: "info", data: "now" }
      })
    }))

  it.effect("[INIT-16] a server that was told to waits only so long for initialize", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawClient({ server: { limits: { opening: "10 seconds" } } })
      yield* raw.send(JsonRpc.request("p", "ping", undefined))
      yield* raw.response
      yield* TestClock.adjust(9999)
      assert.strictEqual((yield* session.state)._tag, "Opening")
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* session.closed, { _tag: "HandshakeTimeout", afterMillis: 10_000 })
      assert.isFalse(link.isOpen())
      assert.strictEqual(record.of("Closed").length, 1)
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[INIT-16] an initialize in time is in time for good", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ server: { limits: { opening: "10 seconds" } } })
      yield* TestClock.adjust(9999)
      yield* raw.send(initialize())
      yield* raw.response
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* session.state)._tag, "Negotiated")
    }))

  it.effect("a server waits for ever, if it was not told otherwise", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* TestClock.adjust("400 days")
      assert.strictEqual((yield* session.state)._tag, "Opening")
      assert.isFalse(JsonRpc.isFailure(yield* introduce(raw)))
    }))

  it.effect("the profile waits for initialize", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      const profile = yield* Effect.forkChild(session.profile, { startImmediately: true })
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
      [string, (it: { readonly session: ServerSession.Shape; readonly link: Link.Link }) => Effect.Effect<void>]
    >
  ) {
    it.effect(`the profile fails with SessionClosed when the session ${how} first`, () =>
      Effect.gen(function*() {
        const { link, session } = yield* withRawClient()
        const profile = yield* Effect.forkChild(Effect.flip(session.profile), { startImmediately: true })
        yield* settled
        yield* end({ session, link })
        const error = yield* Fiber.join(profile)
        assert.strictEqual(error._tag, "SessionClosed")
        assert.deepStrictEqual(error.reason, yield* session.closed)
        assert.deepStrictEqual((yield* Effect.flip(session.profile)).reason, error.reason)
      }))
  }

  it.effect("a client that spoke before the server was there is heard", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const spoken = yield* Effect.forkChild(client(pair.client), { startImmediately: true })
      yield* settled
      yield* ServerSession.make(tools({}), { info }).pipe(Effect.provideService(Transport.Transport, pair.server))
      assert.strictEqual((yield* Fiber.join(spoken)).profile.info.name, "test")
    }))

  it.effect("requests pipelined behind initialize, in one chunk, are served", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* settled
      link.stall()
      link.deliver(initialize())
      link.deliver(initialized)
      link.deliver(call(1, "x"))
      assert.strictEqual((yield* session.state)._tag, "Operating")
      link.recover()
      assert.deepStrictEqual(names(yield* raw.pending), [0, 1])
    }))
})
