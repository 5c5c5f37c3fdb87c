import { McpError, Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { call, OfficialClient, type ReceivedRequest, result } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { list, members, structure } from "./results.ts"

export const sampling = ({ it, revision }: Conditions) => {
  it.effect("[SMP-01] requests a message of the client's model", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      let received: ReceivedRequest["params"] = {}
      handlers.sampling = ({ params }) =>
        Effect.sync(() => {
          received = params
          return {
            role: "assistant",
            model: "parrot-1",
            stopReason: "endTurn",
            content: { type: "text", text: "A walk by the sea." }
          }
        })
      assert.deepStrictEqual(structure(yield* result("summarize", { name: "plan" })), {
        summary: "A walk by the sea.",
        model: "parrot-1",
        stopReason: "endTurn"
      })
      const { _meta, ...params } = received
      assert.deepStrictEqual(params, {
        messages: [
          { role: "user", content: { type: "text", text: "Summarize the note at note:///plan." } },
          { role: "user", content: { type: "text", text: "Read more, write less, walk by the sea." } }
        ],
        systemPrompt: "You are brief.",
        maxTokens: 200,
        temperature: 0.2,
        stopSequences: ["###"],
        modelPreferences: { hints: [{ name: "small" }], costPriority: 1, speedPriority: 0.5, intelligencePriority: 0 }
      })
    }))

  it.effect("[SMP-01] accepts images of the client's model", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      handlers.sampling = () =>
        Effect.succeed({
          role: "assistant",
          model: "painter",
          content: { type: "image", data: "AAAA", mimeType: "image/png" }
        })
      assert.deepStrictEqual(structure(yield* result("summarize", { name: "plan" })), {
        summary: "[image]",
        model: "painter"
      })
    }))

  it.effect("[SMP-06] an error of the client becomes a tool error", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      handlers.sampling = () =>
        Effect.fail(new McpError.McpError({ code: -1, message: "User rejected sampling request" }))
      assert.deepStrictEqual(yield* call("summarize", { name: "plan" }), {
        text: "sampling/createMessage: the peer replied with error -1: User rejected sampling request",
        isError: true
      })
    }))

  it.effect(
    revision === "2025-11-25"
      ? "[SMP-02] [SMP-03] [SMP-04] lets the client's model use tools, and requires an answer in the end"
      : "[SMP-02] sends no tools for models, because the revision has none",
    () =>
      Effect.gen(function*() {
        const { handlers } = yield* OfficialClient
        const received: Array<ReceivedRequest["params"]> = []
        handlers.sampling = ({ params }) =>
          Effect.sync(() => {
            received.push(params)
            const use = (id: string, input: { [name: string]: unknown }) => ({
              type: "tool_use" as const,
              id,
              name: "search",
              input
            })
            return members(params["toolChoice"])["mode"] === "none"
              ? { role: "assistant", model: "m", stopReason: "endTurn", content: { type: "text", text: "The sea." } }
              : {
                role: "assistant",
                model: "m",
                stopReason: "toolUse",
                content: [use(`${received.length}a`, { word: "sea" }), use(`${received.length}b`, { wrong: 1 })]
              }
          })
        const outcome = yield* call("research", { question: "What is it all about?" })
        if (!Revision.isAtLeast(revision, "2025-11-25")) {
          assert.deepStrictEqual(outcome, {
            text: `sampling/createMessage: the negotiated revision ${revision} does not have this; ` +
              "revision 2025-11-25 or later is needed",
            isError: true
          })
          assert.deepStrictEqual(received, [])
          return
        }
        assert.deepStrictEqual(outcome, { text: "The sea.", isError: false })
        assert.deepStrictEqual(received.map(({ toolChoice }) => toolChoice), [
          { mode: "auto" },
          { mode: "auto" },
          { mode: "auto" },
          { mode: "none" }
        ])
        assert.deepStrictEqual(list(received[0]?.["tools"]).map(({ name }) => name), ["search"])
        const [, uses, results] = list(received[1]?.["messages"])
        assert.strictEqual(uses?.["role"], "assistant")
        assert.deepStrictEqual(list(uses?.["content"]).map(({ id }) => id), ["1a", "1b"])
        assert.strictEqual(results?.["role"], "user")
        const [found, invalid] = list(results?.["content"])
        assert.deepInclude(found, { type: "tool_result", toolUseId: "1a" })
        // One of these clients drops the structured content. The text is the same JSON.
        assert.deepStrictEqual(found?.["content"], [{
          type: "text",
          text: JSON.stringify({ matches: [{ name: "plan", count: 1 }, { name: "reading", count: 2 }] })
        }])
        assert.deepInclude(invalid, { type: "tool_result", toolUseId: "1b", isError: true })
      })
  )

  it.effect("[SMP-06] an internal error of the client becomes a tool error", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      handlers.sampling = () => Effect.die(new Error("the parrot is ill"))
      assert.deepStrictEqual(yield* call("summarize", { name: "plan" }), {
        text: "sampling/createMessage: the peer replied with error -32603: the parrot is ill",
        isError: true
      })
    }))
}
