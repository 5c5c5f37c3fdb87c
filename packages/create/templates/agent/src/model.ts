/**
 * The model of the agent, by the environment: a provider if `MODEL_URL` is set, with `MODEL_NAME`, and with `MODEL_KEY`
 * if it needs one. Without `MODEL_URL`, a script that needs no provider: it adds the question to the notes, and then
 * lists the notes.
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as ChatCompletions from "./ChatCompletions.ts"
import * as ScriptedModel from "./ScriptedModel.ts"

/** Returns what the user has said. */
const questionIn = ({ content }: Prompt.Prompt): string =>
  content.flatMap((message) =>
    message.role === "user" ? message.content.flatMap((part) => part.type === "text" ? [part.text] : []) : []
  ).join("\n")

const script = ScriptedModel.layer([
  (prompt) => [{ name: "notes__add", params: { text: questionIn(prompt) } }],
  [{ name: "notes__list", params: {} }],
  (prompt) => `The notes are: ${ScriptedModel.resultsIn(prompt).at(-1)}`
])

/** The provider. `MODEL_URL` is of no use without the name of a model. */
const provider = Config.all({
  url: Config.String("MODEL_URL"),
  model: Config.NonEmptyString("MODEL_NAME"),
  key: Config.option(Config.Redacted("MODEL_KEY"))
})

export const layer = Layer.unwrap(
  Effect.gen(function*() {
    if (Option.isNone(yield* Config.option(Config.String("MODEL_URL")))) return script
    const { key, model, url } = yield* provider
    return Layer.provide(
      ChatCompletions.layer({ url, model, key: Option.getOrUndefined(key) }),
      FetchHttpClient.layer
    )
  })
)
