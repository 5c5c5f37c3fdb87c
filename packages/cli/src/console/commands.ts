/**
 * The commands of the console, in both modes: what they send to the server, and what they return.
 */
import type { McpCall, McpClient } from "@effect-mcp/client"
import type * as Completion from "@effect-mcp/protocol/Completion"
import * as Elicitation from "@effect-mcp/protocol/Elicitation"
import type * as PromptMessages from "@effect-mcp/protocol/Prompt"
import type * as Tool from "@effect-mcp/protocol/Tool"
import * as UriTemplate from "@effect-mcp/server/UriTemplate"
import * as Effect from "effect/Effect"
import * as Answers from "./answers.ts"
import * as Arguments from "./arguments.ts"
import * as Failures from "./failures.ts"
import * as Fields from "./fields.ts"
import * as Form from "./form.ts"
import * as ProgressBar from "./progressBar.ts"
import * as Render from "./render.ts"
import { Screen } from "./screen.ts"

/** The result of a command: the value for a script, and the text for a person. */
export interface Outcome {
  readonly value: unknown
  readonly text: string
  /** Whether the tool has failed. */
  readonly isFailure: boolean
}

const succeeded = (value: unknown, text: string): Outcome => ({ value, text, isFailure: false })

/** A part of what a server has. */
export type ListName = "tools" | "resources" | "prompts"

/** Lists what the server has, or one part of it. */
export const list = Effect.fnUntraced(function*(client: McpClient.McpClientShape, only?: ListName) {
  const { profile } = yield* client.session
  const has = (name: ListName) => (only === undefined || only === name) && profile.capabilities[name] !== undefined
  const none = Effect.succeed([])
  const tools = yield* has("tools") ? client.tools : none
  const resources = yield* has("resources") ? client.resources : none
  const resourceTemplates = yield* has("resources") ? client.resourceTemplates : none
  const prompts = yield* has("prompts") ? client.prompts : none
  const wanted = (name: ListName) => only === undefined || only === name
  return succeeded(
    {
      ...(only === undefined ? { server: profile.info, revision: profile.revision } : {}),
      ...(wanted("tools") ? { tools } : {}),
      ...(wanted("resources") ? { resources, resourceTemplates } : {}),
      ...(wanted("prompts") ? { prompts } : {})
    },
    [
      ...(only === undefined ? [Render.profile(profile)] : []),
      ...(wanted("tools") ? [Render.tools(tools)] : []),
      ...(wanted("resources") ? [Render.resources(resources), Render.templates(resourceTemplates)] : []),
      ...(wanted("prompts") ? [Render.prompts(prompts)] : [])
    ].join("\n")
  )
})

const findTool = Effect.fnUntraced(function*(client: McpClient.McpClientShape, name: string) {
  const tools = yield* client.tools
  const tool = tools.find((tool) => tool.name === name)
  return tool ?? (yield* new Failures.Unknown({ kind: "tool", name, known: tools.map(({ name }) => name) }))
})

/** Shows one tool with its schemas. */
export const describe = (client: McpClient.McpClientShape, name: string) =>
  Effect.map(findTool(client, name), (tool) => succeeded(tool, Render.tool(tool)))

/** Returns the arguments in these words. Without any, a person is asked for them. */
const readArguments = Effect.fnUntraced(function*(
  fields: ReadonlyArray<Fields.Field>,
  words: ReadonlyArray<string>,
  suggest?: Form.Suggest
) {
  const { canAsk, exclusively } = yield* Screen
  if (words.length > 0 || fields.length === 0) return yield* Effect.fromResult(Arguments.fromWords(fields, words))
  if (canAsk) return yield* exclusively(Form.fill(fields, suggest))
  const missing = Arguments.missing(fields, {})
  if (missing.length === 0) return {}
  return yield* new Arguments.InvalidArgumentsError({
    problem: `missing arguments: ${missing.join(", ")}; give them as name=value, or as JSON such as ${
      JSON.stringify(Object.fromEntries(missing.map((name) => [name, "…"])))
    }`
  })
})

/** Sends a call, and again after the person has opened the pages that the server demands. */
const callWithPages = (
  client: McpClient.McpClientShape,
  name: string,
  input: Arguments.Arguments
): Effect.Effect<Tool.CallToolResult, McpCall.CallError, Screen> =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const onProgress = (step: Parameters<typeof ProgressBar.line>[0]) =>
      screen.setBar(ProgressBar.line(step, screen.columns()))
    const call = client.callTool(name, input, { onProgress }).pipe(Effect.ensuring(screen.setBar(undefined)))
    return yield* call.pipe(Effect.catchReason("RequestError", "ErrorResponse", ({ error }, failure) =>
      Effect.gen(function*() {
        const pages = Elicitation.requiredUrls(error) ?? []
        if (pages.length === 0 || !screen.canAsk) return yield* failure
        for (const page of pages) {
          const { action } = yield* Answers.openUrl(page, client.name)
          if (action !== "accept") return yield* failure
        }
        return yield* call
      })))
  })

/** Calls a tool. */
export const call = Effect.fnUntraced(
  function*(client: McpClient.McpClientShape, name: string, words: ReadonlyArray<string>) {
    const tool = yield* findTool(client, name)
    const input = yield* readArguments(Fields.of(tool.inputSchema), words)
    const result = yield* callWithPages(client, name, input)
    return { value: result, text: Render.toolResult(result), isFailure: result.isError === true }
  }
)

/** Reads a resource. */
export const read = (client: McpClient.McpClientShape, uri: string) =>
  Effect.map(client.readResource(uri), (result) => succeeded(result, Render.readResult(result)))

/** Returns texts for an argument from the server, or nothing if the server does not complete arguments. */
const suggestFor = (client: McpClient.McpClientShape, ref: Completion.Reference): Form.Suggest => (field, given) =>
  client.complete({
    ref,
    argument: { name: field.name, value: "" },
    context: { arguments: Arguments.texts(given) }
  }).pipe(
    Effect.map(({ completion: { values } }) => values),
    Effect.orElseSucceed(() => [])
  )

const textField = (name: string, title: string | undefined, description: string | undefined, isRequired: boolean) => ({
  name,
  title,
  description,
  isRequired,
  default: undefined,
  kind: { _tag: "Text", minLength: undefined, maxLength: undefined, format: undefined } as const
})

const fieldsOf = ({ arguments: parameters = [] }: PromptMessages.Prompt): ReadonlyArray<Fields.Field> =>
  parameters.map(({ description, name, required, title }) => textField(name, title, description, required === true))

/** Gets a prompt. */
export const prompt = Effect.fnUntraced(
  function*(client: McpClient.McpClientShape, name: string, words: ReadonlyArray<string>) {
    const prompts = yield* client.prompts
    const found = prompts.find((prompt) => prompt.name === name)
    if (found === undefined) {
      return yield* new Failures.Unknown({ kind: "prompt", name, known: prompts.map(({ name }) => name) })
    }
    const input = yield* readArguments(fieldsOf(found), words, suggestFor(client, { type: "ref/prompt", name }))
    const result = yield* client.getPrompt(name, Arguments.texts(input))
    return succeeded(result, Render.promptResult(result))
  }
)

/** Asks for the variables of a resource template, and reads the resource. */
export const readTemplate = Effect.fnUntraced(function*(client: McpClient.McpClientShape, uriTemplate: string) {
  const template = yield* Effect.mapError(
    Effect.fromResult(UriTemplate.expander(uriTemplate)),
    ({ message }) => new Failures.InvalidCommand({ problem: message })
  )
  const names = [...new Set(template.variables.map(({ name }) => name))]
  const values = yield* readArguments(
    names.map((name) => textField(name, undefined, undefined, true)),
    [],
    suggestFor(client, { type: "ref/resource", uri: uriTemplate })
  )
  return yield* read(client, template.expand(Arguments.texts(values)))
})

/** Completes an argument of a prompt, or a variable of a resource template. */
export const complete = Effect.fnUntraced(function*(
  client: McpClient.McpClientShape,
  target: string,
  argument: string,
  value: string,
  words: ReadonlyArray<string>
) {
  const ref = target.includes("://")
    ? { type: "ref/resource" as const, uri: target }
    : { type: "ref/prompt" as const, name: target }
  const given = yield* Effect.fromResult(Arguments.textsFromWords(words))
  const result = yield* client.complete({
    ref,
    argument: { name: argument, value },
    ...(words.length === 0 ? {} : { context: { arguments: given } })
  })
  return succeeded(result, Render.completion(result))
})
