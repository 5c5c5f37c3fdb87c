/** A model that follows a script: for tests, and for a first run without a provider. */
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
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

/** Fails if an answer calls a tool that no server has. The script can do nothing else then. */
const checkCalls = (answer: Answer, tools: ReadonlyArray<Tool.Any>): Effect.Effect<void, AiError.AiError> => {
  const missing = typeof answer === "string"
    ? undefined
    : answer.find((call) => tools.every(({ name }) => name !== call.name))
  if (missing === undefined) return Effect.void
  const [server = ""] = missing.name.split("__")
  const description = `the script needs the server "${server}"; add it to servers.json, or set MODEL_URL to use a model`
  return Effect.fail(AiError.make({
    module: "ScriptedModel",
    method: "generateText",
    reason: new AiError.ToolConfigurationError({ toolName: missing.name, description })
  }))
}

/** Answers with these steps, one after the other. After the last one, it repeats that. */
export const layer = (steps: readonly [Step, ...ReadonlyArray<Step>]): Layer.Layer<LanguageModel.LanguageModel> =>
  Layer.effect(
    LanguageModel.LanguageModel,
    Effect.gen(function*() {
      const index = yield* Ref.make(0)
      return yield* LanguageModel.make({
        generateText: Effect.fnUntraced(function*({ prompt, tools }) {
          const now = yield* Ref.getAndUpdate(index, (now) => now + 1)
          const step = steps[Math.min(now, steps.length - 1)] ?? steps[0]
          const answer = typeof step === "function" ? step(prompt) : step
          yield* checkCalls(answer, tools)
          return partsOf(answer, now)
        }),
        streamText: () => Stream.die("this script is not streamed")
      })
    })
  )
