/** Log messages of servers, in the log of the program. */
import { McpClient, McpClients, McpServerLog, McpTarget } from "@effect-mcp/client"
import { Content, Logging } from "@effect-mcp/protocol"
import { RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"

const info = { name: "host", version: "1.0.0" }

interface Logged {
  readonly level: string
  readonly message: string
  readonly annotations: unknown
}

/** Records what an effect logs. */
const recorded = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const logged: Array<Logged> = []
  yield* Effect.provide(
    effect,
    Logger.layer([
      Logger.make(({ fiber, logLevel, message }) => {
        const annotations = fiber.getRef(References.CurrentLogAnnotations)
        logged.push({ level: logLevel, message: String(message), annotations })
      })
    ])
  )
  return logged
})

const write = (message: Logging.LogMessageParams) =>
  Effect.provideService(recorded(McpServerLog.write(message)), References.MinimumLogLevel, "All")

describe("a log message of a server", () => {
  it.effect("has the severity of Effect that is nearest to its level", () =>
    Effect.gen(function*() {
      const levels = yield* Effect.forEach(Logging.levels, (level) => write({ level, data: "" }))
      assert.deepStrictEqual(levels.map(([logged]) => logged?.level), [
        "Debug",
        "Info",
        "Info",
        "Warn",
        "Error",
        "Fatal",
        "Fatal",
        "Fatal"
      ])
    }))

  it.effect("is its text or its JSON, with its logger, and controls no terminal", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* write({ level: "info", data: "\u{1b}[31mred", logger: "a\nb" }), [
        { level: "Info", message: "\\u{1b}[31mred", annotations: { logger: "a\\nb" } }
      ])
      const [logged] = yield* write({ level: "info", data: { path: "/tmp", "\u{9b}": [1] } })
      assert.strictEqual(logged?.message, "{\"path\":\"/tmp\",\"\\u009b\":[1]}")
    }))

  it.effect("is cut, however long it is", () =>
    Effect.gen(function*() {
      for (const data of ["a".repeat(10_000_000), "\u{1b}".repeat(10_000_000), ["a".repeat(10_000_000)]]) {
        const [logged] = yield* write({ level: "info", data })
        assert.strictEqual(logged?.message.length, 4_096)
      }
    }))

  it.effect("is written without regard to its depth, and without more of its members than fit", () =>
    Effect.gen(function*() {
      const deep: unknown = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`)
      assert.deepStrictEqual(
        (yield* write({ level: "info", data: deep }))[0]?.message,
        `${"[".repeat(64)}…${"]".repeat(64)}`
      )
      const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`member${index}`, [index, null]]))
      const [logged = assert.fail()] = yield* write({ level: "info", data: wide, logger: "\u{1b}".repeat(10_000_000) })
      assert.strictEqual(logged.message.length, 4_096)
      assert.isTrue(logged.message.startsWith("{\"member0\":[0,null],\"member1\":[1,null],"))
      const { logger } = logged.annotations as { readonly logger: string }
      assert.strictEqual(logger.length, 128)
    }))

  it.effect("is left out after 100 at once and 50 per second, with a warning that counts", () =>
    Effect.gen(function*() {
      const level = "info"
      const server = (name: string) =>
        McpTarget.transport(ServerSession.layerMemory({
          "tools/call": () =>
            Effect.gen(function*() {
              const { log } = yield* RequestContext.RequestContext
              yield* Effect.forEach(Array.from({ length: 150 }), () => log({ level, data: name }))
              return { content: [] }
            })
        }, { info, capabilities: { logging: {} } }))
      const logged = yield* recorded(Effect.gen(function*() {
        const clients = yield* McpClients.make({ loud: server("loud"), quiet: server("quiet") }, {
          info,
          handlers: { "notifications/message": McpServerLog.write }
        })
        const { callTool } = clients.client("loud")
        yield* callTool("flood")
        yield* callTool("flood")
        yield* clients.client("quiet").callTool("flood")
        yield* TestClock.adjust("1 second")
        yield* callTool("flood")
      }))
      const messages = logged.map(({ message }) => message)
      assert.deepStrictEqual([...new Set(messages)], [
        "loud",
        "quiet",
        "left 200 messages of the server out of the log, because more than 50 per second arrived"
      ])
      assert.strictEqual(messages.filter((message) => message === "loud").length, 150)
      assert.strictEqual(messages.filter((message) => message === "quiet").length, 100)
    }))

  it.live("has the name of its server", () =>
    Effect.gen(function*() {
      const server = McpTarget.transport(ServerSession.layerMemory({
        "tools/call": () =>
          Effect.gen(function*() {
            const { log } = yield* RequestContext.RequestContext
            yield* log({ level: "error", data: "no space left" })
            return { content: [Content.text("done")] }
          })
      }, { info, capabilities: { logging: {} } }))
      const senders: Array<string> = []
      const logged = yield* recorded(Effect.gen(function*() {
        const clients = yield* McpClients.make({ files: server, mail: server }, {
          info,
          handlers: {
            "notifications/message": (message) =>
              Effect.andThen(
                Effect.flatMap(McpClient.ServerName, (server) => Effect.sync(() => senders.push(server))),
                McpServerLog.write(message)
              )
          }
        })
        yield* clients.client("files").callTool("write")
        yield* clients.client("mail").callTool("write")
      }))
      assert.deepStrictEqual(logged.filter(({ level }) => level === "Error").map(({ annotations }) => annotations), [
        { server: "files" },
        { server: "mail" }
      ])
      assert.deepStrictEqual(senders, ["files", "mail"])
    }))
})
