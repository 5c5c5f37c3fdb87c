import { Revision, type Sampling } from "@effect-mcp/protocol"
import { ClientRequestContext, ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { type Conditions, withScript } from "./conditions.ts"
import { callForJson, serverRequest } from "./results.ts"

const text = (text: string) => ({ type: "text" as const, text })

const params = {
  messages: [{ role: "user", content: text("How many beads are there?") }],
  maxTokens: 3,
  systemPrompt: "Count.",
  temperature: 0.5,
  stopSequences: ["###"],
  modelPreferences: { hints: [{ name: "small" }], speedPriority: 1 },
  metadata: { "example.com/provider": "none" }
}

const tool = { name: "look", inputSchema: { type: "object", required: ["at"], properties: { at: { type: "string" } } } }

export const sampling = ({ host, it, revision }: Conditions) => {
  it.effect("[SMP-01] the model receives all params of the server, and the server receives the result", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* serverRequest("sampling/createMessage", params), {
        result: { role: "assistant", model: "parrot", stopReason: "maxTokens", content: text("How many beads") }
      })
      let given: Sampling.CreateMessageParams | undefined
      const picture: Sampling.CreateMessageResult = {
        role: "assistant",
        model: "painter",
        content: { type: "image", data: "AAAA", mimeType: "image/png" }
      }
      const createMessage = (params: Sampling.CreateMessageParams) => {
        given = params
        return Effect.succeed(picture)
      }
      assert.deepStrictEqual(
        yield* withScript(host, { createMessage }, serverRequest("sampling/createMessage", params)),
        {
          result: picture
        }
      )
      const { _meta, ...received } = given ?? { _meta: undefined }
      assert.deepStrictEqual(received, params)
    }))

  it.effect("[PRG-01] [PRG-03] [law 9] the server receives progress of the model while the host calls the server", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      const observedProgress = Effect.map(callForJson("observations"), ({ progress }) => JSON.stringify(progress))
      const { progress: before } = yield* callForJson("observations")
      const createMessage = () =>
        Effect.gen(function*() {
          for (const progress of [0.25, 0.5]) {
            yield* ClientRequestContext.progress({ progress, total: 1 })
            while (!(yield* observedProgress).endsWith(`${progress}]`)) yield* Effect.sleep("5 millis")
          }
          return { role: "assistant" as const, model: "slow", content: text("Seven.") }
        }).pipe(Effect.provideService(ClientSession.ClientSession, session), Effect.orDie)
      yield* withScript(host, { createMessage }, serverRequest("sampling/createMessage", params))
      const { progress: after } = yield* callForJson("observations")
      assert.deepStrictEqual(after, [...(Array.isArray(before) ? before : []), 0.25, 0.5])
    }))

  it.effect("[SMP-06] a defect of the model is sent as an internal error without its message", () =>
    Effect.gen(function*() {
      const createMessage = () => Effect.die(new Error("the parrot is ill"))
      const { code, error } = yield* withScript(
        host,
        { createMessage },
        serverRequest("sampling/createMessage", params)
      )
      assert.strictEqual(code, -32603)
      assert.notInclude(String(error), "parrot")
      yield* Child.until(() => host.events.some(({ _tag }) => _tag === "HandlerFailed"))
    }))

  if (!Revision.isAtLeast(revision, "2025-11-25")) return

  it.effect("[SMP-02] [SMP-03] [SMP-04] the model uses tools, and receives their results", () =>
    Effect.gen(function*() {
      const use = { type: "tool_use", id: "use-1", name: "look", input: { at: "there" } }
      const tools = [tool]
      assert.deepStrictEqual(
        yield* serverRequest("sampling/createMessage", { ...params, tools, toolChoice: { mode: "required" } }),
        { result: { role: "assistant", model: "parrot", stopReason: "toolUse", content: [use] } }
      )
      const messages = [
        ...params.messages,
        { role: "assistant", content: [use] },
        { role: "user", content: [{ type: "tool_result", toolUseId: "use-1", content: [text("Seven.")] }] }
      ]
      assert.deepStrictEqual(
        yield* serverRequest("sampling/createMessage", { ...params, messages, tools, toolChoice: { mode: "none" } }),
        { result: { role: "assistant", model: "parrot", stopReason: "endTurn", content: text("Seven.") } }
      )
    }))
}
