import { Content, ErrorCode, McpError, Prompt, Resource, Sampling } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)

describe("content blocks", () => {
  it.each([
    ["text", Content.text("x")],
    ["an image", Content.image(bytes, "image/png")],
    ["audio", Content.audio(bytes, "audio/wav")],
    ["a link", Content.link({ uri: "file:///a", name: "a" })],
    ["a resource of text", Content.resource(Resource.text("file:///a", "x", "text/plain"))],
    ["a resource of bytes", Content.resource(Resource.blob("file:///a", bytes))]
  ])("%s matches the schema of content blocks", (_, block) => {
    assert.deepStrictEqual(Schema.decodeUnknownSync(Content.ContentBlock)(block), block)
  })

  it("bytes become base64, and text is base64 already", () => {
    const encoded = Base64.encode(bytes)
    for (const data of [bytes, encoded]) {
      const { data: image } = Content.image(data, "image/png")
      const { data: audio } = Content.audio(data, "audio/wav")
      const contents = Resource.blob("file:///a", data)
      assert.deepStrictEqual([image, audio, "blob" in contents && contents.blob], [encoded, encoded, encoded])
      assert.deepStrictEqual(Result.getOrThrow(Base64.decode(image)), bytes)
    }
  })

  it("contents without a MIME type have no such member", () => {
    assert.deepStrictEqual(Object.keys(Resource.text("file:///a", "x")), ["uri", "text"])
    assert.deepStrictEqual(Object.keys(Resource.blob("file:///a", "")), ["uri", "blob"])
  })
})

it("messages of a prompt contain text or any content block", () => {
  const image = Content.image("", "image/png")
  for (const message of [Prompt.user("x"), Prompt.assistant("x"), Prompt.user(image), Prompt.assistant(image)]) {
    assert.deepStrictEqual(Schema.decodeUnknownSync(Prompt.PromptMessage)(message), message)
  }
  assert.deepStrictEqual([Prompt.user("x").role, Prompt.assistant("x").role], ["user", "assistant"])
})

it("the error of an unknown resource has the URI as data, and at most 128 characters of it in its message", () => {
  const uri = `file:///${"x".repeat(10_000)}`
  const error = McpError.resourceNotFound(uri)
  assert.deepStrictEqual([error.code, error.data], [ErrorCode.ResourceNotFound, { uri }])
  assert.isBelow(error.message.length, 200)
})

it("the text of a model's answer is that of all of its text blocks", () => {
  const image = Content.image("", "image/png")
  assert.strictEqual(Sampling.textOf({ content: Content.text("a") }), "a")
  assert.strictEqual(Sampling.textOf({ content: image }), "")
  assert.strictEqual(Sampling.textOf({ content: [Content.text("a"), image, Content.text("b")] }), "a\nb")
  assert.strictEqual(Sampling.textOf({ content: [] }), "")
})
