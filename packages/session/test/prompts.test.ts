import { Content, ErrorCode, McpError } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import { connected, type ServerHandlers } from "./support/sessions.ts"

const bytes = new TextEncoder().encode("a picture of a bird")

/** A server of one prompt, which needs a name and shows a picture. */
const handlers: ServerHandlers = {
  "prompts/list": () =>
    Effect.succeed({ prompts: [{ name: "greet", arguments: [{ name: "who", required: true }, { name: "how" }] }] }),
  "prompts/get": ({ arguments: input = {}, name }) => {
    if (name !== "greet") return Effect.fail(McpError.invalidParams(`Unknown prompt: ${name}`))
    const { how = "Hello", who } = input
    if (who === undefined) return Effect.fail(McpError.invalidParams("Missing argument: who"))
    return Effect.succeed({
      messages: [
        { role: "user", content: Content.text(`${how}, ${who}`) },
        { role: "user", content: { type: "image", data: Base64.encode(bytes), mimeType: "image/png" } },
        { role: "assistant", content: { type: "audio", data: Base64.encode(bytes), mimeType: "audio/wav" } }
      ]
    })
  }
}

describe("prompts", () => {
  const wrong: ReadonlyArray<readonly [string, string, { readonly [name: string]: string } | undefined, string]> = [
    ["one that does not exist", "part", { who: "Ada" }, "Unknown prompt: part"],
    ["one that every object has", "constructor", {}, "Unknown prompt: constructor"],
    ["no arguments", "greet", undefined, "Missing argument: who"],
    ["all but the one it needs", "greet", { how: "Good morning" }, "Missing argument: who"]
  ]

  for (const [what, name, input, message] of wrong) {
    it.effect(`${what}: −32602 says what is wrong`, () =>
      Effect.gen(function*() {
        const { client } = yield* connected({ handlers })
        const { reason } = yield* Effect.flip(client.getPrompt(name, input))
        assert.strictEqual(reason._tag, "ErrorResponse")
        if (reason._tag !== "ErrorResponse") return
        assert.deepStrictEqual([reason.error.code, reason.error.message], [ErrorCode.InvalidParams, message])
      }))
  }

  it.effect("pictures and sound arrive whole, each with its type", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({ handlers })
      const { messages } = yield* client.getPrompt("greet", { who: "Ada" })
      const data = Buffer.from(bytes).toString("base64")
      assert.deepStrictEqual<unknown>(messages.map(({ content }) => content), [
        Content.text("Hello, Ada"),
        { type: "image", data, mimeType: "image/png" },
        { type: "audio", data, mimeType: "audio/wav" }
      ])
    }))
})
