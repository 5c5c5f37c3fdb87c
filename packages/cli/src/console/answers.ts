/**
 * The answers to a server: a person fills in its forms, opens its pages, and answers for the model. In a script, forms
 * are answered with the values of the command line.
 */
import * as McpAnswers from "@effect-mcp/client/McpAnswers"
import * as PlainText from "@effect-mcp/client/PlainText"
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import * as ElicitationContent from "@effect-mcp/protocol/ElicitationContent"
import * as ErrorCode from "@effect-mcp/protocol/ErrorCode"
import { McpError } from "@effect-mcp/protocol/McpError"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Fields from "./fields.ts"
import * as Form from "./form.ts"
import * as Render from "./render.ts"
import { Screen } from "./screen.ts"

const choose = <A>(message: string, choices: ReadonlyArray<readonly [title: string, value: A]>): Prompt.Prompt<A> =>
  Prompt.Select({ message: PlainText.line(message), choices: choices.map(([title, value]) => ({ title, value })) })

const decodeContent = Schema.decodeUnknownResult(ElicitationContent.ElicitationContent)

/**
 * Returns the content of a form, or what is wrong with it. `McpAnswers.accept` would fill in defaults that the person
 * has left out, or that were never shown.
 */
const contentOf = (
  { params }: McpAnswers.FormQuestion,
  values: unknown
): Result.Result<ElicitationContent.ElicitationContent, string> =>
  Result.flatMap(Result.mapError(decodeContent(values), String), (content) => {
    const problems = McpAnswers.check(params.requestedSchema, content)
    return problems.length === 0
      ? Result.succeed(content)
      : Result.fail(problems.map(({ field, problem }) => `${field} ${problem}`).join("; "))
  })

/** Shows a form, and has it filled in until it is valid. The person can also decline, or leave it. */
const fillForm = Effect.fnUntraced(function*(question: McpAnswers.FormQuestion) {
  const { params, server } = question
  const { ask, exclusively, print } = yield* Screen
  return yield* exclusively(Effect.gen(function*() {
    yield* print(`${PlainText.line(server)} asks: ${params.message}`)
    while (true) {
      const action = yield* ask(choose<Elicitation.ElicitResult["action"]>("Your answer", [
        ["fill in the form", "accept"],
        ["decline", "decline"],
        ["cancel", "cancel"]
      ]))
      if (action !== "accept") return { action }
      const content = contentOf(question, yield* Form.fill(Fields.of(params.requestedSchema)))
      if (Result.isSuccess(content)) return { action, content: content.success }
      yield* print(`The form is not valid: ${content.failure}`)
    }
  })).pipe(Effect.catchTag("QuitError", () => Effect.succeed(McpAnswers.cancel)))
})

/**
 * Shows a page that the server wants the person to open. The console does not open it: the person must see the whole
 * URL first, and decide.
 */
export const openUrl = Effect.fnUntraced(function*(
  { message, url }: Pick<Elicitation.UrlParams, "message" | "url">,
  server: string
) {
  const { ask, exclusively, print } = yield* Screen
  return yield* exclusively(Effect.gen(function*() {
    const host = URL.canParse(url) ? new URL(url).host : ""
    yield* print(`${PlainText.line(server)} asks you to open a page: ${message}\n${url}`)
    const action = yield* ask(
      choose<Elicitation.ElicitResult["action"]>(`Open the page${host === "" ? "" : ` of ${host}`} in your browser`, [
        ["I have opened it", "accept"],
        ["decline", "decline"],
        ["cancel", "cancel"]
      ])
    )
    return { action }
  })).pipe(Effect.catchTag("QuitError", () => Effect.succeed(McpAnswers.cancel)))
})

const rejected = new McpError({ code: -1, message: "User rejected sampling request" })

/** Shows the request of a server to a model. The person answers as the model, or rejects the request. */
const createMessage = Effect.fnUntraced(function*({ params, server }: McpAnswers.SampleQuestion) {
  const { ask, exclusively, print } = yield* Screen
  return yield* exclusively(Effect.gen(function*() {
    const system = params.systemPrompt === undefined ? [] : [`system: ${params.systemPrompt}`]
    yield* print([
      `${PlainText.line(server)} asks for the answer of a model, of at most ${params.maxTokens} tokens:`,
      ...system,
      ...params.messages.map(Render.samplingMessage)
    ].join("\n"))
    const isAnswered = yield* ask(choose("Your answer", [["answer as the model", true], ["reject", false]]))
    if (!isAnswered) return yield* rejected
    const text = yield* ask(Prompt.String({ message: "The answer of the model" }))
    return { role: "assistant", model: "a person", stopReason: "endTurn", content: { type: "text", text } } as const
  })).pipe(Effect.catchTag("QuitError", () => Effect.fail(rejected)))
})

/** The answers of a console with a person. They show the name of the client, which the server has not chosen. */
export const ofPerson = McpAnswers.make({
  elicit: fillForm,
  elicitUrl: ({ params, server }) => openUrl(params, server),
  sample: createMessage
})

/** The answers of a script: each form gets the next of these values, and is declined when there are none left. */
export const ofScript = (values: ReadonlyArray<object>) => {
  const left = [...values]
  return McpAnswers.make({
    elicit: Effect.fnUntraced(function*(question: McpAnswers.FormQuestion) {
      const { note } = yield* Screen
      yield* note(`${PlainText.line(question.server)} asks: ${question.params.message}`)
      const next = left.shift()
      if (next === undefined) {
        yield* note("declined: the command line has no --answer left")
        return McpAnswers.decline
      }
      const content = contentOf(question, next)
      if (Result.isSuccess(content)) return { action: "accept", content: content.success } as const
      return yield* new McpError({
        code: ErrorCode.InvalidParams,
        message: `the --answer of the command line does not fit the form: ${content.failure}`
      })
    })
  })
}
