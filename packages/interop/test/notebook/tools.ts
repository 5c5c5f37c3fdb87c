import { Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { all, call, OfficialClient, result } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { blocks, list, members, structure, textOf } from "./results.ts"

export const tools = ({ it, peer, revision }: Conditions) => {
  it.effect("[TOOL-01] [TOOL-06] lists its tools, with members that later revisions introduced", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const tools = yield* all(request.listTools, "tools")
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        [
          "classify",
          "erase",
          "index",
          "publish",
          "remind",
          "research",
          "roots",
          "search",
          "show",
          "sign-in",
          "status",
          "summarize",
          "write"
        ]
      )
      const [search, write] = ["search", "write"].map((one) => tools.find(({ name }) => name === one))
      assert.deepStrictEqual(
        Object.keys(members(write)).toSorted(),
        ["annotations", "description", "icons", "inputSchema", "name", "title"]
      )
      assert.strictEqual(members(write?.["inputSchema"])["type"], "object")
      assert.deepStrictEqual(write?.["annotations"], {
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: true,
        openWorldHint: false
      })
      assert.property(search, "outputSchema")
    }))

  it.effect("[TOOL-08] [TOOL-09] returns structured content that matches its output schema", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      // These clients validate the result against the listed schema.
      yield* all(request.listTools, "tools")
      assert.deepStrictEqual(structure(yield* result("search", { word: "sea" })), {
        matches: [{ name: "plan", count: 1 }, { name: "reading", count: 2 }]
      })
    }))

  it.effect("returns content blocks of every type in the form of the revision", () =>
    Effect.gen(function*() {
      const shown = yield* result("show", { name: "colours" })
      assert.deepStrictEqual(shown["_meta"], { "example.com/shown": "colours" })
      const [text, image, audio, link, embedded, ...rest] = blocks(shown)
      assert.deepStrictEqual(rest, [])
      assert.deepStrictEqual(text, {
        type: "text",
        text: "Red, green and blue.",
        annotations: { audience: ["user"], priority: 1 }
      })
      const { data, ...picture } = members(image)
      assert.match(Buffer.from(String(data), "base64").toString("latin1"), /^\u0089PNG/)
      assert.deepStrictEqual(picture, {
        type: "image",
        mimeType: "image/png",
        annotations: { lastModified: "2025-11-25T00:00:00Z", priority: 0 }
      })
      if (revision === "2024-11-05") assert.deepStrictEqual(audio, { type: "text", text: "[audio, audio/wav]" })
      else assert.match(Buffer.from(String(audio?.["data"]), "base64").toString("latin1"), /^RIFF....WAVE/s)
      assert.deepStrictEqual(
        Object.keys(members(link)).toSorted(),
        Revision.isAtLeast(revision, "2025-06-18")
          ? Object.keys(
            {
              _meta: 1,
              annotations: 1,
              description: 1,
              icons: 1,
              mimeType: 1,
              name: 1,
              size: 1,
              title: 1,
              type: 1,
              uri: 1
            }
          )
          : ["annotations", "text", "type"]
      )
      if (!Revision.isAtLeast(revision, "2025-06-18")) assert.strictEqual(link?.["text"], "colours: note:///colours")
      assert.deepStrictEqual(
        embedded,
        {
          type: "resource",
          resource: {
            uri: "note:///colours",
            mimeType: "text/markdown",
            text: "Red, green and blue.",
            _meta: { "example.com/lastModified": "2025-11-25T00:00:00Z" }
          },
          _meta: { "example.com/whole": true }
        }
      )
    }))

  it.effect("a failure of a tool is a result with isError", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("show", { name: "nothing" }), {
        text: "There is no note “nothing”",
        isError: true
      })
    }))

  it.effect("rejects an unknown tool and invalid arguments", () =>
    Effect.gen(function*() {
      const invalid = (message: string) => ({
        code: -32602,
        message: peer.errorMessage(-32602, message),
        data: undefined
      })
      assert.deepStrictEqual(yield* call("burn", {}), invalid("Unknown tool: burn"))
      const problem = "Invalid arguments for the tool \"search\": word: Expected string, got 1"
      assert.deepStrictEqual(
        yield* call("search", { word: 1 }),
        revision === "2025-11-25" ? { text: problem, isError: true } : invalid(problem)
      )
    }))

  it.effect("writes a note, and returns a link to it", () =>
    Effect.gen(function*() {
      const written = yield* result("write", { name: "wishes", text: "A boat." })
      assert.strictEqual(textOf(written), "The note “wishes” is written.")
      assert.strictEqual(list(written["content"]).length, 2)
      assert.deepStrictEqual(structure(yield* result("search", { word: "boat" })), {
        matches: [{ name: "wishes", count: 1 }]
      })
    }))
}
