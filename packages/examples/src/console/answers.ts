/**
 * The answers to a server: a person fills in its forms, opens its pages, and answers for the model. In a script, forms
 * are answered with the values of the command line.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import * as ElicitationContent from "@effect-mcp/protocol/ElicitationContent"
import * as ErrorCode from "@effect-mcp/protocol/ErrorCode"
import { McpError } from "@effect-mcp/protocol/McpError"
import type * as Sampling from "@effect-mcp/protocol/Sampling"
import * as CallbackContext from "@effect-mcp/session/CallbackContext"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Fields from "./fields.ts"
import * as Form from "./form.ts"
import * as Render from "./render.ts"
import { Screen } from "./screen.ts"

const cancelled: Elicitation.ElicitResult = { action: "cancel" }

const choose = <A>(message: string, choices: ReadonlyArray<readonly [title: string, value: A]>): Prompt.Prompt<A> =>
  Prompt.Select({ message: PlainText.line(message), choices: choices.map(([title, value]) => ({ title, value })) })

const decodeContent = Schema.decodeUnknownResult(ElicitationContent.ElicitationContent)

/** Returns the content of a form, or what is wrong with it. */
const contentOf = (
  { requestedSchema }: Elicitation.FormParams,
  values: unknown
): Result.Result<ElicitationContent.ElicitationContent, string> => {
  const decoded = Result.mapError(decodeContent(values), String)
  return Result.flatMap(
    decoded,
    (content) => Result.map(ElicitationContent.check(requestedSchema, content), () => content)
  )
}

/** Shows a form, and has it filled in until it is valid. The person can also decline, or leave it. */
export const fillForm = Effect.fnUntraced(function*(params: Elicitation.FormParams, server: string) {
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
      const content = contentOf(params, yield* Form.fill(Fields.of(params.requestedSchema)))
      if (Result.isSuccess(content)) return { action, content: content.success }
      yield* print(`The form is not valid: ${content.failure}`)
    }
  })).pipe(Effect.catchTag("QuitError", () => Effect.succeed(cancelled)))
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
  })).pipe(Effect.catchTag("QuitError", () => Effect.succeed(cancelled)))
})

const rejected = new McpError({ code: -1, message: "User rejected sampling request" })

/** Shows the request of a server to a model. The person answers as the model, or rejects the request. */
export const createMessage = Effect.fnUntraced(function*(params: Sampling.CreateMessageParams, server: string) {
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

const serverName = Effect.map(CallbackContext.CallbackContext, ({ profile }) => profile.info.name)

/** The handlers of a console with a person. */
export const ofPerson = (screen: Screen["Service"]) => ({
  "elicitation/create": (params: Elicitation.ElicitParams) =>
    Effect.flatMap(serverName, (server) => params.mode === "url" ? openUrl(params, server) : fillForm(params, server))
      .pipe(Effect.provideService(Screen, screen)),
  "sampling/createMessage": (params: Sampling.CreateMessageParams) =>
    Effect.provideService(Effect.flatMap(serverName, (server) => createMessage(params, server)), Screen, screen)
})

/** The handlers of a script: each form gets the next of these answers, and is declined when there is none left. */
export const ofScript = (answers: ReadonlyArray<object>, screen: Screen["Service"]) => {
  const left = [...answers]
  return {
    "elicitation/create": Effect.fnUntraced(function*(params: Elicitation.ElicitParams) {
      yield* screen.note(`the server asks: ${params.message}`)
      const answer = params.mode === "url" ? undefined : left.shift()
      if (params.mode === "url" || answer === undefined) {
        yield* screen.note("declined: the command line has no --answer left")
        return { action: "decline" } as const
      }
      const content = contentOf(params, answer)
      if (Result.isSuccess(content)) return { action: "accept", content: content.success } as const
      return yield* new McpError({
        code: ErrorCode.InvalidParams,
        message: `the --answer of the command line does not fit the form: ${content.failure}`
      })
    })
  }
}
