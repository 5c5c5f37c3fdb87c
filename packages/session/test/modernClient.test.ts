/** The client of revision 2026-07-28, and its choice between the revisions with and without a handshake. */
import { JsonRpc, Logging, McpError, type Profile, RequestMetadata, Revision } from "@effect-mcp/protocol"
import {
  type ClientSession,
  type HandshakeError,
  MemoryTransport,
  RequestContext,
  type Transport
} from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { connectedStateless, discoverResult, replyToDiscover, withModernServer } from "./support/modernServers.ts"
import * as RawServer from "./support/RawServer.ts"
import { client, type ClientOptions, info, names, recorder, settled, start, text, tools } from "./support/sessions.ts"

const { keys } = RequestMetadata

const metaOf = (message: JsonRpc.Message | undefined): unknown =>
  message !== undefined && "params" in message ? message.params?.["_meta"] : undefined

/** Connects to a scripted server. */
const connectTo = Effect.fnUntraced(function*(
  script: RawServer.Script,
  options: ClientOptions & { readonly pair?: Effect.Effect<MemoryTransport.Pair> } = {}
) {
  const { pair: given, ...clientOptions } = options
  const pair = yield* given ?? MemoryTransport.make()
  const record = recorder()
  const raw = yield* RawServer.make(pair.server, script)
  const connecting = yield* start(
    client(pair.client, { observe: record.observe, revisions: Revision.supported, ...clientOptions })
  )
  yield* settled
  return { raw, record, connecting }
})

const reasonOf = (fiber: Fiber.Fiber<unknown, HandshakeError.HandshakeError>) =>
  Effect.map(Effect.flip(Fiber.join(fiber)), ({ reason }) => reason)

/** Answers `server/discover` with an error, and `initialize` with a result. */
const failing = (error: JsonRpc.ErrorObject): RawServer.Script =>
  RawServer.replyToInitialize((message) =>
    JsonRpc.isRequest(message) && message.method === "server/discover" ? [JsonRpc.failure(message.id, error)] : []
  )

/** A transport that connects to one end of a pair after the other. */
const inTurn = (ends: ReadonlyArray<MemoryTransport.Pair>): Transport.Transport["Service"] => {
  let next = 0
  return { connect: Effect.suspend(() => ends[next++]?.client.connect ?? Effect.die(new Error("no more connections"))) }
}

const legacyErrors: ReadonlyArray<JsonRpc.ErrorObject> = [
  { code: -32601, message: "Method not found" },
  { code: -32602, message: "Invalid params" },
  { code: -32600, message: "Server not initialized" },
  { code: -32000, message: "Bad Request" },
  { code: -32022, message: "no list" },
  { code: -32021, message: "no capabilities", data: {} }
]

describe("a session without a handshake", () => {
  it.effect("[STD-19] begins with server/discover alone, and has the server's profile", () =>
    Effect.gen(function*() {
      const { record, sent, session } = yield* connectedStateless(tools({ answer: Effect.succeed(text("42")) }), {
        server: { instructions: "Ask." }
      })
      assert.deepStrictEqual(session.profile, {
        revision: "2026-07-28",
        capabilities: { tools: {}, logging: {} },
        info: { name: "stateless", version: "2.0.0" },
        instructions: "Ask."
      })
      const { content } = yield* session.callTool("answer")
      assert.deepStrictEqual(content, text("42").content)
      assert.deepStrictEqual(names(sent), ["server/discover", "tools/call"])
      assert.strictEqual((yield* session.state)._tag, "Modern")
      assert.deepStrictEqual(record.of("StateChanged").map(({ to }) => to), ["Probing", "Modern"])
    }))

  it.effect("[VER-01] [VER-02] every request carries the revision and the client, and keeps the caller's _meta", () =>
    Effect.gen(function*() {
      const { sent, session } = yield* connectedStateless(tools({ answer: Effect.succeed(text("42")) }), {
        client: { handlers: { "roots/list": () => Effect.succeed({ roots: [] }) } }
      })
      yield* session.callTool("answer", {}, { meta: { "example.com/own": 1, [keys.protocolVersion]: "1900-01-01" } })
      const own = {
        [keys.protocolVersion]: "2026-07-28",
        [keys.clientCapabilities]: { roots: {} },
        [keys.clientInfo]: info
      }
      assert.deepStrictEqual(sent.map(metaOf), [own, { "example.com/own": 1, ...own }])
    }))

  it.effect("a server that sends no name is unnamed, and unusable info counts as none", () =>
    Effect.gen(function*() {
      for (const _meta of [undefined, {}, { [keys.serverInfo]: { name: 1 } }]) {
        const script: RawServer.Script = (message) =>
          JsonRpc.isRequest(message) ? [JsonRpc.success(message.id, discoverResult({ _meta }))] : []
        const { connecting } = yield* connectTo(script)
        const session = yield* Fiber.join(connecting)
        assert.deepStrictEqual(session.profile.info, { name: "unnamed", version: "unknown" })
      }
    }).pipe(Effect.scoped))

  it.effect("messages and methods of the handshake revisions fail here, and nothing is sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer({ client: { capabilities: { roots: { listChanged: true } } } })
      const failures = yield* Effect.forEach([
        session.ping(),
        session.request("resources/subscribe", { uri: "file:///a" }),
        session.request("logging/setLevel", { level: "info" })
      ], (effect) => Effect.flip<void | object, { readonly reason: { readonly _tag: string } }, never>(effect))
      assert.deepStrictEqual(
        failures.map(({ reason }) => reason._tag),
        Array.from({ length: 3 }, () => "NotInRevision")
      )
      assert.include(String(failures[0]), "revision 2025-11-25 is the last one that does")
      // A server that needs the roots asks for them.
      yield* session.rootsListChanged
      assert.deepStrictEqual(names(raw.received), ["server/discover"])
    }))

  it.effect("setLogLevel sends nothing, and later requests ask for log messages of that level", () =>
    Effect.gen(function*() {
      const { sent, session } = yield* connectedStateless(tools({
        log: Effect.andThen(
          Effect.flatMap(
            RequestContext.RequestContext,
            ({ log }) => Effect.forEach(Logging.levels, (level) => log({ level, data: level }))
          ),
          Effect.succeed(text("logged"))
        )
      }))
      const logged: Array<string> = []
      yield* session.callTool("log")
      yield* session.setLogLevel("critical")
      yield* Effect.forkScoped(
        Stream.runForEach(
          session.notifications("notifications/message"),
          ({ level }) => Effect.sync(() => logged.push(level))
        ),
        { startImmediately: true }
      )
      assert.deepStrictEqual(names(sent), ["server/discover", "tools/call"])
      yield* session.callTool("log")
      const metas = sent.map((message) => JSON.stringify(metaOf(message)))
      assert.deepStrictEqual(metas.map((meta) => meta.includes("\"critical\"")), [false, false, true])
      yield* settled
      assert.deepStrictEqual(logged, ["critical", "alert", "emergency"])
    }))

  it.effect("requests ask for all log messages while a stream or a handler receives them, unless a level is set", () =>
    Effect.gen(function*() {
      const levels = (sent: ReadonlyArray<JsonRpc.Message>) =>
        sent.map((message) => JSON.stringify(metaOf(message))).map((meta) => /"(debug|error)"/.exec(meta)?.[1])
      const followed = yield* connectedStateless(tools({ answer: Effect.succeed(text("42")) }))
      const following = yield* start(Stream.runDrain(followed.session.notifications("notifications/message")))
      yield* followed.session.callTool("answer")
      yield* Fiber.interrupt(following)
      yield* followed.session.callTool("answer")
      assert.deepStrictEqual(levels(followed.sent), [undefined, "debug", undefined])

      const handlers = { "notifications/message": () => Effect.void }
      const handled = yield* connectedStateless(tools({ answer: Effect.succeed(text("42")) }), {
        client: { handlers }
      })
      yield* handled.session.callTool("answer")
      yield* handled.session.setLogLevel("error")
      yield* handled.session.callTool("answer")
      assert.deepStrictEqual(levels(handled.sent), [undefined, "debug", "error"])

      const silent = yield* withModernServer({
        client: { handlers },
        result: discoverResult({ capabilities: { tools: {} } }),
        script: (message) => JsonRpc.isRequest(message) ? [JsonRpc.success(message.id, { tools: [] })] : []
      })
      yield* silent.session.listTools()
      assert.deepStrictEqual(levels(silent.raw.received), [undefined, undefined])
    }))

  it.effect("results have the members of their methods, and not those of all results of the revision", () =>
    Effect.gen(function*() {
      const meta = { [keys.serverInfo]: { name: "raw-server", version: "1.0.0" } }
      const { session } = yield* withModernServer({
        script: (message) =>
          JsonRpc.isRequest(message)
            ? [JsonRpc.success(message.id, {
              resultType: "complete",
              tools: [],
              ttlMs: 5,
              cacheScope: "public",
              _meta: message.params?.["cursor"] === "own" ? { ...meta, "example.com/own": 1 } : meta
            })]
            : []
      })
      const { tools: _, ...shared } = yield* session.listTools()
      assert.deepStrictEqual<unknown>(shared, { ttlMs: 5, cacheScope: "public" })
      const own = yield* session.listTools({ cursor: "own" })
      assert.deepStrictEqual(own._meta, { "example.com/own": 1 })
    }))

  it.effect("setLogLevel needs a server that logs", () =>
    Effect.gen(function*() {
      const { session } = yield* connectedStateless({}, { server: { capabilities: { logging: false } } as never })
      const { reason } = yield* Effect.flip(session.setLogLevel("info"))
      assert.deepStrictEqual(reason, { _tag: "MissingCapability", capability: "logging" })
    }))

  it.effect("[STD-11] requests of the server get no response, pings included", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withModernServer({
        client: { handlers: { "roots/list": () => Effect.succeed({ roots: [] }) } }
      })
      yield* raw.send(
        JsonRpc.request("a", "ping", undefined),
        JsonRpc.request("b", "roots/list", undefined),
        { jsonrpc: "2.0", id: "c", method: 1 }
      )
      yield* settled
      assert.deepStrictEqual(names(raw.received), ["server/discover"])
      assert.deepStrictEqual(record.of("RequestIgnored").map(({ method }) => method), ["ping", "roots/list"])
      const closing = yield* start(session.close)
      yield* raw.send(JsonRpc.request("d", "ping", undefined))
      yield* Fiber.join(closing)
      assert.deepStrictEqual(names(raw.received), ["server/discover"])
    }))

  it.effect("the output of a tool may be any JSON value, and its schema of any type, and a program gets both", () =>
    Effect.gen(function*() {
      const inputSchema = { type: "object" }
      const tool = (name: string, outputSchema: object) => ({ name, inputSchema, outputSchema })
      const object = { type: "object", properties: { sum: { type: "number" } } }
      const outputs: { readonly [name: string]: object } = {
        sum: { content: [], structuredContent: { sum: 3 } },
        wrong: { content: [], structuredContent: { sum: "3" } },
        word: { content: [], structuredContent: "beans" },
        words: { content: [{ type: "text", text: "some beans" }], structuredContent: ["some", "beans"] },
        none: { content: [], structuredContent: null }
      }
      const { session } = yield* withModernServer({
        client: {
          validator: {
            compile: () => Result.succeed((value) => JSON.stringify(value).includes("\"3\"") ? "no number" : undefined)
          }
        },
        script: (message) => {
          if (!JsonRpc.isRequest(message)) return []
          const name = String(message.params?.["name"])
          const tools = [
            tool("sum", object),
            tool("wrong", object),
            tool("word", { type: "string" }),
            tool("words", {})
          ]
          const result = message.method === "tools/list" ? { tools } : outputs[name] ?? {}
          return [JsonRpc.success(message.id, { resultType: "complete", ...result })]
        }
      })
      const { tools } = yield* session.listTools()
      assert.deepStrictEqual<unknown>(tools, [
        tool("sum", object),
        tool("wrong", object),
        tool("word", { type: "string" }),
        tool("words", {})
      ])
      for (const name of ["sum", "word", "words", "none"]) {
        assert.deepStrictEqual<unknown>(yield* session.callTool(name), outputs[name])
      }
      // Every schema is checked (TOOL-08).
      assert.strictEqual((yield* Effect.flip(session.callTool("wrong"))).reason._tag, "InvalidResult")
    }).pipe(Effect.scoped))

  it.effect("[MSG-19] [MSG-20] a result without resultType is complete, and one of another type is invalid", () =>
    Effect.gen(function*() {
      const types = [undefined, "complete", "task", 7, { toString: 1 }, "input_required"]
      const { session } = yield* withModernServer({
        script: (message) =>
          JsonRpc.isRequest(message)
            ? [JsonRpc.success(message.id, { tools: [], resultType: types[Number(message.params?.["cursor"])] })]
            : []
      })
      const outcomes = yield* Effect.forEach(
        types.keys(),
        (cursor) =>
          Effect.match(session.listTools({ cursor: String(cursor) }), {
            onFailure: ({ message }) => message,
            onSuccess: () => "complete"
          })
      )
      assert.deepStrictEqual(outcomes, [
        "complete",
        "complete",
        "tools/list: the result is invalid: resultType \"task\" is not known",
        "tools/list: the result is invalid: resultType is not a text",
        "tools/list: the result is invalid: resultType is not a text",
        "tools/list: the result is invalid: the server asks questions in answer to tools/list, which must have a result"
      ])
    }))

  it.effect("[MSG-24] a missing resource has the code of this revision, or that of an older server", () =>
    Effect.gen(function*() {
      const uri = "file:///a"
      const errors = [
        { code: -32002, message: "Resource not found", data: { uri } },
        { code: -32002, message: "Resource not found" },
        { code: -32602, message: "Resource not found", data: { uri } },
        { code: -32602, message: "Invalid params" },
        { code: -32603, message: "Internal error", data: { uri } }
      ]
      let next = 0
      const { session } = yield* withModernServer({
        script: (message) =>
          JsonRpc.isRequest(message)
            ? [JsonRpc.failure(message.id, errors[next++] ?? { code: 0, message: "no more errors" })]
            : []
      })
      const received = yield* Effect.forEach(errors, () => Effect.flip(session.readResource(uri)))
      assert.deepStrictEqual(
        received.map(({ reason }) => reason._tag === "ErrorResponse" && McpError.isResourceNotFound(reason.error)),
        [true, true, true, false, false]
      )
    }))

  it.effect("[STD-14] an interrupted call is cancelled by a notification on one stream", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer()
      const calling = yield* start(session.callTool("wait"))
      yield* settled
      yield* Fiber.interrupt(calling)
      yield* settled
      const [, call, cancelled] = raw.received
      assert.deepStrictEqual(names(raw.received), ["server/discover", "tools/call", "notifications/cancelled"])
      assert.deepStrictEqual(
        cancelled !== undefined && "params" in cancelled ? cancelled.params?.["requestId"] : undefined,
        call !== undefined && "id" in call ? call.id : undefined
      )
    }))

  it.effect("[MSG-06] requests that are in flight at the same time have different ids", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer()
      yield* Effect.forEach([1, 2, 3], () => start(session.callTool("wait")))
      yield* settled
      yield* raw.send(JsonRpc.success(2, text("done")))
      yield* Effect.forEach([1, 2], () => start(session.listTools({ cursor: "x" })))
      yield* settled
      const calls = raw.received.slice(1)
      assert.strictEqual(calls.length, 5)
      assert.strictEqual(new Set(calls.map((message) => "id" in message ? message.id : undefined)).size, 5)
    }))

  it.effect("[CAN-10] a cancellation names a request in flight, and an answered or unsent one gets none", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer()
      const [first, second, third] = yield* Effect.all([
        start(session.callTool("a")),
        start(session.callTool("b", {}, { onProgress: () => Effect.never })),
        start(session.callTool("c"))
      ])
      // The caller is interrupted after the response, while it handles progress that arrived before.
      yield* raw.send(
        JsonRpc.notification("notifications/progress", { progressToken: 2, progress: 1 }),
        JsonRpc.success(2, text("done"))
      )
      yield* Effect.forEach([first, second, third], Fiber.interrupt)
      yield* settled
      yield* Effect.flip(session.callTool("d", {}, { timeout: 0 }))
      const cancellations = raw.received.filter((message) =>
        "method" in message && message.method === "notifications/cancelled"
      )
      assert.deepStrictEqual(
        cancellations.map((message) => "params" in message ? message.params?.["requestId"] : undefined),
        [1, 3]
      )
    }))

  it.effect("the end of its stream alone cancels a call that has one", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const { sent, session } = yield* connectedStateless(
        tools({
          wait: Effect.onInterrupt(Effect.never, () => Effect.sync(() => void seen.push("interrupted")))
        }),
        { server: { isStreamed: true } }
      )
      const calling = yield* start(session.callTool("wait"))
      yield* settled
      yield* Fiber.interrupt(calling)
      yield* settled
      assert.deepStrictEqual(names(sent), ["server/discover", "tools/call"])
      assert.deepStrictEqual(seen, ["interrupted"])
    }))

  it.effect("progress arrives in order and before the result", () =>
    Effect.gen(function*() {
      const { session } = yield* connectedStateless(tools({
        count: Effect.as(
          Effect.forEach([1, 2, 3], (progress) => RequestContext.progress({ progress })),
          text("3")
        )
      }))
      const steps: Array<number> = []
      yield* session.callTool("count", {}, {
        onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
      })
      assert.deepStrictEqual(steps, [1, 2, 3])
    }))
})

describe("the choice of a revision", () => {
  it.effect("a client of handshake revisions only sends no probe", () =>
    Effect.gen(function*() {
      const { connecting, raw } = yield* connectTo(RawServer.replyToInitialize(), { revisions: Revision.legacy })
      yield* Fiber.join(connecting)
      yield* settled
      assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
    }))

  for (const error of legacyErrors) {
    it.effect(`[STD-20] [STD-22] error ${error.code} (${error.message}) to the probe leads to initialize`, () =>
      Effect.gen(function*() {
        const { connecting, raw, record } = yield* connectTo(failing(error))
        const session = yield* Fiber.join(connecting)
        yield* settled
        assert.strictEqual(session.profile.revision, "2025-11-25")
        assert.deepStrictEqual(names(raw.received), ["server/discover", "initialize", "notifications/initialized"])
        assert.isFalse(raw.received.slice(1).some((message) => RequestMetadata.isIn(metaOf(message))))
        assert.deepStrictEqual(record.of("FellBack").map(({ problem }) => problem), [
          `it answered server/discover with error ${error.code}`
        ])
      }))
  }

  it.effect("a result of another kind leads to initialize", () =>
    Effect.gen(function*() {
      for (
        const result of [{}, discoverResult({ supportedVersions: "2026-07-28" }), discoverResult({ resultType: "x" })]
      ) {
        const { connecting } = yield* connectTo(RawServer.replyToInitialize((message) =>
          JsonRpc.isRequest(message) ? [JsonRpc.success(message.id, result)] : []
        ))
        assert.strictEqual((yield* Fiber.join(connecting)).profile.revision, "2025-11-25")
      }
    }).pipe(Effect.scoped))

  it.effect("[STD-22] silence until discoverTimeout leads to initialize, and a late answer changes nothing", () =>
    Effect.gen(function*() {
      const { connecting, raw, record } = yield* connectTo(RawServer.replyToInitialize(), {
        limits: { discoverTimeout: "3 seconds" }
      })
      yield* TestClock.adjust("2999 millis")
      assert.deepStrictEqual(names(raw.received), ["server/discover"])
      yield* TestClock.adjust("1 millis")
      yield* raw.send(JsonRpc.success(0, discoverResult()))
      const session = yield* Fiber.join(connecting)
      yield* raw.send(JsonRpc.success(0, discoverResult()))
      yield* settled
      assert.deepStrictEqual(names(raw.received), ["server/discover", "initialize", "notifications/initialized"])
      assert.strictEqual((yield* session.state)._tag, "Operating")
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Late", "Late"])
    }))

  /** Answers `initialize` as a server without a handshake does, and no probe. */
  const startsSlowly: RawServer.Script = (message) =>
    JsonRpc.isRequest(message) && message.method === "initialize"
      ? [JsonRpc.failure(message.id, { code: -32022, message: "Unsupported", data: { supported: ["2026-07-28"] } })]
      : []

  it.effect("[VER-08] a server that was silent, and has no handshake, is asked again over another connection", () =>
    Effect.gen(function*() {
      const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make()] as const
      const first = yield* RawServer.make(pairs[0].server, startsSlowly)
      const second = yield* RawServer.make(pairs[1].server)
      const record = recorder()
      const connecting = yield* start(
        client(inTurn(pairs), { revisions: Revision.supported, observe: record.observe })
      )
      yield* TestClock.adjust("5 seconds")
      yield* settled
      assert.deepStrictEqual(names(first.received), ["server/discover", "initialize"])
      assert.isTrue(first.ended())
      // This connection has the time of a handshake, because only an answer to the probe can establish a session.
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual(names(second.received), ["server/discover"])
      yield* second.send(JsonRpc.success(0, discoverResult()))
      assert.strictEqual((yield* Fiber.join(connecting)).profile.revision, "2026-07-28")
      assert.strictEqual(record.of("FellBack").length, 1)
      assert.strictEqual(record.of("Closed").length, 0)
    }))

  for (const id of [null, undefined]) {
    it.effect(`an error whose id is ${id} answers the probe, and leads to initialize at once`, () =>
      Effect.gen(function*() {
        const { connecting, raw, record } = yield* connectTo(
          RawServer.replyToInitialize((message) =>
            JsonRpc.isRequest(message) ? [JsonRpc.failure(id, { code: -32600, message: "Invalid request" })] : []
          )
        )
        yield* settled
        assert.deepStrictEqual(names(raw.received), ["server/discover", "initialize", "notifications/initialized"])
        assert.strictEqual((yield* Fiber.join(connecting)).profile.revision, "2025-11-25")
        assert.deepStrictEqual(record.of("UnmatchedResponse"), [])
        assert.deepStrictEqual(record.of("Tolerated").map(({ method, problem }) => [method, problem]), [
          ["server/discover", "the error has no id"]
        ])
        assert.deepStrictEqual(record.of("FellBack").map(({ isGuess, problem }) => [isGuess, problem]), [
          [true, "it answered server/discover with error -32600"]
        ])
      }))
  }

  it.effect("an error without an id answers no probe of a client without a handshake, and no initialize", () =>
    Effect.gen(function*() {
      const noId = JsonRpc.failure(null, { code: -32600, message: "Invalid request" })
      const modern = yield* connectTo(() => [noId], { revisions: ["2026-07-28"] })
      yield* settled
      yield* modern.raw.send(JsonRpc.success(0, discoverResult()))
      assert.strictEqual((yield* Fiber.join(modern.connecting)).profile.revision, "2026-07-28")
      assert.deepStrictEqual(modern.record.of("UnmatchedResponse").map(({ kind }) => kind), ["NoId"])
      const twice = yield* connectTo((message) => JsonRpc.isRequest(message) ? [noId] : [])
      yield* settled
      assert.deepStrictEqual(names(twice.raw.received), ["server/discover", "initialize"])
      assert.isUndefined(twice.connecting.pollUnsafe())
      assert.deepStrictEqual(twice.record.of("UnmatchedResponse").map(({ kind }) => kind), ["NoId"])
    }).pipe(Effect.scoped))

  it.effect("[VER-08] a server that answers the probe without its id, and has no handshake, is asked again", () =>
    Effect.gen(function*() {
      const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make()] as const
      const first = yield* RawServer.make(
        pairs[0].server,
        (message) =>
          JsonRpc.isRequest(message) && message.method === "server/discover"
            ? [JsonRpc.failure(null, { code: -32700, message: "Parse error" })]
            : startsSlowly(message)
      )
      const second = yield* RawServer.make(pairs[1].server)
      const connecting = yield* start(client(inTurn(pairs), { revisions: Revision.supported }))
      yield* settled
      assert.deepStrictEqual(names(first.received), ["server/discover", "initialize"])
      yield* second.send(JsonRpc.success(0, discoverResult()))
      assert.strictEqual((yield* Fiber.join(connecting)).profile.revision, "2026-07-28")
    }))

  it.effect("[VER-19] a server that was asked again gets the time of a handshake at once in later sessions", () =>
    Effect.gen(function*() {
      const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make(), yield* MemoryTransport.make()]
      const transport = inTurn(pairs)
      const [first, second, third] = yield* Effect.forEach(
        pairs,
        ({ server }, index) => RawServer.make(server, index === 0 ? startsSlowly : undefined)
      )
      const connecting = yield* start(client(transport, { revisions: Revision.supported }))
      yield* TestClock.adjust("5 seconds")
      yield* settled
      yield* second?.send(JsonRpc.success(0, discoverResult())) ?? Effect.void
      yield* Fiber.join(connecting)
      const again = yield* start(client(transport, { revisions: Revision.supported }))
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual([first, third].map((raw) => names(raw?.received ?? [])), [
        ["server/discover", "initialize"],
        ["server/discover"]
      ])
      yield* third?.send(JsonRpc.success(0, discoverResult())) ?? Effect.void
      assert.strictEqual((yield* Fiber.join(again)).profile.revision, "2026-07-28")
    }))

  it.effect("a server that has no handshake, and then stays silent, fails with the time that the client waited", () =>
    Effect.gen(function*() {
      const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make()] as const
      yield* RawServer.make(pairs[0].server, startsSlowly)
      yield* RawServer.make(pairs[1].server)
      const record = recorder()
      const connecting = yield* start(
        client(inTurn(pairs), { revisions: Revision.supported, observe: record.observe })
      )
      yield* TestClock.adjust("5 seconds")
      yield* settled
      yield* TestClock.adjust("30 seconds")
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.include(error.message, "the server did not respond to server/discover within 30000 ms")
      assert.deepStrictEqual(record.of("Closed").map(({ reason }) => reason._tag), ["HandshakeTimeout"])
    }))

  it.effect("a server that has no handshake, and then rejects the probe as well, fails with the first rejection", () =>
    Effect.gen(function*() {
      const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make()] as const
      yield* RawServer.make(pairs[0].server, startsSlowly)
      const second = yield* RawServer.make(pairs[1].server, failing({ code: -32601, message: "Method not found" }))
      const record = recorder()
      const connecting = yield* start(
        client(inTurn(pairs), { revisions: Revision.supported, observe: record.observe })
      )
      yield* TestClock.adjust("5 seconds")
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.include(error.message, "the server rejected initialize with error -32022")
      assert.deepStrictEqual(names(second.received), ["server/discover"])
      assert.include(JSON.stringify(record.of("Closed")), "the server rejected initialize with error -32022")
      assert.strictEqual(record.of("Closed").length, 1)
    }))

  it.effect("[VER-08] a server that was silent, and has no handshake, fails over a transport for one session", () =>
    Effect.gen(function*() {
      const { connecting, raw, record } = yield* connectTo(startsSlowly)
      yield* TestClock.adjust("5 seconds")
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.include(error.message, "the server rejected initialize with error -32022")
      assert.deepStrictEqual(record.of("Closed").map(({ reason }) => reason._tag), ["HandshakeFailed"])
      assert.deepStrictEqual(names(raw.received), ["server/discover", "initialize"])
    }))

  it.effect("a server that rejects the probe and initialize is not asked again, although it names a revision", () =>
    Effect.gen(function*() {
      const contradicting: RawServer.Script = (message) =>
        JsonRpc.isRequest(message) && message.method === "server/discover"
          ? [JsonRpc.failure(message.id, { code: -32601, message: "Method not found" })]
          : startsSlowly(message)
      const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make()] as const
      const first = yield* RawServer.make(pairs[0].server, contradicting)
      const second = yield* RawServer.make(pairs[1].server)
      const error = yield* Effect.flip(client(inTurn(pairs), { revisions: Revision.supported }))
      assert.strictEqual(error.reason._tag, "Rejected")
      assert.deepStrictEqual(names(first.received), ["server/discover", "initialize"])
      assert.deepStrictEqual(names(second.received), [])
    }))

  it.effect("a client of 2026-07-28 only gives a server that starts slowly the time of a handshake", () =>
    Effect.gen(function*() {
      const { connecting, raw } = yield* connectTo(() => [], { revisions: ["2026-07-28"] })
      yield* TestClock.adjust("29 seconds")
      yield* raw.send(JsonRpc.success(0, discoverResult()))
      assert.strictEqual((yield* Fiber.join(connecting)).profile.revision, "2026-07-28")
      const silent = yield* connectTo(() => [], { revisions: ["2026-07-28"] })
      yield* TestClock.adjust("30 seconds")
      const error = yield* Effect.flip(Fiber.join(silent.connecting))
      assert.include(error.message, "it did not answer server/discover within 30000 ms; add an older revision")
    }).pipe(Effect.scoped))

  it.effect("silence says nothing if each request has a stream of its own: connecting fails as Timeout", () =>
    Effect.gen(function*() {
      const { connecting, raw } = yield* connectTo(RawServer.replyToInitialize(), {
        pair: MemoryTransport.makeMultiStream()
      })
      yield* TestClock.adjust("30 seconds")
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.include(error.message, "did not respond to server/discover within 30000 ms")
      assert.deepStrictEqual(names(raw.received), ["server/discover"])
    }))

  it.effect("a client of 2026-07-28 only fails with an error that names the way out", () =>
    Effect.gen(function*() {
      const { connecting, raw } = yield* connectTo(failing({ code: -32601, message: "Method not found" }), {
        revisions: ["2026-07-28"]
      })
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.strictEqual(
        error.message,
        "the handshake failed: the server does not serve a revision without a handshake: it answered server/discover " +
          "with error -32601; add an older revision to the option `revisions`"
      )
      assert.deepStrictEqual(names(raw.received), ["server/discover"])
      assert.isTrue(raw.ended())
    }))

  it.effect("[VER-08] no common revision fails with the lists of both sides", () =>
    Effect.gen(function*() {
      const offered = ["2027-01-01", "2028-01-01"]
      const scripts = [
        failing({ code: -32022, message: "Unsupported", data: { supported: offered, requested: "2026-07-28" } }),
        replyToDiscover(undefined, discoverResult({ supportedVersions: offered }))
      ]
      for (const script of scripts) {
        const { connecting, raw } = yield* connectTo(script)
        const { message, reason } = yield* Effect.flip(Fiber.join(connecting))
        assert.deepStrictEqual(reason, { _tag: "NoCommonRevision", offered, supported: Revision.supported })
        assert.isTrue(message.endsWith("; update this client, or serve one of its revisions"), message)
        assert.deepStrictEqual(names(raw.received), ["server/discover"])
      }
    }).pipe(Effect.scoped))

  it.effect("a client of older revisions fails at a server of 2026-07-28, whether or not it names its revision", () =>
    Effect.gen(function*() {
      const remedy = "; add 2026-07-28 to the option `revisions`"
      const named = { supported: ["2026-07-28"], requested: "2025-11-25" }
      const errors: ReadonlyArray<readonly [tag: string, error: JsonRpc.ErrorObject]> = [
        ["NoCommonRevision", { code: -32022, message: "Unsupported", data: named }],
        ["ModernServer", { code: -32022, message: "Unsupported" }],
        ["ModernServer", { code: -32020, message: "the header MCP-Protocol-Version is missing" }]
      ]
      const rejecting = (error: JsonRpc.ErrorObject): RawServer.Script => (message) =>
        JsonRpc.isRequest(message) ? [JsonRpc.failure(message.id, error)] : []
      for (const [tag, error] of errors) {
        const { connecting } = yield* connectTo(rejecting(error), { revisions: Revision.legacy })
        const { message, reason } = yield* Effect.flip(Fiber.join(connecting))
        assert.strictEqual(reason._tag, tag)
        assert.isTrue(message.endsWith(remedy), message)
      }
      // Errors of another kind say nothing about revisions, and one that names a common revision contradicts itself.
      const others: ReadonlyArray<JsonRpc.ErrorObject> = [
        { code: -32602, message: "no" },
        { code: -32022, message: "no", data: { supported: ["2025-06-18"] } }
      ]
      for (const error of others) {
        const { connecting } = yield* connectTo(rejecting(error), { revisions: Revision.legacy })
        assert.strictEqual((yield* reasonOf(connecting))._tag, "Rejected")
      }
    }).pipe(Effect.scoped))

  it.effect("the lists of a server in an error are bounded", () =>
    Effect.gen(function*() {
      const supported = Array.from({ length: 1000 }, () => "x".repeat(1000))
      const { connecting } = yield* connectTo(failing({ code: -32022, message: "Unsupported", data: { supported } }))
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.isBelow(error.message.length, 2000)
    }))

  it.effect("a server that names an older revision only is asked for it by initialize", () =>
    Effect.gen(function*() {
      const { connecting } = yield* connectTo(
        failing({ code: -32022, message: "Unsupported", data: { supported: ["2025-06-18"] } })
      )
      assert.strictEqual((yield* Fiber.join(connecting)).profile.revision, "2025-11-25")
    }))

  it.effect("[VER-08] a rejection that names a common revision is followed by one more probe, and not by a third", () =>
    Effect.gen(function*() {
      const rejection = { code: -32022, message: "Unsupported", data: { supported: ["2026-07-28"] } }
      let probes = 0
      const once: RawServer.Script = (message) => {
        if (!JsonRpc.isRequest(message)) return []
        return probes++ === 0
          ? [JsonRpc.failure(message.id, rejection)]
          : [JsonRpc.success(message.id, discoverResult())]
      }
      const first = yield* connectTo(once)
      assert.strictEqual((yield* Fiber.join(first.connecting)).profile.revision, "2026-07-28")
      const second = yield* connectTo(failing(rejection))
      const reason = yield* reasonOf(second.connecting)
      assert.deepInclude(reason, { _tag: "Rejected", method: "server/discover" })
      assert.deepStrictEqual(names(second.raw.received), ["server/discover", "server/discover"])
    }).pipe(Effect.scoped))

  it.effect("[STD-21] an error of 2026-07-28 is no reason for initialize", () =>
    Effect.gen(function*() {
      const errors = [
        { code: -32020, message: "Header mismatch" },
        { code: -32021, message: "Needs roots", data: { requiredCapabilities: { roots: {} } } }
      ]
      for (const error of errors) {
        const { connecting, raw } = yield* connectTo(failing(error))
        assert.include(
          (yield* Effect.flip(Fiber.join(connecting))).message,
          `rejected server/discover with error ${error.code}`
        )
        assert.deepStrictEqual(names(raw.received), ["server/discover"])
      }
    }).pipe(Effect.scoped))

  it.effect("an interruption during the probe closes the connection", () =>
    Effect.gen(function*() {
      const { connecting, raw } = yield* connectTo(() => [])
      yield* Fiber.interrupt(connecting)
      yield* settled
      assert.isTrue(raw.ended())
      assert.deepStrictEqual(names(raw.received), ["server/discover"])
    }))

  it.effect("a session with a handshake sends no metadata of another one that a proxy forwards", () =>
    Effect.gen(function*() {
      const { connecting, raw } = yield* connectTo(
        RawServer.replyToInitialize((message) =>
          JsonRpc.isRequest(message) ? [JsonRpc.success(message.id, text("ok"))] : []
        ),
        { revisions: Revision.legacy }
      )
      const session = yield* Fiber.join(connecting)
      const meta = { "example.com/own": 1, [keys.protocolVersion]: "2026-07-28", [keys.clientCapabilities]: {} }
      yield* session.callTool("a", {}, { meta })
      yield* session.request("tools/call", { name: "a", _meta: meta })
      assert.deepStrictEqual(raw.received.slice(2).map(metaOf), [{ "example.com/own": 1 }, { "example.com/own": 1 }])
    }))
})

describe("a server that does not survive the probe", () => {
  const endsOnProbe = Effect.fnUntraced(function*(pair: MemoryTransport.Pair) {
    const raw = yield* RawServer.make(pair.server)
    yield* start(Effect.andThen(raw.receive, raw.end))
    return raw
  })

  it.effect("is connected again, without a probe", () =>
    Effect.gen(function*() {
      const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make()] as const
      const first = yield* endsOnProbe(pairs[0])
      const second = yield* RawServer.make(pairs[1].server, RawServer.replyToInitialize())
      const record = recorder()
      const session = yield* client(inTurn(pairs), { revisions: Revision.supported, observe: record.observe })
      yield* settled
      assert.strictEqual(session.profile.revision, "2025-11-25")
      assert.deepStrictEqual(names(first.received), ["server/discover"])
      assert.deepStrictEqual(names(second.received), ["initialize", "notifications/initialized"])
      assert.strictEqual(record.of("FellBack").length, 1)
      assert.strictEqual(record.of("Closed").length, 0)
      yield* session.close
      assert.strictEqual(record.of("Closed").length, 1)
    }))

  it.effect("is connected again if it ends only after initialize, because it has started late", () =>
    Effect.gen(function*() {
      const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make()] as const
      const first = yield* RawServer.make(pairs[0].server)
      yield* RawServer.make(pairs[1].server, RawServer.replyToInitialize())
      const connecting = yield* start(client(inTurn(pairs), { revisions: Revision.supported }))
      yield* TestClock.adjust("5 seconds")
      yield* settled
      assert.deepStrictEqual(names(first.received), ["server/discover", "initialize"])
      yield* first.end
      assert.strictEqual((yield* Fiber.join(connecting)).profile.revision, "2025-11-25")
    }))

  it.effect("is connected again if it answers the probe with an error and then ends", () =>
    Effect.gen(function*() {
      const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make()] as const
      const error = { code: -32600, message: "Expected initialize" }
      const first = yield* RawServer.make(pairs[0].server, (message) =>
        JsonRpc.isRequest(message) && message.method === "server/discover" ? [JsonRpc.failure(message.id, error)] : [])
      yield* start(Effect.andThen(first.receive, Effect.andThen(first.receive, first.end)))
      const second = yield* RawServer.make(pairs[1].server, RawServer.replyToInitialize())
      const session = yield* client(inTurn(pairs), { revisions: Revision.supported })
      yield* settled
      assert.strictEqual(session.profile.revision, "2025-11-25")
      assert.deepStrictEqual(names(first.received), ["server/discover", "initialize"])
      assert.deepStrictEqual(names(second.received), ["initialize", "notifications/initialized"])
    }))

  /** Answers the probe with an error, and then rejects `initialize` as well, because a session has begun. */
  const spoiled = (message: string): RawServer.Script => (received) =>
    JsonRpc.isRequest(received)
      ? [JsonRpc.failure(received.id, {
        code: -32000,
        message: received.method === "initialize" ? message : "Bad Request"
      })]
      : []

  it.effect("is connected again, without a probe, if it then rejects initialize, and this is remembered", () =>
    Effect.gen(function*() {
      const pairs = yield* Effect.forEach([1, 2, 3], () => MemoryTransport.make())
      const servers = yield* Effect.forEach(
        pairs,
        ({ server }, index) =>
          RawServer.make(server, index === 0 ? spoiled("Server already initialized") : RawServer.replyToInitialize())
      )
      const record = recorder()
      const transport = inTurn(pairs)
      const session = yield* client(transport, { revisions: Revision.supported, observe: record.observe })
      yield* settled
      assert.strictEqual(session.profile.revision, "2025-11-25")
      assert.strictEqual(record.of("Closed").length, 0)
      assert.include(record.of("FellBack").at(-1)?.problem, "Server already initialized")
      yield* session.close
      assert.strictEqual(record.of("Closed").length, 1)
      yield* client(transport, { revisions: Revision.supported })
      yield* settled
      const opening = ["initialize", "notifications/initialized"]
      assert.deepStrictEqual(servers.map(({ received }) => names(received)), [
        ["server/discover", "initialize"],
        opening,
        opening
      ])
    }))

  it.effect("fails with the rejection of initialize if it rejects that on each of two connections", () =>
    Effect.gen(function*() {
      for (const second of ["no entry", undefined]) {
        const pairs = [yield* MemoryTransport.make(), yield* MemoryTransport.make()] as const
        const first = yield* RawServer.make(pairs[0].server, spoiled("not now"))
        const unsupported = { code: -32022, message: "Unsupported", data: { supported: ["2026-07-28"] } }
        yield* RawServer.make(
          pairs[1].server,
          second === undefined
            ? (message) => JsonRpc.isRequest(message) ? [JsonRpc.failure(message.id, unsupported)] : []
            : spoiled(second)
        )
        const record = recorder()
        const error = yield* Effect.flip(
          client(inTurn(pairs), { revisions: Revision.supported, observe: record.observe })
        )
        assert.include(error.message, `the server rejected initialize with error -32000: ${second ?? "not now"}`)
        assert.isTrue(first.ended())
        assert.strictEqual(record.of("Closed").length, 1)
      }
    }).pipe(Effect.scoped))

  it.effect("fails with the rejection of initialize over a transport for one session", () =>
    Effect.gen(function*() {
      const { connecting, raw, record } = yield* connectTo(spoiled("not now"))
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.include(error.message, "the server rejected initialize with error -32000: not now")
      assert.deepStrictEqual(names(raw.received), ["server/discover", "initialize"])
      assert.deepStrictEqual(record.of("Closed").map(({ reason }) => reason._tag), ["HandshakeFailed"])
    }))

  it.effect("fails a client of 2026-07-28 only, and one whose transport connects once", () =>
    Effect.gen(function*() {
      for (const revisions of [["2026-07-28"], Revision.supported] as const) {
        const pair = yield* MemoryTransport.make()
        yield* endsOnProbe(pair)
        const record = recorder()
        const connecting = client(pair.client, { revisions, observe: record.observe })
        const reason = yield* Effect.map(Effect.flip(connecting), ({ reason }) => reason)
        assert.deepStrictEqual(reason, { _tag: "Closed", reason: { _tag: "PeerEnded", exit: undefined } })
        assert.deepStrictEqual(record.of("Closed").map(({ reason }) => reason._tag), ["PeerEnded"])
      }
    }))

  it.effect("a server that answers the probe and ends later is not connected again", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withModernServer()
      yield* raw.end
      const reason = yield* session.closed
      assert.strictEqual(reason._tag, "PeerEnded")
      assert.strictEqual(record.of("Closed").length, 1)
    }))

  it.effect("a server that ends after the handshake, whose probe was never answered, has ended", () =>
    Effect.gen(function*() {
      const { connecting, raw, record } = yield* connectTo(RawServer.replyToInitialize())
      yield* TestClock.adjust("5 seconds")
      const session = yield* Fiber.join(connecting)
      yield* raw.end
      assert.strictEqual((yield* session.closed)._tag, "PeerEnded")
      assert.strictEqual(record.of("Closed").length, 1)
    }))
})

it("the options accept any revision, and a profile of the new one has the type of its state", () => {
  const options: ClientSession.Options = { info, revisions: ["2026-07-28", "2024-11-05"] }
  const profile: Profile.ModernServerProfile = {
    revision: "2026-07-28",
    capabilities: {},
    info,
    instructions: undefined
  }
  assert.deepStrictEqual([options.revisions?.length, profile.revision], [2, "2026-07-28"])
})
