/** A model that follows a script: for tests, and for a first run without a provider. */
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"

/** One answer of a model: a text, or calls of tools. A function gets the conversation so far. */
export type Answer =
  | string
  | ReadonlyArray<{ readonly name: string; readonly params: unknown; readonly id?: string }>

export type Step = Answer | ((prompt: Prompt.Prompt) => Answer)

/** The number of tokens, which a script does not have. */
const usage = {
  inputTokens: { uncached: undefined, total: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined }
}

/** Returns the texts of all results of tools in a conversation, the newest last. */
export const resultsIn = (prompt: Prompt.Prompt): ReadonlyArray<string> =>
  prompt.content.flatMap((message) =>
    message.role !== "tool" ? [] : message.content.flatMap((part) =>
      part.type !== "tool-result" ? [] : [
        part.modelOutput?.map((output) => output.type === "text" ? output.text : "").join("\n") ??
          JSON.stringify(part.result)
      ]
    )
  )

/** Returns the parts of an answer. Ids of calls are unique in the conversation, unless the script has its own. */
const partsOf = (answer: Answer, index: number): Array<Response.PartEncoded> =>
  typeof answer === "string"
    ? [{ type: "text", text: answer }, { type: "finish", reason: "stop", usage }]
    : [
      ...answer.map((call, number) => ({ type: "tool-call", id: `call-${index}-${number}`, ...call }) as const),
      { type: "finish", reason: "tool-calls", usage }
    ]

/** Answers with these steps, one after the other. After the last one, it repeats that. */
export const layer = (steps: readonly [Step, ...ReadonlyArray<Step>]): Layer.Layer<LanguageModel.LanguageModel> =>
  Layer.effect(
    LanguageModel.LanguageModel,
    Effect.gen(function*() {
      const index = yield* Ref.make(0)
      return yield* LanguageModel.make({
        generateText: ({ prompt }) =>
          Effect.map(Ref.getAndUpdate(index, (now) => now + 1), (now) => {
            const step = steps[Math.min(now, steps.length - 1)] ?? steps[0]
            return partsOf(typeof step === "function" ? step(prompt) : step, now)
          }),
        streamText: () => Stream.die("this script is not streamed")
      })
    })
  )
