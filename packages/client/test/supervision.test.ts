/** A supervised client and the process of its server, which is killed, ends, hangs or cannot start. */
import { McpClient, McpTarget } from "@effect-mcp/client/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { isRunning, startChild } from "./support/places.ts"
import { until } from "./support/until.ts"

const info = { name: "host", version: "1.0.0" }

const quick = { reconnect: Schedule.spaced("20 millis") }

/** Makes a client of the recorded server as a child process. */
const withServer = Effect.fnUntraced(function*(options: Partial<McpClient.Options> = {}) {
  const { target } = yield* startChild
  const client = yield* McpClient.make(target, { info, ...quick, ...options })
  const pid = Effect.map(client.callTool("pid", {}, { repeat: true }), ({ content }) => {
    const [part] = content
    return part?.type === "text" ? Number(part.text) : 0
  })
  return { client, pid }
})

describe.concurrent("a supervised client", () => {
  it.live("[STD-17] calls wait for the server, and the next ones find it again after it was killed", () =>
    Effect.gen(function*() {
      const { client, pid } = yield* withServer()
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

  it.live("a server that ends at each call ends a repeated call, too", () =>
    Effect.gen(function*() {
      const { client } = yield* withServer()
      const lost = yield* Effect.forkChild(
        Stream.runHead(Stream.filter(client.statuses, ({ _tag }) => _tag === "Down")),
        { startImmediately: true }
      )
      const error = yield* Effect.flip(client.callTool("exit", {}, { repeat: true }))
      assert.strictEqual(error._tag === "RequestError" ? error.reason._tag : error._tag, "OutcomeUnknown")
      const down = yield* Fiber.join(lost)
      assert(down._tag === "Some" && down.value._tag === "Down")
      assert.include(down.value.stderr.join("\n"), "the server ends")
    }))

  it.live("a server that ends before the handshake fails calls after waitTimeout, and says why", () =>
    Effect.gen(function*() {
      const client = yield* McpClient.make(McpTarget.command("/bin/false"), {
        info,
        ...quick,
        waitTimeout: "300 millis"
      })
      const error = yield* Effect.flip(client.callTool("x"))
      assert.strictEqual(error._tag, "ServerUnavailableError")
      assert.match(error.message, /the server "\/bin\/false" is not available: .*the call waited 300 ms/)
    }))

  it.live("a server that stops answering is connected again", () =>
    Effect.gen(function*() {
      const { pid } = yield* withServer({ healthCheck: { interval: "100 millis", timeout: "300 millis" } })
      const first = yield* pid
      process.kill(first, "SIGSTOP")
      yield* Effect.addFinalizer(() => Effect.sync(() => isRunning(first) && process.kill(first, "SIGKILL")))
      yield* until(() => !isRunning(first))
      assert.notStrictEqual(yield* pid, first)
    }))
})
