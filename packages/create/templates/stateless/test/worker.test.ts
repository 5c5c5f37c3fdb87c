/** The worker, with clients whose requests go to its function. */
import { McpClient, McpTarget } from "@effect-mcp/client"
import { Revision } from "@effect-mcp/protocol"
import { StreamableHttpClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import { Temperatures } from "../src/temperatures.ts"
import worker from "../src/worker.ts"

const info = { name: "test", version: "1.0.0" }
const url = "https://worker.example/mcp"

const target = McpTarget.transport(
  StreamableHttpClient.layer({ url }).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(
      Layer.succeed(FetchHttpClient.Fetch, (input, init) => worker.fetch(new Request(input, init)))
    )
  )
)

describe.each(Revision.supported.filter((revision) => revision !== "2024-11-05"))("in revision %s", (revision) => {
  const tools = Effect.map(
    McpClient.make(target, { info, revisions: [revision] }),
    (client) => client.of(Temperatures).tools
  )

  it.effect("a temperature is converted", () =>
    Effect.gen(function*() {
      const { to_fahrenheit } = yield* tools
      assert.deepStrictEqual(yield* to_fahrenheit({ celsius: 100 }), { fahrenheit: 212 })
    }))

  it.effect("a temperature below absolute zero is rejected", () =>
    Effect.gen(function*() {
      const { to_fahrenheit } = yield* tools
      assert.strictEqual((yield* Effect.flip(to_fahrenheit({ celsius: -300 })))._tag, "InvalidArgumentsError")
    }))
})

it.effect("any instance answers: a request needs no earlier one", () =>
  Effect.gen(function*() {
    const response = yield* Effect.promise(() =>
      worker.fetch(
        new Request(url, {
          method: "POST",
          headers: { accept: "application/json, text/event-stream", "content-type": "application/json" },
          body: JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            method: "tools/call",
            params: { name: "to_fahrenheit", arguments: { celsius: 0 } }
          })
        })
      )
    )
    assert.strictEqual(response.status, 200)
    assert.isNull(response.headers.get("mcp-session-id"))
    assert.include(yield* Effect.promise(() => response.text()), "{\"fahrenheit\":32}")
  }))
