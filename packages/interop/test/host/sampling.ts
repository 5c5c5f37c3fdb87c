import { Revision, type Sampling } from "@effect-mcp/protocol"
import { CallbackContext, ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { answering, type Conditions } from "./conditions.ts"
import { asked, told } from "./results.ts"

const text = (text: string) => ({ type: "text" as const, text })

const question = {
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
  it.effect("[SMP-01] its model answers, and is asked all that the server asks", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* asked("sampling/createMessage", question), {
        answer: { role: "assistant", model: "parrot", stopReason: "maxTokens", content: text("How many beads") }
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
      assert.deepStrictEqual(yield* answering(host, { createMessage }, asked("sampling/createMessage", question)), {
        answer: picture
      })
      const { _meta, ...params } = given ?? { _meta: undefined }
      assert.deepStrictEqual(params, question)
    }))

  it.effect("[PRG-01] [PRG-03] [law 9] the progress that its model makes reaches the server, which it asks meanwhile", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      const seen = Effect.map(told("seen"), ({ progress }) => JSON.stringify(progress))
      const { progress: before } = yield* told("seen")
      const createMessage = () =>
        Effect.gen(function*() {
          for (const progress of [0.25, 0.5]) {
            yield* CallbackContext.progress({ progress, total: 1 })
            while (!(yield* seen).endsWith(`${progress}]`)) yield* Effect.sleep("5 millis")
          }
          return { role: "assistant" as const, model: "slow", content: text("Seven.") }
        }).pipe(Effect.provideService(ClientSession.ClientSession, session), Effect.orDie)
      yield* answering(host, { createMessage }, asked("sampling/createMessage", question))
      const { progress: after } = yield* told("seen")
      assert.deepStrictEqual(after, [...(Array.isArray(before) ? before : []), 0.25, 0.5])
    }))

  it.effect("[SMP-06] a defect of its model is nobody's business", () =>
    Effect.gen(function*() {
      const createMessage = () => Effect.die(new Error("the parrot is ill"))
      const { code, thrown } = yield* answering(host, { createMessage }, asked("sampling/createMessage", question))
      assert.strictEqual(code, -32603)
      assert.notInclude(String(thrown), "parrot")
      yield* Child.until(() => host.events.some(({ _tag }) => _tag === "HandlerFailed"))
    }))

  if (!Revision.isAtLeast(revision, "2025-11-25")) return

  it.effect("[SMP-02] [SMP-03] [SMP-04] its model uses tools, and reads what came of it", () =>
    Effect.gen(function*() {
      const use = { type: "tool_use", id: "use-1", name: "look", input: { at: "there" } }
      const tools = [tool]
      assert.deepStrictEqual(
        yield* asked("sampling/createMessage", { ...question, tools, toolChoice: { mode: "required" } }),
        { answer: { role: "assistant", model: "parrot", stopReason: "toolUse", content: [use] } }
      )
      const messages = [
        ...question.messages,
        { role: "assistant", content: [use] },
        { role: "user", content: [{ type: "tool_result", toolUseId: "use-1", content: [text("Seven.")] }] }
      ]
      assert.deepStrictEqual(
        yield* asked("sampling/createMessage", { ...question, messages, tools, toolChoice: { mode: "none" } }),
        { answer: { role: "assistant", model: "parrot", stopReason: "endTurn", content: text("Seven.") } }
      )
    }))
}
