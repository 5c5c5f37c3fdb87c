/** A client of every revision, and servers of stdio that answer `server/discover` in different ways. */
import { Content, Revision } from "@effect-mcp/protocol"
import { ClientSession, type SessionEvent } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

const program = path.join(import.meta.dirname, "../fixtures/probedServer.ts")

/** Connects to the server in this mode. */
const connect = Effect.fnUntraced(function*(mode: string, options: Partial<ClientSession.Options> = {}) {
  const log = path.join(yield* temporaryDirectory, "methods")
  const events: Array<SessionEvent.SessionEvent> = []
  const transport = StdioClient.layerNode({ command: process.execPath, args: [program, mode, log] })
  const session = ClientSession.layer({
    info: { name: "client", version: "1.0.0" },
    revisions: Revision.supported,
    observe: (event) => void events.push(event),
    ...options
  })
  return {
    events,
    methods: () => fs.existsSync(log) ? fs.readFileSync(log, "utf8").trim().split("\n") : [],
    session: Effect.map(
      Layer.build(Layer.provide(session, transport)),
      (context) => Context.get(context, ClientSession.ClientSession)
    )
  }
})

describe.concurrent("a client of every revision over stdio", () => {
  it.live("speaks 2026-07-28 with a server of it, which starts once", () =>
    Effect.gen(function*() {
      const { methods, session } = yield* connect("modern")
      const { callTool, profile } = yield* session
      assert.deepStrictEqual((yield* callTool("x")).content, [Content.text("x")])
      assert.deepStrictEqual([profile.revision, profile.info.name], ["2026-07-28", "modern"])
      assert.deepStrictEqual(methods(), ["server/discover", "tools/call"])
    }))

  it.live("[VER-16] keeps its process after conversations that end, are idle, fail or are interrupted", () =>
    Effect.gen(function*() {
      const { methods, session } = yield* connect("modern")
      const { callTool, close } = yield* session
      const conversation = Effect.map(callTool("pid"), ({ content }) => content)
      const first = yield* conversation
      yield* Effect.sleep("100 millis")
      yield* Effect.flip(callTool("wait", {}, { timeout: "50 millis" }))
      const waiting = yield* Effect.forkChild(callTool("wait"), { startImmediately: true })
      yield* Effect.sleep("50 millis")
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(yield* conversation, first)
      assert.deepStrictEqual(methods().filter((method) => method !== "notifications/cancelled"), [
        "server/discover",
        ...Array.from({ length: 4 }, () => "tools/call")
      ])
      yield* close
    }))

  it.live("initializes in the same process after an error", () =>
    Effect.gen(function*() {
      const { methods, session } = yield* connect("error")
      const { callTool, profile } = yield* session
      yield* callTool("x")
      assert.strictEqual(profile.revision, "2025-11-25")
      assert.deepStrictEqual(methods(), ["server/discover", "initialize", "notifications/initialized", "tools/call"])
    }))

  it.live("starts a server again that exits on the probe, and sends it no probe", () =>
    Effect.gen(function*() {
      const { events, methods, session } = yield* connect("exit")
      const { callTool, close, profile } = yield* session
      yield* callTool("x")
      assert.strictEqual(profile.revision, "2025-11-25")
      assert.deepStrictEqual(
        methods(),
        ["server/discover", "initialize", "notifications/initialized", "tools/call"]
      )
      const fallbacks = events.flatMap((event) => event._tag === "FellBack" ? [event.problem] : [])
      assert.lengthOf(fallbacks, 1)
      assert.include(fallbacks[0], "ExpectedInitializeRequest")
      assert.notInclude(events.map(({ _tag }) => _tag), "Closed")
      yield* close
    }))

  for (const mode of ["exit late", "error and exit"]) {
    it.live(`starts a server again that ends only at initialize (${mode})`, () =>
      Effect.gen(function*() {
        const { events, methods, session } = yield* connect(mode, { limits: { discoverTimeout: "300 millis" } })
        const { callTool, profile } = yield* session
        yield* callTool("x")
        assert.strictEqual(profile.revision, "2025-11-25")
        assert.deepStrictEqual(
          methods(),
          ["server/discover", "initialize", "initialize", "notifications/initialized", "tools/call"]
        )
        assert.notInclude(events.map(({ _tag }) => _tag), "Closed")
      }))
  }

  for (const mode of ["silent", "late"]) {
    it.live(`initializes in the same process if the server stays ${mode}`, () =>
      Effect.gen(function*() {
        const { events, methods, session } = yield* connect(mode, { limits: { discoverTimeout: "300 millis" } })
        const { callTool, profile, state } = yield* session
        yield* callTool("x")
        assert.strictEqual(profile.revision, "2025-11-25")
        assert.strictEqual((yield* state)._tag, "Operating")
        assert.deepStrictEqual(methods(), ["server/discover", "initialize", "notifications/initialized", "tools/call"])
        assert.deepStrictEqual(
          events.flatMap((event) => event._tag === "UnmatchedResponse" ? [event.kind] : []),
          mode === "late" ? ["Late"] : []
        )
      }))
  }

  it.live("[VER-08] starts a server of 2026-07-28 again that was too slow for the probe, and waits for it", () =>
    Effect.gen(function*() {
      const { events, methods, session } = yield* connect("slow", { limits: { discoverTimeout: "300 millis" } })
      const { callTool, profile } = yield* session
      yield* callTool("x")
      assert.strictEqual(profile.revision, "2026-07-28")
      assert.deepStrictEqual(methods(), ["server/discover", "initialize", "server/discover", "tools/call"])
      assert.notInclude(events.map(({ _tag }) => _tag), "Closed")
    }))

  it.live("waits for a server that has written nothing, because it has not started", () =>
    Effect.gen(function*() {
      const { events, methods, session } = yield* connect("slow start", { limits: { discoverTimeout: "300 millis" } })
      const { profile } = yield* session
      assert.strictEqual(profile.revision, "2026-07-28")
      assert.deepStrictEqual(methods(), ["server/discover"])
      assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "FellBack"), [])
    }))

  it.live("[VER-19] initializes a server that has written nothing as soon as it answers ping", () =>
    Effect.gen(function*() {
      const { events, methods, session } = yield* connect("answers ping", { limits: { discoverTimeout: "300 millis" } })
      const { profile } = yield* session
      assert.strictEqual(profile.revision, "2025-11-25")
      assert.deepStrictEqual(methods().slice(0, 3), ["server/discover", "ping", "initialize"])
      assert.deepStrictEqual(events.flatMap((event) => event._tag === "FellBack" ? [event] : []), [
        { _tag: "FellBack", problem: "it did not answer server/discover within 300 ms", isGuess: true }
      ])
    }))

  it.live("initializes a server that has written nothing for the time of a handshake", () =>
    Effect.gen(function*() {
      const limits = { discoverTimeout: "6 seconds", handshakeTimeout: "6 seconds" } as const
      const { events, methods, session } = yield* connect("mute", { limits })
      const { profile } = yield* session
      assert.strictEqual(profile.revision, "2025-11-25")
      assert.deepStrictEqual(methods().slice(0, 2), ["server/discover", "initialize"])
      assert.deepStrictEqual(events.flatMap((event) => event._tag === "FellBack" ? [event] : []), [
        { _tag: "FellBack", problem: "it did not answer server/discover within 6000 ms", isGuess: true }
      ])
    }))

  it.live("fails with the first line that is no message, and their number, and reports that line at once", () =>
    Effect.gen(function*() {
      const limits = { discoverTimeout: "300 millis", handshakeTimeout: "4 seconds" } as const
      const { events, session } = yield* connect("prints", { limits })
      const { message, reason } = yield* Effect.flip(session)
      const first = "Welcome to the server"
      assert.deepStrictEqual(reason, {
        _tag: "Timeout",
        afterMillis: 4000,
        stray: { first, count: 2, isPrinted: true }
      })
      assert.include(
        message,
        `it sent 2 texts that are no messages, the first of them: "${first}"; a server over stdio`
      )
      assert.deepStrictEqual(events.flatMap((event) => event._tag === "StrayText" ? [event.text] : []), [first])
    }))

  it.live("of 2026-07-28 only, it fails with the exit of the server, which starts once", () =>
    Effect.gen(function*() {
      const { methods, session } = yield* connect("exit", { revisions: ["2026-07-28"] })
      const { message } = yield* Effect.flip(session)
      assert.include(message, "ExpectedInitializeRequest")
      assert.deepStrictEqual(methods(), ["server/discover"])
    }))

  it.live("of older revisions only, it fails at a server of 2026-07-28 with the revisions of that server", () =>
    Effect.gen(function*() {
      const { methods, session } = yield* connect("modern", { revisions: ["2025-11-25"] })
      const { reason } = yield* Effect.flip(session)
      assert.deepStrictEqual(reason, {
        _tag: "NoCommonRevision",
        offered: ["2026-07-28"],
        supported: ["2025-11-25"]
      })
      assert.deepStrictEqual(methods(), ["initialize"])
    }))

  it.live("a command that does not exist is started once", () =>
    Effect.gen(function*() {
      const session = ClientSession.layer({ info: { name: "client", version: "1.0.0" }, revisions: Revision.supported })
      const transport = StdioClient.layerNode({ command: "/no/such/program" })
      const { reason } = yield* Effect.flip(Layer.build(Layer.provide(session, transport)))
      assert.strictEqual(reason._tag, "ConnectFailed")
    }))
})
