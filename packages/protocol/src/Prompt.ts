/**
 * Prompts: templates of messages to a model.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import * as Content from "./Content.ts"
import { Icon } from "./Implementation.ts"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * An argument of a prompt.
 *
 * @category models
 */
export interface PromptArgument {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly required?: boolean
}

/**
 * The schema of a {@link PromptArgument}.
 *
 * @category schemas
 */
export const PromptArgument: Schema.Codec<PromptArgument> = Schema.Struct({
  name: Schema.String,
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  required: Schema.optionalKey(Schema.Boolean)
})

/**
 * A prompt in the list of a server.
 *
 * @category models
 */
export interface Prompt {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments?: ReadonlyArray<PromptArgument>
  readonly icons?: ReadonlyArray<Icon>
  readonly _meta?: Meta
}

/**
 * The schema of a {@link Prompt}.
 *
 * @category schemas
 */
export const Prompt: Schema.Codec<Prompt> = Schema.Struct({
  name: Schema.String,
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  arguments: Schema.optionalKey(Schema.Array(PromptArgument)),
  icons: Schema.optionalKey(Schema.Array(Icon)),
  _meta: Schema.optionalKey(Meta)
})

/**
 * One page of prompts. The last page has no `nextCursor` (PAG-03).
 *
 * @category models
 */
export interface ListPromptsResult {
  readonly prompts: ReadonlyArray<Prompt>
  readonly nextCursor?: string
  readonly _meta?: Meta
}

export const ListPromptsResult: Schema.Codec<ListPromptsResult> = Schema.Struct({
  prompts: Schema.Array(Prompt),
  nextCursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The params of `prompts/get`: the name of the prompt and its arguments.
 *
 * @category models
 */
export interface GetPromptParams {
  readonly name: string
  readonly arguments?: { readonly [name: string]: string }
  readonly _meta?: RequestMeta
}

export const GetPromptParams: Schema.Codec<GetPromptParams> = Schema.Struct({
  name: Schema.String,
  arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * One message of a prompt.
 *
 * @category models
 */
export interface PromptMessage {
  readonly role: "user" | "assistant"
  readonly content: Content.ContentBlock
}

/**
 * The schema of a {@link PromptMessage}.
 *
 * @category schemas
 */
export const PromptMessage: Schema.Codec<PromptMessage> = Schema.Struct({
  role: Schema.Literals(["user", "assistant"]),
  content: Content.ContentBlock
})

/**
 * The result of `prompts/get`: the messages of the prompt.
 *
 * @category models
 */
export interface GetPromptResult {
  readonly messages: ReadonlyArray<PromptMessage>
  readonly description?: string
  readonly _meta?: Meta
}

export const GetPromptResult: Schema.Codec<GetPromptResult> = Schema.Struct({
  messages: Schema.Array(PromptMessage),
  description: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

const message = (role: PromptMessage["role"]) => (content: string | Content.ContentBlock): PromptMessage => ({
  role,
  content: typeof content === "string" ? Content.text(content) : content
})

/**
 * Creates a message of the user, from text or from any content block.
 *
 * @example
 * ```ts
 * import { Prompt } from "@effect-mcp/protocol"
 *
 * export const request = Prompt.user("Summarize these notes.")
 * // => { role: "user", content: { type: "text", text: "Summarize these notes." } }
 * ```
 *
 * @category constructors
 */
export const user: (content: string | Content.ContentBlock) => PromptMessage = message("user")

/**
 * Creates a message of the model, from text or from any content block.
 *
 * @example
 * ```ts
 * import { Prompt } from "@effect-mcp/protocol"
 *
 * export const start = Prompt.assistant("In short:")
 * // => { role: "assistant", content: { type: "text", text: "In short:" } }
 * ```
 *
 * @category constructors
 */
export const assistant: (content: string | Content.ContentBlock) => PromptMessage = message("assistant")
