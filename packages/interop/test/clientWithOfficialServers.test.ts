/** The client against servers of the official SDKs, each in a child process, at every revision. */
import { type Logging, Revision, type Tool } from "@effect-mcp/protocol"
import { ClientSession, Recording, type RequestError, type SessionEvent } from "@effect-mcp/session"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Child from "./fixtures/child.ts"

const info = { name: "effect-mcp", version: "0.1.0" }

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : "").join()

interface Peer {
  readonly name: string
  readonly file: string
  /** The message of the SDK for an error of a handler. */
  readonly errorMessage: (code: number, message: string) => string
}

const peers: ReadonlyArray<Peer> = [
  { name: "official-v1", file: "serverV1.ts", errorMessage: (code, message) => `MCP error ${code}: ${message}` },
  { name: "official-v2", file: "serverV2.ts", errorMessage: (_, message) => message }
]

const testsWithServer = (peer: Peer, revision: Revision.LegacyRevision) => {
  const logs: Array<Logging.LogMessageParams> = []
  const events: Array<SessionEvent.SessionEvent> = []
  const entries: Array<Recording.Entry> = []
  const startSession = (server: Child.Server) =>
    ClientSession.layer({
      info,
      revisions: [revision],
      observe: (event) => events.push(event),
      handlers: { "notifications/message": (message) => Effect.sync(() => logs.push(message)) }
    }).pipe(Layer.provide(Recording.layer((entry) => entries.push(entry))), Layer.provide(server.transport))

  layer(startSession(Child.server(Child.file(peer.file))), { excludeTestServices: true })((it) => {
    const aborted = Effect.map(
      Effect.flatMap(ClientSession.ClientSession, (session) => session.callTool("aborted")),
      (result) => Number(textOf(result))
    )

    it.effect("[INIT-02] [INIT-04] [INIT-07] [INIT-08] completes the handshake", () =>
      Effect.gen(function*() {
        const { profile, state } = yield* ClientSession.ClientSession
        assert.strictEqual(profile.revision, revision)
        assert.strictEqual(profile.info.name, peer.name)
        assert.deepStrictEqual(profile.capabilities, { tools: {}, logging: {} })
        assert.strictEqual(profile.instructions, "Be kind.")
        assert.strictEqual((yield* state)._tag, "Operating")
        assert.deepStrictEqual(events, [
          { _tag: "StateChanged", from: "Idle", to: "Initializing" },
          { _tag: "StateChanged", from: "Initializing", to: "Operating" }
        ])
      }))

    it.effect("[PING-01] sends ping", () => Effect.flatMap(ClientSession.ClientSession, (session) => session.ping()))

    it.effect("[PAG-03] lists the tools", () =>
      Effect.gen(function*() {
        const { listTools } = yield* ClientSession.ClientSession
        const { nextCursor, tools } = yield* listTools()
        assert.isUndefined(nextCursor)
        assert.deepStrictEqual(
          tools.map(({ name }) => name),
          ["add", "count", "fail", "error", "crash", "log", "aborted"]
        )
        assert.deepStrictEqual(tools[0]?.inputSchema, { type: "object" })
      }))

    it.effect("[MSG-07] calls a tool once and many times concurrently", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        assert.strictEqual(textOf(yield* callTool("add", { a: 15, b: 27 })), "42")
        const numbers = Array.from({ length: 100 }, (_, index) => index)
        const sums = yield* Effect.forEach(numbers, (a) => callTool("add", { a, b: 1 }), { concurrency: "unbounded" })
        assert.deepStrictEqual(sums.map(textOf), numbers.map((a) => String(a + 1)))
      }))

    it.effect("a failed tool is a result with isError", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const result = yield* callTool("fail", { message: "no beads" })
        assert.isTrue(result.isError)
        assert.strictEqual(textOf(result), "no beads")
      }))

    it.effect("[MSG-10] [MSG-27] an error of the server has its code, message and data", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const errorOf = (name: string) =>
          Effect.map(Effect.flip(callTool(name)), ({ reason }) => {
            assert(reason._tag === "ErrorResponse")
            const { code, data, message } = reason.error
            return { code, data, message }
          })
        assert.deepStrictEqual(yield* errorOf("error"), {
          code: -32000,
          message: peer.errorMessage(-32000, "not today"),
          data: { retry: "tomorrow" }
        })
        assert.deepStrictEqual(yield* errorOf("subtract"), {
          code: -32602,
          message: peer.errorMessage(-32602, "Unknown tool: subtract"),
          data: undefined
        })
        // These servers disclose the message of a defect. The client passes it on.
        assert.deepStrictEqual(yield* errorOf("crash"), {
          code: -32603,
          message: "the abacus has lost a bead",
          data: undefined
        })
      }))

    it.effect("[INIT-14] [INIT-15] a request without its capability fails with MissingCapability, unsent", () =>
      Effect.gen(function*() {
        const session = yield* ClientSession.ClientSession
        const before = entries.length
        const reason = <A>(request: Effect.Effect<A, RequestError.RequestError>) =>
          Effect.map(Effect.flip(request), ({ reason }) => reason)
        const missing = (capability: string) => ({ _tag: "MissingCapability" as const, capability })
        assert.deepStrictEqual(yield* reason(session.listPrompts()), missing("prompts"))
        assert.deepStrictEqual(yield* reason(session.getPrompt("any")), missing("prompts"))
        assert.deepStrictEqual(yield* reason(session.listResources()), missing("resources"))
        assert.deepStrictEqual(yield* reason(session.listResourceTemplates()), missing("resources"))
        assert.deepStrictEqual(yield* reason(session.readResource("file:///any")), missing("resources"))
        assert.deepStrictEqual(yield* reason(session.subscribeResource("file:///any")), missing("resources.subscribe"))
        // The client sends no notification of a capability that it has not declared itself.
        assert.deepStrictEqual(yield* reason(session.rootsListChanged), {
          _tag: "UndeclaredCapability",
          capability: "roots.listChanged",
          option: "capabilities: { roots: { listChanged: true } }"
        })
        assert.strictEqual(entries.length, before)
        const completion = yield* reason(
          session.complete({ ref: { type: "ref/prompt", name: "any" }, argument: { name: "any", value: "" } })
        )
        // The first revision has completion, but no capability for it.
        if (revision !== "2024-11-05") return assert.deepStrictEqual(completion, missing("completions"))
        assert(completion._tag === "ErrorResponse")
        assert.strictEqual(completion.error.code, -32601)
      }))

    it.effect("[PRG-01] [PRG-03] [PRG-04] progress arrives in order and before the result", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const received: Array<unknown> = []
        const result = yield* callTool("count", { to: 20, delayMs: 1 }, {
          onProgress: ({ progress, total }) => Effect.sync(() => received.push([progress, total]))
        })
        received.push(textOf(result))
        assert.deepStrictEqual(received, [...Array.from({ length: 20 }, (_, index) => [index + 1, 20]), "20"])
      }))

    it.effect("[CAN-01] [CAN-04] interrupting a call aborts its handler, and no response arrives", () =>
      Effect.gen(function*() {
        const { callTool, inFlight } = yield* ClientSession.ClientSession
        const before = yield* aborted
        const started = yield* Deferred.make<void>()
        const call = yield* Effect.forkChild(
          callTool("count", { to: 1000, delayMs: 10 }, { onProgress: () => Deferred.succeed(started, undefined) })
        )
        yield* Deferred.await(started)
        yield* Fiber.interrupt(call)
        assert.deepStrictEqual(yield* inFlight, { sent: 0, served: 0 })
        while ((yield* aborted) === before) yield* Effect.sleep("5 millis")
        assert.strictEqual(yield* aborted, before + 1)
        assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "UnmatchedResponse"), [])
      }))

    it.effect("[TMO-03] [TMO-04] a timeout aborts the handler", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const before = yield* aborted
        const error = yield* Effect.flip(callTool("count", { to: 1, delayMs: 60_000 }, { timeout: "50 millis" }))
        assert.deepStrictEqual(error.reason, { _tag: "Timeout", afterMillis: 50 })
        while ((yield* aborted) === before) yield* Effect.sleep("5 millis")
      }))

    it.effect("[LOG-01] log messages arrive", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        yield* callTool("log", { message: { beads: 3 } })
        yield* Child.until(() => logs.length > 0)
        assert.deepStrictEqual(logs, [{ level: "info", data: { beads: 3 } }])
      }))
  })

  it.live("[STD-07] closing ends the server's input, and the server exits by itself", () =>
    Effect.gen(function*() {
      const server = Child.serverWith({ exitTimeout: "1 minute" }, Child.file(peer.file))
      const session = yield* Effect.provide(ClientSession.ClientSession, startSession(server))
      assert.deepStrictEqual(yield* session.closed, { _tag: "Requested" })
      assert.deepStrictEqual(server.stderr, ["exited with 0"])
      assert.isFalse(Child.isRunning(server.pid()))
      const error = yield* Effect.flip(session.callTool("add", { a: 1, b: 2 }))
      assert.deepStrictEqual(error.reason, { _tag: "Closed", reason: { _tag: "Requested" }, isSent: false })
    }))
}

for (const peer of peers) {
  for (const revision of Revision.legacy) {
    describe(`a server of ${peer.name} at ${revision}`, () => {
      testsWithServer(peer, revision)
    })
  }
}

describe("a server with one old revision", () => {
  const old: Revision.LegacyRevision = "2025-03-26"
  const server = () => Child.server(Child.file("serverV2.ts"), old)

  it.live("[INIT-03] [INIT-05] [INIT-12] is offered the newest revision, and its own is used", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      assert.strictEqual(session.profile.revision, old)
      assert.strictEqual(textOf(yield* session.callTool("add", { a: 15, b: 27 })), "42")
    }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), server().transport))))

  it.live("[INIT-06] [INIT-16] is rejected by a client that does not support its revision", () =>
    Effect.gen(function*() {
      const child = server()
      const error = yield* ClientSession.ClientSession.pipe(
        Effect.provide(Layer.provide(ClientSession.layer({ info, revisions: ["2025-11-25"] }), child.transport)),
        Effect.flip
      )
      assert.deepStrictEqual(error.reason, {
        _tag: "UnsupportedRevision",
        chosen: old,
        supported: ["2025-11-25"]
      })
      assert.isFalse(Child.isRunning(child.pid()))
    }))
})

describe("a server that exits before the handshake", () => {
  it.live("[INIT-16] [STD-05] is reported with its exit code and its last lines of stderr", () =>
    Effect.gen(function*() {
      const error = yield* ClientSession.ClientSession.pipe(
        Effect.provide(
          Layer.provide(ClientSession.layer({ info }), Child.server(Child.everything, "carrier-pigeon").transport)
        ),
        Effect.flip
      )
      assert(error.reason._tag === "Closed")
      assert(error.reason.reason._tag === "PeerEnded")
      assert.strictEqual(error.reason.reason.exit?.exitCode, 1)
      assert.include(error.message, "Unknown transport: carrier-pigeon")
    }))
})
