import { Content, ErrorCode, McpError } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import { connected, type ServerHandlers } from "./support/sessions.ts"

const bytes = new TextEncoder().encode("a picture of a bird")

/** A server with one prompt, which has a required argument and returns an image. */
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
    ["an unknown prompt", "part", { who: "Ada" }, "Unknown prompt: part"],
    ["a name of Object.prototype", "constructor", {}, "Unknown prompt: constructor"],
    ["no arguments", "greet", undefined, "Missing argument: who"],
    ["a missing required argument", "greet", { how: "Good morning" }, "Missing argument: who"]
  ]

  for (const [what, name, input, message] of wrong) {
    it.effect(`${what} is rejected with -32602 and the problem`, () =>
      Effect.gen(function*() {
        const { client } = yield* connected({ handlers })
        const { reason } = yield* Effect.flip(client.getPrompt(name, input))
        assert.strictEqual(reason._tag, "ErrorResponse")
        if (reason._tag !== "ErrorResponse") return
        assert.deepStrictEqual([reason.error.code, reason.error.message], [ErrorCode.InvalidParams, message])
      }))
  }

  it.effect("images and audio arrive unchanged, each with its MIME type", () =>
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
