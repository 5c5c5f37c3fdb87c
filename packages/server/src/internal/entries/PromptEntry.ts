/** Prompts: definitions with their handlers, as `prompts/list` and `prompts/get` serve them. */

import { McpError, Prompt } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as McpPrompt from "../../McpPrompt.ts"
import type { PromptEntry } from "../registry/Entry.ts"
import * as JsonCodec from "../schema/JsonCodec.ts"
import { trust } from "../trust.ts"
import * as Completers from "./Completers.ts"
import * as ContentCheck from "./ContentCheck.ts"
import type { PromptMessages } from "./Definition.ts"
import type { GroupRuntime, Handler } from "./GroupRuntime.ts"
import type { Handled } from "./HandlerRecord.ts"

const argument = ([name, field]: [string, Schema.Constraint]): Prompt.PromptArgument => {
  const { annotations, context } = field.ast
  const description = context?.annotations?.["description"] ?? annotations?.["description"]
  const title = context?.annotations?.["title"] ?? annotations?.["title"]
  return {
    name,
    ...(typeof title === "string" ? { title } : undefined),
    ...(typeof description === "string" ? { description } : undefined),
    required: context?.isOptional !== true
  }
}

const definition = ({ arguments: fields, description, name }: McpPrompt.AnyPrompt): Prompt.Prompt => {
  const { meta, ...rest } = description
  const names = Object.entries(fields)
  return {
    name,
    ...rest,
    ...(names.length === 0 ? undefined : { arguments: names.map(argument) }),
    ...(meta === undefined ? undefined : { _meta: meta })
  }
}

/** Returns the result that a handler's messages stand for. */
const resultOf = (messages: PromptMessages): Prompt.GetPromptResult => {
  if (typeof messages === "string") return { messages: [Prompt.user(messages)] }
  return "messages" in messages ? messages : { messages }
}

type Get = (input: unknown) => Handler<PromptMessages>

/** Prepares a prompt. */
export const make = (runtime: GroupRuntime, prompt: McpPrompt.AnyPrompt, handled: Handled): PromptEntry => {
  const { name } = prompt
  const { description } = prompt.description
  const codec = JsonCodec.make(Schema.Struct(prompt.arguments))
  // The type of `Handlers.prompt` states that the handler is such a function.
  const get = trust<Get>(handled.handler)

  const served = (input: unknown): Handler<Prompt.GetPromptResult> =>
    codec.decode(input).pipe(
      // Missing and invalid arguments (PRM-03, PRM-04).
      Effect.mapError(({ problem }) =>
        McpError.invalidParams(`Invalid arguments for the prompt "${name}": ${problem}`)
      ),
      Effect.flatMap(get),
      Effect.map(resultOf),
      Effect.tap(({ messages }) => ContentCheck.messages(messages, `the prompt "${name}"`)),
      Effect.map((result) => ({ ...(description === undefined ? undefined : { description }), ...result }))
    )

  return {
    kind: "prompt",
    group: runtime.id,
    name,
    definition: definition(prompt),
    scopes: prompt.scopes,
    isConditional: handled.visible !== undefined,
    get: (input, context) =>
      runtime.run(
        runtime.ifVisible(handled.visible, served(input)),
        { method: "prompts/get", name, arguments: input },
        context
      ),
    ...Completers.make(runtime, name, prompt.arguments, handled)
  }
}
