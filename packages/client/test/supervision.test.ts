/** A supervised client and the process of its server, which is killed, ends, hangs or cannot start. */
import { McpClient, McpTarget } from "@effect-mcp/client"
import { Content } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { compiled } from "./support/places.ts"

const info = { name: "host", version: "1.0.0" }

const program = path.join(import.meta.dirname, "fixtures/server.ts")

const quick = { reconnect: Schedule.spaced("20 millis") }

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-client-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
)

/** Makes a client of the fixture, and returns the tools that have run there. */
const withFixture = Effect.fnUntraced(function*(options: Partial<McpClient.Options> = {}) {
  const log = path.join(yield* temporaryDirectory, "log")
  fs.writeFileSync(log, "")
  const client = yield* McpClient.make(McpTarget.command(process.execPath, [program, log], { env: compiled }), {
    info,
    name: "fixture",
    ...quick,
    ...options
  })
  const pid = Effect.map(client.callTool("pid", {}, { repeat: true }), ({ content }) => {
    const [part] = content
    return part?.type === "text" ? Number(part.text) : 0
  })
  const ran = () => fs.readFileSync(log, "utf8").split("\n").filter((line) => line !== "")
  return { client, pid, ran }
})

const until = (is: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => is() ? Effect.void : Effect.andThen(Effect.sleep(10), until(is)))

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe.concurrent("a supervised client", () => {
  it.live("[STD-17] calls wait for the server, and the next ones find it again after it was killed", () =>
    Effect.gen(function*() {
      const { client, pid } = yield* withFixture()
      const first = yield* pid
      const lost = yield* Effect.forkChild(
        Stream.runHead(Stream.filter(client.statuses, ({ _tag }) => _tag === "Down")),
        { startImmediately: true }
      )
      process.kill(first, "SIGKILL")
      const second = yield* pid
      assert.notStrictEqual(second, first)
      assert.strictEqual((yield* Fiber.join(lost))._tag, "Some")
      assert.strictEqual((yield* client.status)._tag, "Ready")
    }))

  it.live("a call in flight has an unknown outcome, and is not carried out twice", () =>
    Effect.gen(function*() {
      const { client, pid, ran } = yield* withFixture({ trusted: true })
      const server = yield* pid
      const calling = yield* Effect.forkChild(Effect.flip(client.callTool("run")), { startImmediately: true })
      yield* until(() => ran().includes("run"))
      process.kill(server, "SIGKILL")
      const error = yield* Fiber.join(calling)
      assert.strictEqual(error._tag === "RequestError" ? error.reason._tag : error._tag, "OutcomeUnknown")
      yield* pid
      assert.deepStrictEqual(ran(), ["run"])
    }))

  for (const [trusted, result] of [[true, "read again"], [false, "OutcomeUnknown"]] as const) {
    it.live(
      `[TOOL-11] a tool that declares itself read-only is ${trusted ? "" : "not "}called again if the program ${
        trusted ? "trusts" : "does not trust"
      } the server`,
      () =>
        Effect.gen(function*() {
          const { client, pid, ran } = yield* withFixture({ trusted })
          const server = yield* pid
          yield* client.tools
          const calling = yield* Effect.forkChild(
            Effect.match(client.callTool("read"), {
              onSuccess: ({ content }) => content.map((part) => part.type === "text" ? part.text : part.type).join(""),
              onFailure: (error) => error._tag === "RequestError" ? error.reason._tag : error._tag
            }),
            { startImmediately: true }
          )
          yield* until(() => ran().includes("read"))
          process.kill(server, "SIGKILL")
          assert.strictEqual(yield* Fiber.join(calling), result)
          assert.lengthOf(ran(), trusted ? 2 : 1)
        })
    )
  }

  it.live("the option repeat allows any call to be sent again", () =>
    Effect.gen(function*() {
      const { client, pid, ran } = yield* withFixture()
      const server = yield* pid
      const calling = yield* Effect.forkChild(client.callTool("read", {}, { repeat: true }), {
        startImmediately: true
      })
      yield* until(() => ran().includes("read"))
      process.kill(server, "SIGKILL")
      assert.deepStrictEqual((yield* Fiber.join(calling)).content, [Content.text("read again")])
    }))

  it.live("a server that ends at each call ends a repeated call, too", () =>
    Effect.gen(function*() {
      const { client } = yield* withFixture()
      const lost = yield* Effect.forkChild(
        Stream.runHead(Stream.filter(client.statuses, ({ _tag }) => _tag === "Down")),
        { startImmediately: true }
      )
      const error = yield* Effect.flip(client.callTool("exit", {}, { repeat: true }))
      assert.strictEqual(error._tag === "RequestError" ? error.reason._tag : error._tag, "OutcomeUnknown")
      const down = yield* Fiber.join(lost)
      assert(down._tag === "Some" && down.value._tag === "Down")
      assert.include(down.value.stderr.join("\n"), "the fixture ends")
    }))

  it.live("a server that ends before the handshake fails calls after waitFor, and says why", () =>
    Effect.gen(function*() {
      const client = yield* McpClient.make(McpTarget.command("/bin/false"), {
        info,
        ...quick,
        waitFor: "300 millis"
      })
      const error = yield* Effect.flip(client.callTool("x"))
      assert.strictEqual(error._tag, "ServerUnavailable")
      assert.match(error.message, /the server "\/bin\/false" is not available: .*the call waited 300 ms/)
    }))

  it.live("a server that stops to answer is connected again", () =>
    Effect.gen(function*() {
      const { pid } = yield* withFixture({ healthCheck: { interval: "100 millis", timeout: "300 millis" } })
      const first = yield* pid
      process.kill(first, "SIGSTOP")
      yield* Effect.addFinalizer(() => Effect.sync(() => isRunning(first) && process.kill(first, "SIGKILL")))
      yield* until(() => !isRunning(first))
      assert.notStrictEqual(yield* pid, first)
    }))

  it.live("nothing is left when the scope closes", () =>
    Effect.gen(function*() {
      const server = yield* Effect.scoped(Effect.flatMap(withFixture(), ({ pid }) => pid))
      yield* until(() => !isRunning(server))
    }))
})
