/** The client scenarios of the suite, with a server of this project in place of the suite's. */
import { Content, type Tool } from "@effect-mcp/protocol"
import { RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scenarios from "../src/client/scenarios.ts"
import * as Client from "../src/client/session.ts"

const schema: Tool.ObjectSchema = {
  type: "object",
  $defs: { a: { $anchor: "b" } },
  if: {},
  additionalProperties: false
}

const allTools = [
  "add_numbers",
  "test_client_elicitation_defaults",
  "test_reconnection",
  "json_schema_2020_12_tool",
  "json_schema_echo"
]

/** Creates a server with tools, which records its requests. */
const server = (received: Array<unknown>, toolNames: ReadonlyArray<string>, isError: boolean) =>
  ServerSession.layerMemory({
    "tools/list": () =>
      Effect.sync(() => {
        received.push("tools/list")
        return { tools: toolNames.map((name) => ({ name, inputSchema: schema })) }
      }),
    "tools/call": Effect.fnUntraced(function*({ arguments: input, name }) {
      received.push(input === undefined ? [name] : [name, input])
      if (name === "test_client_elicitation_defaults") {
        const result = yield* Effect.orDie(RequestContext.elicit({
          message: "Well?",
          requestedSchema: { type: "object", properties: { age: { type: "integer", default: 30 } } }
        }))
        received.push(result)
      }
      return { content: [Content.text("done")], isError }
    })
  }, { info: { name: "server", version: "0.1.0" } })

/** The calls that the suite demands in the scenario of headers. */
const context = JSON.stringify({
  name: "http-custom-headers",
  toolCalls: [{ name: "add_numbers", arguments: { a: 1 } }]
})

const play = (name: string, received: Array<unknown> = [], toolNames = allTools, isError = false) =>
  Effect.provide(
    Scenarios.named(name, context),
    Layer.suspend(() => Layer.provide(Client.layer("2025-11-25"), server(received, toolNames, isError)))
  )

const done: ReadonlyArray<readonly [name: string, ...received: ReadonlyArray<unknown>]> = [
  ["initialize", "tools/list"],
  ["tools_call", "tools/list", ["add_numbers", { a: 5, b: 3 }]],
  [
    "elicitation-sep1034-client-defaults",
    "tools/list",
    ["test_client_elicitation_defaults"],
    { action: "accept", content: { age: 30 } }
  ],
  ["sse-retry", "tools/list", ["test_reconnection"]],
  ["request-metadata", "tools/list"],
  ["json-schema-ref-no-deref", "tools/list"],
  ["http-custom-headers", "tools/list", ["add_numbers", { a: 1 }]],
  ["json-schema-2020-12-preservation", "tools/list", ["json_schema_echo", { schema }]]
]

describe("a client scenario", () => {
  for (const [name, ...expected] of done) {
    it.effect(`${name} sends the requests that the suite expects`, () =>
      Effect.gen(function*() {
        const received: Array<unknown> = []
        yield* play(name, received)
        assert.deepStrictEqual(received, expected)
      }))
  }

  it.effect("initialize lists no tools if the server declares none", () =>
    Effect.provide(
      Scenarios.named("initialize", "{}"),
      Layer.suspend(() =>
        Layer.provide(
          Client.layer("2025-11-25"),
          ServerSession.layerMemory({}, { info: { name: "server", version: "0.1.0" } })
        )
      )
    ))

  it.effect("fails if its tool is missing", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(play("tools_call", [], []))
      assert.strictEqual(message, "the server has no tool add_numbers")
    }))

  it.effect("fails if its tool fails", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(play("sse-retry", [], allTools, true))
      assert.include(message, "the tool test_reconnection failed")
    }))

  it.effect("of authorization uses the tool of the suite's servers, again after the servers may have changed", () =>
    Effect.gen(function*() {
      const received: Array<unknown> = []
      yield* play("auth/metadata-default", received, ["test-tool"])
      assert.deepStrictEqual(received, ["tools/list", ["test-tool", {}], ["test-tool", {}]])
    }))

  it.effect("must have a known name", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(play("no-such-scenario"))
      assert.include(message, "\"no-such-scenario\" is not one of the scenarios initialize, ")
    }))
})
