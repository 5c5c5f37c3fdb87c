/** The tools, called by a client in the same process. */
import { McpServer } from "@effect-mcp/server"
import { ClientSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { deepStrictEqual } from "node:assert"
import { test } from "node:test"
import { GreetingsLive } from "../src/greetings.ts"

const info = { name: "test", version: "1.0.0" }
const server = McpServer.layerMemory(GreetingsLive, { info })
const client = Layer.provide(ClientSession.layer({ info }), server)

const call = (tool: string, input: { readonly [name: string]: unknown }) =>
  Effect.flatMap(ClientSession.ClientSession, (session) => session.callTool(tool, input)).pipe(
    Effect.provide(client),
    Effect.runPromise
  )

test("greet greets a person", async () => {
  const { content } = await call("greet", { name: "Ada" })
  deepStrictEqual(content, [{ type: "text", text: "Hello, Ada!" }])
})

test("count_letters counts the letters of a name", async () => {
  const { structuredContent } = await call("count_letters", { name: "Ada L." })
  deepStrictEqual(structuredContent, { letters: 4 })
})

test("a name without letters is rejected", async () => {
  const { isError } = await call("greet", { name: "" })
  deepStrictEqual(isError, true)
})
