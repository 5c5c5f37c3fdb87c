/** The sessions of a supervised client in virtual time: their preparation, their loss, and the calls meanwhile. */
import { McpClient, type ServerStatus } from "@effect-mcp/client"
import { McpError, Revision, type Tool } from "@effect-mcp/protocol"
import type { Handlers } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as RecordedServer from "./fixtures/RecordedServer.ts"
import * as SimulatedServer from "./support/SimulatedServer.ts"
import { virtually } from "./support/virtually.ts"

const info = { name: "host", version: "1.0.0" }

const eras = { "with a handshake": Revision.legacy, "2026-07-28": Revision.modern } as const

/** Makes a client of a server with a handshake. It connects again after a second. */
const connect = (server: SimulatedServer.SimulatedServer, options: Partial<McpClient.Options> = {}) =>
  McpClient.make(server.target, {
    info,
    revisions: Revision.legacy,
    reconnect: Schedule.spaced("1 second"),
    healthCheck: false,
    ...options
  })

const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkScoped(effect, { startImmediately: true })

const now = Effect.clockWith((clock) => clock.currentTimeMillis)

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((part) => part.type === "text" ? part.text : part.type).join()

/** Collects the statuses from now on. The first is the present one. */
const statusesOf = Effect.fnUntraced(function*(client: McpClient.McpClientShape) {
  const statuses: Array<ServerStatus.ServerStatus> = []
  yield* fork(Stream.runForEach(client.statuses, (status) => Effect.sync(() => statuses.push(status))))
  return { statuses, tags: () => statuses.map(({ _tag }) => _tag) }
})

/** Handlers of a server that answers `logging/setLevel` in some processes, and records it. */
const levels = (isAnswered: (process: number, time: number) => boolean) => {
  const set: Array<number> = []
  const handlers = (process: number): Handlers.Handlers<"client"> => ({
    "logging/setLevel": () => {
      set.push(process)
      return isAnswered(process, set.length) ? Effect.succeed({}) : Effect.never
    }
  })
  return { set, handlers }
}

describe("the log level", () => {
  it("that a new server does not answer holds calls for 5 seconds, and not longer", () =>
    virtually(Effect.gen(function*() {
      const { handlers, set } = levels((process) => process === 1)
      const server = SimulatedServer.make({ handlers })
      const client = yield* connect(server, { waitTimeout: "20 seconds" })
      yield* client.session
      yield* client.setLogLevel("error")
      yield* server.kill
      const since = yield* now
      assert.strictEqual(textOf(yield* client.callTool("pid")), "2")
      assert.deepStrictEqual(set, [1, 2])
      assert.strictEqual((yield* now) - since, 6_000)
    })))

  it("that a server rejects does not hold calls", () =>
    virtually(Effect.gen(function*() {
      const server = SimulatedServer.make({
        handlers: () => ({ "logging/setLevel": () => Effect.fail(McpError.invalidParams("no levels")) })
      })
      const client = yield* connect(server)
      yield* Effect.flip(client.setLogLevel("error"))
      yield* server.kill
      const since = yield* now
      assert.strictEqual(textOf(yield* client.callTool("pid")), "2")
      assert.strictEqual((yield* now) - since, 1_000)
    })))
})

describe("a session that has begun to close", () => {
  it("is taken by no call: they wait for the next one", () =>
    virtually(Effect.gen(function*() {
      const server = SimulatedServer.make()
      let attempts = 0
      const asked = yield* Deferred.make<void>()
      const client = yield* connect(server, {
        // The session does not end before this handler.
        handlers: {
          "roots/list": () =>
            Effect.as(Effect.andThen(Deferred.succeed(asked, undefined), Effect.sleep("2 seconds")), { roots: [] })
        },
        middleware: {
          outbound: (request, next) => {
            if ("name" in request.params && request.params.name === "quick") attempts++
            return next(request)
          }
        }
      })
      const first = yield* client.session
      yield* fork(Effect.ignore(client.callTool("roots")))
      yield* Deferred.await(asked)
      const closing = yield* fork(first.close)
      const [second, result] = yield* Effect.all([client.session, client.callTool("quick", { key: "later" })], {
        concurrency: "unbounded"
      })
      assert.isDefined(closing.pollUnsafe())
      assert.isFalse(second === first)
      assert.strictEqual(textOf(result), "later")
      assert.strictEqual(attempts, 1)
      assert.strictEqual(server.processes(), 2)
    })))

  it("is not opened again by the renewal of an HTTP session that it did not survive", () =>
    virtually(Effect.gen(function*() {
      const { handlers, set } = levels((process, time) => process > 1 || time === 1)
      const server = SimulatedServer.make({ handlers })
      const client = yield* connect(server)
      yield* client.session
      yield* client.setLogLevel("error")
      const { tags } = yield* statusesOf(client)
      server.report({ _tag: "SessionRenewed" })
      yield* Effect.sleep("1 second")
      assert.deepStrictEqual(set, [1, 1])
      yield* server.kill
      yield* Effect.sleep("1 minute")
      assert.deepStrictEqual(set, [1, 1, 2])
      assert.deepStrictEqual(tags(), ["Ready", "Closing", "Down", "Connecting", "Ready"])
    })))

  it("is not opened if its server ends while the log level is set", () =>
    virtually(Effect.gen(function*() {
      const { handlers } = levels((process) => process !== 2)
      const server = SimulatedServer.make({ handlers })
      const client = yield* connect(server)
      yield* client.session
      yield* client.setLogLevel("error")
      yield* server.kill
      yield* Effect.sleep(1)
      const waiting = yield* fork(client.session)
      const { tags } = yield* statusesOf(client)
      yield* Effect.sleep("2 seconds")
      yield* server.kill
      const session = yield* Fiber.join(waiting)
      assert.strictEqual(server.processes(), 3)
      assert.strictEqual((yield* session.state)._tag, "Operating")
      yield* Effect.sleep(1)
      assert.deepStrictEqual(tags(), ["Down", "Connecting", "Down", "Connecting", "Ready"])
    })))
})

describe("a server that hangs", () => {
  for (const [era, revisions] of Object.entries(eras)) {
    it(`[PING-02] is checked once in each interval, ${era}`, () =>
      virtually(Effect.gen(function*() {
        const checks: Array<number> = []
        const client = yield* connect(SimulatedServer.make(), {
          revisions,
          healthCheck: { interval: "1 minute", timeout: "7 seconds" },
          middleware: {
            outbound: (request, next) =>
              request.method === "ping" || request.method === "server/discover"
                ? Effect.andThen(Effect.tap(now, (time) => Effect.sync(() => checks.push(time))), next(request))
                : next(request)
          }
        })
        yield* client.session
        checks.length = 0
        const opened = yield* now
        yield* Effect.sleep("3 minutes")
        yield* Effect.sleep("30 seconds")
        assert.deepStrictEqual(checks.map((time) => Math.round((time - opened) / 1_000)), [60, 120, 180])
      })))

    it(`[PING-03] is down because it did not answer a health check in time, ${era}`, () =>
      virtually(Effect.gen(function*() {
        const logged: Array<unknown> = []
        const server = SimulatedServer.make()
        const client = yield* connect(server, {
          revisions,
          healthCheck: { interval: "1 minute", timeout: "7 seconds" }
        }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))])))
        yield* client.session
        const { statuses } = yield* statusesOf(client)
        // Whatever is sent after the session has opened is not stalled, because that would end the session first.
        yield* Effect.sleep("1 second")
        server.stall()
        yield* Effect.sleep("90 seconds")
        const down = statuses.find((status) => status._tag === "Down")
        assert.deepStrictEqual(down?.problem, { _tag: "Unresponsive", afterMillis: 7_000 })
        assert.lengthOf(logged, 1)
        assert.include(String(logged), "7000 ms")
        assert.strictEqual((yield* client.status)._tag, "Ready")
      })))
  }
})

/** The annotations of a tool in the list of one process: its hint, nothing, or the list is not read. */
type Declared = "readOnlyHint" | "idempotentHint" | undefined | "not read"

const declarations: ReadonlyArray<readonly [before: Declared, after: Declared, outcome: "repeated" | "unknown"]> = [
  ["idempotentHint", "idempotentHint", "repeated"],
  ["readOnlyHint", "readOnlyHint", "repeated"],
  ["readOnlyHint", "idempotentHint", "repeated"],
  ["idempotentHint", undefined, "unknown"],
  ["readOnlyHint", undefined, "unknown"],
  [undefined, "idempotentHint", "unknown"],
  [undefined, "readOnlyHint", "unknown"],
  [undefined, undefined, "unknown"],
  ["not read", "idempotentHint", "unknown"],
  ["not read", undefined, "unknown"]
]

for (const [era, revisions] of Object.entries(eras)) {
  /** Calls a tool once, kills its server, and returns the outcome of the call. */
  const lose = Effect.fnUntraced(function*(before: Declared, after: Declared, trusted: boolean) {
    const server = SimulatedServer.make({
      handlers: (process) => {
        const hint = process === 1 ? before : after
        const tool = { name: "once", inputSchema: { type: "object" } } as const
        return {
          "tools/list": () =>
            Effect.succeed({ tools: [hint === undefined ? tool : { ...tool, annotations: { [hint]: true } }] })
        }
      }
    })
    const client = yield* connect(server, { revisions, trusted })
    if (before !== "not read") yield* client.tools
    const calling = yield* fork(Effect.match(client.callTool("once", { key: "a" }), {
      onSuccess: () => "repeated",
      onFailure: (error) =>
        error._tag === "RequestError" && error.reason._tag === "OutcomeUnknown" ? "unknown" : error.message
    }))
    yield* Effect.sleep("1 second")
    assert.strictEqual(server.count("once a"), 1)
    yield* server.kill
    const outcome = yield* Fiber.join(calling)
    assert.strictEqual(server.count("once a"), outcome === "repeated" ? 2 : 1)
    return outcome
  })

  describe(`[TOOL-11] a lost call, ${era},`, () => {
    for (const [before, after, outcome] of declarations) {
      it(`of a tool with ${before ?? "no hint"} before and ${after ?? "no hint"} now is ${outcome}`, () =>
        virtually(Effect.map(lose(before, after, true), (found) => assert.strictEqual(found, outcome))))
    }

    it("of a tool of a server that is not trusted is unknown, whatever the tool declares", () => {
      for (const hint of ["idempotentHint", "readOnlyHint"] as const) {
        virtually(Effect.map(lose(hint, hint, false), (found) => assert.strictEqual(found, "unknown", hint)))
      }
    })
  })
}

describe("a call whose outcome the server itself does not know", () => {
  for (const hint of ["readOnlyHint", undefined] as const) {
    it(`of a tool with ${hint ?? "no hint"} is ${hint === undefined ? "not sent again" : "sent again"}`, () =>
      virtually(Effect.gen(function*() {
        let calls = 0
        const tool = { name: "once", inputSchema: { type: "object" } } as const
        const server = SimulatedServer.make({
          handlers: () => ({
            "tools/list": () =>
              Effect.succeed({ tools: [hint === undefined ? tool : { ...tool, annotations: { [hint]: true } }] }),
            "tools/call": () =>
              Effect.suspend(() =>
                calls++ === 0
                  ? Effect.fail(McpError.outcomeUnknown("the process has ended"))
                  : Effect.succeed({ content: [] })
              )
          })
        })
        const client = yield* connect(server, { trusted: true })
        yield* client.tools
        const outcome = yield* Effect.match(client.callTool("once"), {
          onSuccess: () => "repeated",
          onFailure: (error) => error._tag === "RequestError" ? error.reason._tag : error._tag
        })
        assert.deepStrictEqual([outcome, calls], hint === undefined ? ["OutcomeUnknown", 1] : ["repeated", 2])
        assert.strictEqual(server.processes(), 1)
      })))
  }
})

describe("a session over Streamable HTTP", () => {
  /** Connects a client with a list, two streams of one resource, and a log level. */
  const used = Effect.fnUntraced(function*() {
    const { handlers, set } = levels(() => true)
    const server = SimulatedServer.make({ handlers })
    const client = yield* connect(server)
    const changed: Array<string> = []
    const texts: Array<string> = []
    yield* client.session
    yield* client.setLogLevel("error")
    yield* client.tools
    const watching = fork(
      Stream.runForEach(
        client.watch(RecordedServer.uri),
        ({ contents: [content] }) =>
          Effect.sync(() => texts.push(content !== undefined && "text" in content ? content.text : ""))
      )
    )
    yield* watching
    yield* watching
    yield* Effect.sleep("1 second")
    yield* fork(Stream.runForEach(client.changes, (list) => Effect.sync(() => changed.push(list))))
    /** Returns the numbers of requests since the last time. */
    const since = Effect.fnUntraced(function*() {
      yield* Effect.sleep("1 second")
      yield* client.tools
      const counts = {
        changed: changed.splice(0).toSorted(),
        pages: server.record.filter((line) => line === "tools/list").length,
        subscriptions: server.record.filter((line) => line.endsWith("subscribe")),
        read: texts.splice(0).length,
        levels: set.length
      }
      server.clear()
      set.length = 0
      return counts
    })
    assert.deepStrictEqual(yield* since(), { changed: [], pages: 3, subscriptions: ["subscribe"], read: 2, levels: 1 })
    return { client, server, texts, since }
  })

  const lists = ["prompts", "resources", "tools"]
  const lost = (method: string | undefined) =>
    ({ _tag: "StreamLost", method, cause: undefined, retryAfterMillis: 100 }) as const
  const nothing = { changed: [], pages: 0, subscriptions: [], read: 0, levels: 0 }

  it("reads its lists again after the loss of its standalone stream, and everything after its resumption", () =>
    virtually(Effect.gen(function*() {
      const { server, since } = yield* used()
      server.report(lost(undefined))
      assert.deepStrictEqual(yield* since(), { ...nothing, changed: lists, pages: 3 })
      server.report({ _tag: "StreamResumed", method: undefined })
      // The server has kept the subscription. It may end and begin again.
      const { subscriptions: _, ...again } = yield* since()
      assert.deepStrictEqual(again, { changed: lists, pages: 3, read: 2, levels: 1 })
    })))

  it("loses no update of a watched resource while its standalone stream is lost, and receives later ones", () =>
    virtually(Effect.gen(function*() {
      const { client, server, texts } = yield* used()
      server.report(lost(undefined))
      server.report({ _tag: "StreamResumed", method: undefined })
      yield* Effect.sleep("1 second")
      assert.strictEqual(texts.at(-1), "1 0")
      yield* client.callTool("update")
      yield* Effect.sleep("1 second")
      assert.strictEqual(texts.at(-1), "1 1")
    })))

  it("reads nothing again after the loss and the resumption of the stream of a request", () =>
    virtually(Effect.gen(function*() {
      const { server, since } = yield* used()
      server.report(lost("tools/call"))
      server.report({ _tag: "StreamResumed", method: "tools/call" })
      assert.deepStrictEqual(yield* since(), nothing)
    })))

  it("reads, subscribes and sets its level again after the transport has repeated the handshake", () =>
    virtually(Effect.gen(function*() {
      const { server, since } = yield* used()
      server.report({ _tag: "SessionRenewed" })
      assert.deepStrictEqual(yield* since(), {
        changed: lists,
        pages: 3,
        subscriptions: ["subscribe"],
        read: 2,
        levels: 1
      })
    })))
})
