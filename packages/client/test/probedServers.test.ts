/** The status of a client whose server prints what is no message, or stays silent. */
import { McpClient, McpTarget, ServerStatus } from "@effect-mcp/client/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as path from "node:path"

const program = path.join(import.meta.dirname, "../../transport/test/fixtures/probedServer.ts")

/** Waits for a status in the words of logs that contain a text. */
const statusWith = (mode: string, text: string) =>
  Effect.gen(function*() {
    const client = yield* McpClient.make(McpTarget.command(process.execPath, [program, mode, "/dev/null"]), {
      info: { name: "host", version: "1.0.0" },
      limits: { discoverTimeout: "300 millis" }
    })
    const found = yield* Stream.runHead(
      Stream.filter(Stream.map(client.statuses, ServerStatus.describe), (status) => status.includes(text))
    )
    return found._tag === "Some" ? found.value : ""
  })

describe.concurrent("the status of a client", () => {
  it.live("has the first text of the server that is no message, while the client connects", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* statusWith("prints", "no message"),
        "connecting, attempt 1; the server has sent a text that is no message: \"Welcome to the server\""
      )
    }))

  it.live("states that the server was silent, if the client guesses its revision", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* statusWith("silent", "ready"),
        "ready: silent 1.0.0, 2025-11-25, because it did not answer server/discover within 300 ms"
      )
    }))
})
