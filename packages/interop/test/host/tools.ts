import { type Annotations, Content } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Conditions } from "./conditions.ts"
import { callForJson, textOf } from "./results.ts"

const annotations: Annotations.Annotations = { audience: ["user"], priority: 0.5, lastModified: "2025-11-25T00:00:00Z" }
const icons = [{ src: "https://example.com/bead.svg", mimeType: "image/svg+xml", sizes: ["any"] }]

/** One block of each kind, as these servers send them at every revision. */
export const blocks: ReadonlyArray<Content.ContentBlock> = [
  { type: "text", text: "a bead", annotations, _meta: { "example.com/bead": 1 } },
  { type: "image", data: "AAAA", mimeType: "image/png", annotations },
  { type: "audio", data: "AAAA", mimeType: "audio/wav" },
  { type: "resource_link", uri: "bead:///1", name: "1", title: "The first", mimeType: "text/plain", size: 3, icons },
  {
    type: "resource",
    resource: { uri: "bead:///2", mimeType: "image/png", blob: "AAAA", _meta: { "example.com/bead": 2 } }
  }
]

export const tools = ({ it }: Conditions) => {
  it.effect("[TOOL-06] [TOOL-11] lists tools with all members", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      const [first, second, ...rest] = yield* Stream.runCollect(session.tools)
      assert.deepStrictEqual(first, {
        name: "blocks",
        title: "Blocks",
        description: "Runs blocks",
        inputSchema: { type: "object" },
        annotations: { title: "Blocks of every kind", readOnlyHint: true, openWorldHint: false },
        icons,
        _meta: { "example.com/kinds": 5 }
      })
      assert.deepStrictEqual(second?.outputSchema, {
        type: "object",
        properties: { beads: { type: "integer" } },
        required: ["beads"]
      })
      assert.strictEqual(rest.length, 15)
    }))

  it.effect("receives text, image, audio, link and embedded resource blocks with all members", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* callTool("blocks"), { content: blocks, _meta: { "example.com/blocks": 5 } })
    }))

  it.effect("[TOOL-09] receives structured content and its text", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* callTool("structure"), {
        content: [Content.text("{\"beads\":100}")],
        structuredContent: { beads: 100 }
      })
    }))

  it.effect("[MSG-28] the server receives the metadata of a call", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const meta = { "example.com/trace": { deep: ["ä"] } }
      assert.deepStrictEqual(JSON.parse(textOf(yield* callTool("meta", {}, { meta }))), { meta })
      assert.deepStrictEqual(yield* callForJson("meta"), {})
    }))

  it.effect("a failure of the tool is a result", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* callTool("fail"), { content: [Content.text("no beads")], isError: true })
    }))
}
