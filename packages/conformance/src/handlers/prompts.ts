/** Prompts with and without arguments, with a resource and an image, and the completion of their arguments. */
import type * as Completion from "@effect-mcp/protocol/Completion"
import * as Content from "@effect-mcp/protocol/Content"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Prompt from "@effect-mcp/protocol/Prompt"
import * as Effect from "effect/Effect"
import * as Media from "./media.ts"

interface Template {
  readonly prompt: Prompt.Prompt
  /** Returns the messages for the values of the prompt's arguments, in their order. */
  readonly fill: (...values: ReadonlyArray<string>) => ReadonlyArray<Content.ContentBlock>
}

const argument = (name: string, description: string): Prompt.PromptArgument => ({ name, description, required: true })

const templates: ReadonlyArray<Template> = [
  {
    prompt: { name: "test_simple_prompt", description: "A prompt without arguments" },
    fill: () => [Content.text("This is a simple prompt for testing.")]
  },
  {
    prompt: {
      name: "test_prompt_with_arguments",
      description: "A prompt with two arguments",
      arguments: [argument("arg1", "First test argument"), argument("arg2", "Second test argument")]
    },
    fill: (one, other) => [Content.text(`Prompt with arguments: arg1='${one}', arg2='${other}'`)]
  },
  {
    prompt: {
      name: "test_prompt_with_embedded_resource",
      description: "A prompt with an embedded resource",
      arguments: [argument("resourceUri", "URI of the resource to embed")]
    },
    fill: (uri = "") => [
      {
        type: "resource",
        resource: { uri, mimeType: "text/plain", text: "Embedded resource content for testing." }
      },
      Content.text("Please process the embedded resource above.")
    ]
  },
  {
    prompt: { name: "test_prompt_with_image", description: "A prompt with an image" },
    fill: () => [Media.image, Content.text("Please analyze the image above.")]
  }
]

/** Returns a prompt by name. Fails if there is none (PRM-03). */
const find = (name: string): Effect.Effect<Template, McpError.McpError> => {
  const found = templates.find(({ prompt }) => prompt.name === name)
  return found === undefined ? Effect.fail(McpError.invalidParams(`Unknown prompt: ${name}`)) : Effect.succeed(found)
}

/** The suggestions for arguments: the values that the suite uses. */
const suggestions = ["testValue1", "testValue2"]

export const handlers = {
  "prompts/list": ({ cursor }: { readonly cursor?: string }) =>
    cursor === undefined
      ? Effect.succeed({ prompts: templates.map(({ prompt }) => prompt) })
      : Effect.fail(McpError.invalidParams(`Unknown cursor: ${cursor}`)),
  "prompts/get": Effect.fnUntraced(function*({ arguments: given = {}, name }: Prompt.GetPromptParams) {
    const { fill, prompt } = yield* find(name)
    const values: Array<string> = []
    for (const argument of prompt.arguments ?? []) {
      const value = given[argument.name]
      if (value === undefined) {
        return yield* McpError.invalidParams(`Prompt ${name} needs the argument ${argument.name}`)
      }
      values.push(value)
    }
    const messages = fill(...values).map((content) => ({ role: "user" as const, content }))
    return prompt.description === undefined ? { messages } : { description: prompt.description, messages }
  }),
  "completion/complete": Effect.fnUntraced(function*({ argument, ref }: Completion.CompleteParams) {
    if (ref.type === "ref/resource") return { completion: { values: [] } }
    const { prompt } = yield* find(ref.name)
    if (prompt.arguments?.some(({ name }) => name === argument.name) !== true) {
      return yield* McpError.invalidParams(`Prompt ${ref.name} has no argument ${argument.name}`)
    }
    const values = suggestions.filter((value) => value.startsWith(argument.value))
    return { completion: { values, total: values.length, hasMore: false } }
  })
}
