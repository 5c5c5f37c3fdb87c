import { Content, Prompt, Resource } from "@effect-mcp/protocol"
import { McpGroup, McpPrompt, McpResource, McpTool } from "@effect-mcp/server"
import type { RequestError } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as AiPrompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { describeForBothEras } from "./support/eras.ts"

const png = Content.image(Uint8Array.of(0x89, 0x50, 0x4E, 0x47), "image/png")

const invalid: ReadonlyArray<readonly [block: Content.ContentBlock, problem: string]> = [
  [{ ...png, data: "not base64" }, "the data of a block of type image is not base64"],
  [{ ...png, data: "iVBORw" }, "the data of a block of type image is not base64"],
  [{ ...png, data: "data:image/png;base64,iVBORw==" }, "the data of a block of type image is not base64"],
  [{ ...png, mimeType: "png" }, "\"png\" is not a media type"],
  [Content.audio("AAAA", ""), "\"\" is not a media type"],
  [Content.audio("A", "audio/wav"), "the data of a block of type audio is not base64"],
  [Content.resource({ uri: "app://a", blob: "?" }), "the blob of app://a is not base64"],
  [Content.resource(Resource.text("app://a", "text", "text")), "\"text\" of app://a is not a media type"]
]

const valid: ReadonlyArray<Content.ContentBlock> = [
  png,
  Content.audio("", "audio/x-wav;codecs=1"),
  Content.text("text"),
  Content.link({ uri: "app://a", name: "a" }),
  Content.resource(Resource.blob("app://a", Uint8Array.of(1, 2, 3), "application/vnd.a+b")),
  Content.resource(Resource.text("app://a", "text", "text/plain; charset=utf-8"))
]

const codeOf = <A, R>(request: Effect.Effect<A, RequestError.RequestError, R>) =>
  Effect.map(
    Effect.flip(request),
    ({ reason }) => reason._tag === "ErrorResponse" ? [reason.error.code, reason.error.message] : reason
  )

const internalError = [-32603, "Internal error"]

describeForBothEras("content that a handler returns", ({ connect }) => {
  /** Serves the blocks by two tools, a prompt and a resource. */
  const serving = (blocks: ReadonlyArray<Content.ContentBlock>, logged: Array<string> = []) =>
    connect(
      McpGroup.make(
        "media",
        Tool.make("tool", { success: McpTool.Content }),
        Tool.make("drawing", {
          success: Schema.Struct({ width: Schema.Int }),
          toModelOutput: () =>
            blocks.flatMap((block) =>
              block.type === "image"
                ? [AiPrompt.makePart("file", { data: block.data, mediaType: block.mimeType })]
                : []
            )
        }),
        McpPrompt.make("prompt"),
        McpResource.make("resource", { uri: "app://a" })
      ).toLayer((handlers) =>
        handlers
          .tool("tool", () => Effect.succeed(blocks))
          .tool("drawing", () => Effect.succeed({ width: 1 }))
          .prompt("prompt", () => Effect.succeed(blocks.map(Prompt.user)))
          .resource(
            "resource",
            Effect.succeed(blocks.flatMap((block) => block.type === "resource" ? [block.resource] : []))
          )
      )
    ).pipe(Effect.provide(Logger.layer([
      Logger.make(({ cause, message }) => void logged.push(`${String(message)} ${Cause.pretty(cause)}`))
    ])))

  it.effect("is sent if media is base64 with a media type [PRM-05]", () =>
    Effect.gen(function*() {
      const session = yield* serving(valid)
      assert.deepStrictEqual((yield* session.callTool("tool")).content, valid)
      assert.strictEqual((yield* session.callTool("drawing")).content.length, 1)
      assert.deepStrictEqual((yield* session.getPrompt("prompt")).messages, valid.map(Prompt.user))
      assert.strictEqual((yield* session.readResource("app://a")).contents.length, 2)
    }).pipe(Effect.scoped))

  for (const [block, problem] of invalid) {
    it.effect(`is not sent, but logged: ${problem} (${JSON.stringify(block).slice(0, 60)}) [PRM-05]`, () => {
      const logged: Array<string> = []
      return Effect.gen(function*() {
        const session = yield* serving([Content.text("first"), block], logged)
        assert.deepStrictEqual(yield* codeOf(session.callTool("tool")), internalError)
        assert.deepStrictEqual(yield* codeOf(session.getPrompt("prompt")), internalError)
        if (block.type === "image") assert.deepStrictEqual(yield* codeOf(session.callTool("drawing")), internalError)
        if (block.type === "resource") {
          assert.deepStrictEqual(yield* codeOf(session.readResource("app://a")), internalError)
        }
        assert.isTrue(logged.some((line) => line.includes(`the tool "tool" returned invalid content: ${problem}`)))
        assert.isTrue(logged.some((line) => line.includes(`the prompt "prompt" returned invalid content: ${problem}`)))
      }).pipe(Effect.scoped)
    })
  }
})
