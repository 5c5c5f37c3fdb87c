/**
 * Prompts: ready-made beginnings of a conversation with a model.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ContentBlock } from "./Content.ts"
import { Icon } from "./Implementation.ts"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * Something a prompt may be given.
 *
 * @category models
 * @since 0.1.0
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
 * @since 0.1.0
 */
export const PromptArgument: Schema.Codec<PromptArgument> = Schema.Struct({
  name: Schema.String,
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  required: Schema.optionalKey(Schema.Boolean)
})

/**
 * A prompt as a server lists it.
 *
 * @category models
 * @since 0.1.0
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
 * @since 0.1.0
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
 * One page of prompts; no `nextCursor` means that it is the last (PAG-03).
 *
 * @category models
 * @since 0.1.0
 */
export interface ListPromptsResult {
  readonly prompts: ReadonlyArray<Prompt>
  readonly nextCursor?: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link ListPromptsResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListPromptsResult: Schema.Codec<ListPromptsResult> = Schema.Struct({
  prompts: Schema.Array(Prompt),
  nextCursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Which prompt to get, and what to fill in.
 *
 * @category models
 * @since 0.1.0
 */
export interface GetPromptParams {
  readonly name: string
  readonly arguments?: { readonly [name: string]: string }
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link GetPromptParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GetPromptParams: Schema.Codec<GetPromptParams> = Schema.Struct({
  name: Schema.String,
  arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * One message of a prompt.
 *
 * @category models
 * @since 0.1.0
 */
export interface PromptMessage {
  readonly role: "user" | "assistant"
  readonly content: ContentBlock
}

/**
 * The schema of a {@link PromptMessage}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PromptMessage: Schema.Codec<PromptMessage> = Schema.Struct({
  role: Schema.Literals(["user", "assistant"]),
  content: ContentBlock
})

/**
 * The prompt, filled in.
 *
 * @category models
 * @since 0.1.0
 */
export interface GetPromptResult {
  readonly messages: ReadonlyArray<PromptMessage>
  readonly description?: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link GetPromptResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GetPromptResult: Schema.Codec<GetPromptResult> = Schema.Struct({
  messages: Schema.Array(PromptMessage),
  description: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})
