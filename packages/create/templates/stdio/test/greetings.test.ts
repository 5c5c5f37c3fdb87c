/** The tools, called by a client in the same process. */
import { McpServer } from "@effect-mcp/server"
import { ClientSession } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { GreetingsLive } from "../src/greetings.ts"

const info = { name: "test", version: "1.0.0" }
const connected = Layer.provide(ClientSession.layer({ info }), McpServer.layerMemory(GreetingsLive, { info }))

const call = (tool: string, input: { readonly [name: string]: unknown }) =>
  Effect.flatMap(ClientSession.ClientSession, (session) => session.callTool(tool, input))

it.layer(connected)((it) => {
  it.effect("greet greets a person", () =>
    Effect.gen(function*() {
      const { content } = yield* call("greet", { name: "Ada" })
      assert.deepStrictEqual(content, [{ type: "text", text: "Hello, Ada!" }])
    }))

  it.effect("count_letters counts the letters of a name", () =>
    Effect.gen(function*() {
      const { structuredContent } = yield* call("count_letters", { name: "Ada L." })
      assert.deepStrictEqual(structuredContent, { letters: 4 })
    }))

  it.effect("a name without letters is a mistake that the model reads", () =>
    Effect.gen(function*() {
      const { isError } = yield* call("greet", { name: "" })
      assert.isTrue(isError)
    }))
})
