import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Conditions } from "./conditions.ts"
import { callForText, errorResponse } from "./results.ts"
import { blocks } from "./tools.ts"

export const prompts = ({ host, it, peer }: Conditions) => {
  it.effect("[PAG-01] [PAG-02] [PAG-03] lists prompts with all members, page by page", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      const before = host.entries.length
      const [add, ...rest] = yield* Stream.runCollect(session.prompts)
      assert.deepStrictEqual(add, {
        name: "add",
        title: "Add up",
        description: "Adds up beads",
        arguments: [
          { name: "beads", description: "The number of beads", required: true },
          { name: "more", description: "The number of additional beads" }
        ],
        icons: [{ src: "https://example.com/bead.svg", mimeType: "image/svg+xml", sizes: ["any"] }],
        _meta: { "example.com/beads": true }
      })
      assert.deepStrictEqual(rest, [{ name: "show" }, { name: "third" }])
      assert.strictEqual(host.entries.length, before + 4)
    }))

  it.effect("receives the error for an unknown cursor", () =>
    Effect.gen(function*() {
      const { listPrompts } = yield* ClientSession.ClientSession
      assert.deepInclude(yield* errorResponse(listPrompts({ cursor: "9" })), {
        code: -32602,
        message: peer.errorMessage(-32602, "Unknown cursor")
      })
    }))

  it.effect("gets a prompt with arguments", () =>
    Effect.gen(function*() {
      const { getPrompt } = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* getPrompt("add", { beads: "15", more: "27" }), {
        description: "An addition",
        messages: [
          { role: "user", content: { type: "text", text: "15 + 27?" } },
          { role: "assistant", content: { type: "text", text: "That makes" } }
        ],
        _meta: { "example.com/sum": true }
      })
      const { messages } = yield* getPrompt("show")
      assert.deepStrictEqual(messages.map(({ content }) => content), blocks)
      assert.deepInclude(yield* errorResponse(getPrompt("add")), {
        code: -32602,
        message: peer.errorMessage(-32602, "Missing argument: beads")
      })
      assert.deepInclude(yield* errorResponse(getPrompt("burn")), {
        code: -32602,
        message: peer.errorMessage(-32602, "Unknown prompt: burn")
      })
    }))

  it.effect("[TOOL-02] [RES-02] [PRM-02] receives list_changed notifications", () =>
    Effect.gen(function*() {
      for (
        const method of [
          "notifications/tools/list_changed",
          "notifications/prompts/list_changed",
          "notifications/resources/list_changed"
        ] as const
      ) {
        yield* callForText("notify", { method })
        assert.deepStrictEqual(yield* Notifications.next(method), { method, params: {} })
      }
    }))
}
