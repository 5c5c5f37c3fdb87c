/**
 * Sampling: a server asks the client's model for a message.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AudioContent, ContentBlock, ImageContent, TextContent } from "./Content.ts"
import * as Excerpt from "./Excerpt.ts"
import { Meta, RequestMeta } from "./Meta.ts"
import { TaskMetadata } from "./Task.ts"
import { Tool } from "./Tool.ts"

/**
 * The model wants a tool to be called.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolUseContent {
  readonly type: "tool_use"
  readonly id: string
  readonly name: string
  readonly input: { readonly [name: string]: unknown }
  readonly _meta?: Meta
}

/**
 * The schema of {@link ToolUseContent}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolUseContent: Schema.Codec<ToolUseContent> = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: Schema.Record(Schema.String, Schema.Unknown),
  _meta: Schema.optionalKey(Meta)
})

/**
 * What came of a tool the model wanted to be called.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolResultContent {
  readonly type: "tool_result"
  readonly toolUseId: string
  readonly content: ReadonlyArray<ContentBlock>
  readonly structuredContent?: { readonly [name: string]: unknown }
  readonly isError?: boolean
  readonly _meta?: Meta
}

/**
 * The schema of {@link ToolResultContent}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolResultContent: Schema.Codec<ToolResultContent> = Schema.Struct({
  type: Schema.Literal("tool_result"),
  toolUseId: Schema.String,
  content: Schema.Array(ContentBlock),
  structuredContent: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  isError: Schema.optionalKey(Schema.Boolean),
  _meta: Schema.optionalKey(Meta)
})

/**
 * What a message to or from a model is made of.
 *
 * @category models
 * @since 0.1.0
 */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent

/**
 * The schema of {@link SamplingContent}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SamplingContent: Schema.Codec<SamplingContent> = Schema.Union([
  TextContent,
  ImageContent,
  AudioContent,
  ToolUseContent,
  ToolResultContent
])

const oneOrSeveral: Schema.Codec<SamplingContent | ReadonlyArray<SamplingContent>> = Schema.Union([
  SamplingContent,
  Schema.Array(SamplingContent)
])

/**
 * One message to or from a model. Several pieces of content in one message exist since 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export interface SamplingMessage {
  readonly role: "user" | "assistant"
  readonly content: SamplingContent | ReadonlyArray<SamplingContent>
  readonly _meta?: Meta
}

/**
 * The schema of a {@link SamplingMessage}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SamplingMessage: Schema.Codec<SamplingMessage> = Schema.Struct({
  role: Schema.Literals(["user", "assistant"]),
  content: oneOrSeveral,
  _meta: Schema.optionalKey(Meta)
})

/**
 * What the server would like the model to be, each from 0 to 1; the client decides.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModelPreferences {
  readonly hints?: ReadonlyArray<{ readonly name?: string }>
  readonly costPriority?: number
  readonly speedPriority?: number
  readonly intelligencePriority?: number
}

/**
 * The schema of {@link ModelPreferences}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModelPreferences: Schema.Codec<ModelPreferences> = Schema.Struct({
  hints: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.optionalKey(Schema.String) }))),
  costPriority: Schema.optionalKey(Schema.Finite),
  speedPriority: Schema.optionalKey(Schema.Finite),
  intelligencePriority: Schema.optionalKey(Schema.Finite)
})

/**
 * Whether the model may, must or must not use the tools it is offered.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolChoice {
  readonly mode?: "auto" | "required" | "none"
}

/**
 * The schema of {@link ToolChoice}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolChoice: Schema.Codec<ToolChoice> = Schema.Struct({
  mode: Schema.optionalKey(Schema.Literals(["auto", "required", "none"]))
})

/**
 * What a server asks of the client's model. Tools and a choice among them need the client's `sampling.tools` (SMP-02).
 *
 * @category models
 * @since 0.1.0
 */
export interface CreateMessageParams {
  readonly messages: ReadonlyArray<SamplingMessage>
  readonly maxTokens: number
  readonly modelPreferences?: ModelPreferences
  readonly systemPrompt?: string
  readonly includeContext?: "none" | "thisServer" | "allServers"
  readonly temperature?: number
  readonly stopSequences?: ReadonlyArray<string>
  readonly metadata?: { readonly [name: string]: unknown }
  readonly tools?: ReadonlyArray<Tool>
  readonly toolChoice?: ToolChoice
  readonly task?: TaskMetadata
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link CreateMessageParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateMessageParams: Schema.Codec<CreateMessageParams> = Schema.Struct({
  messages: Schema.Array(SamplingMessage),
  maxTokens: Schema.Finite,
  modelPreferences: Schema.optionalKey(ModelPreferences),
  systemPrompt: Schema.optionalKey(Schema.String),
  includeContext: Schema.optionalKey(Schema.Literals(["none", "thisServer", "allServers"])),
  temperature: Schema.optionalKey(Schema.Finite),
  stopSequences: Schema.optionalKey(Schema.Array(Schema.String)),
  metadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  tools: Schema.optionalKey(Schema.Array(Tool)),
  toolChoice: Schema.optionalKey(ToolChoice),
  task: Schema.optionalKey(TaskMetadata),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * What the model said, which one it was, and why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another
 * word of its provider's.
 *
 * @category models
 * @since 0.1.0
 */
export interface CreateMessageResult {
  readonly role: "user" | "assistant"
  readonly content: SamplingContent | ReadonlyArray<SamplingContent>
  readonly model: string
  readonly stopReason?: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link CreateMessageResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateMessageResult: Schema.Codec<CreateMessageResult> = Schema.Struct({
  role: Schema.Literals(["user", "assistant"]),
  content: oneOrSeveral,
  model: Schema.String,
  stopReason: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * What a server asks of the client's model without offering tools. A choice among tools, without any, changes nothing.
 *
 * @category models
 * @since 0.1.0
 */
export interface CreateMessageParamsWithoutTools extends Omit<CreateMessageParams, "tools"> {
  readonly tools?: never
}

/**
 * What the model said that was offered no tools: one piece of content, and no use of a tool.
 *
 * @category models
 * @since 0.1.0
 */
export interface CreateMessageResultWithoutTools extends CreateMessageResult {
  readonly content: TextContent | ImageContent | AudioContent
}

/** The pieces of a message's content, of which there may be one or several. */
const piecesOf = ({ content }: SamplingMessage): ReadonlyArray<SamplingContent> =>
  "type" in content ? [content] : content

const isToolUse = (piece: SamplingContent): piece is ToolUseContent => piece.type === "tool_use"
const isToolResult = (piece: SamplingContent): piece is ToolResultContent => piece.type === "tool_result"

/**
 * Do these params ask for tools, in any way (SMP-02)?
 *
 * @example
 * ```ts
 * import { Content, Sampling } from "@effect-mcp/protocol"
 *
 * const params: Sampling.CreateMessageParams = {
 *   messages: [{ role: "user", content: Content.text("How much is 15 + 27?") }],
 *   maxTokens: 100
 * }
 *
 * export const answers = [Sampling.usesTools(params), Sampling.usesTools({ ...params, tools: [] })] // => [false, true]
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const usesTools = (params: CreateMessageParams): boolean =>
  params.tools !== undefined || params.toolChoice !== undefined

/**
 * Do uses of tools and their results match? A message with a result holds only results (SMP-03), and they are those of all
 * the uses in the message before it (SMP-04). Fails with what is wrong and where.
 *
 * @example
 * ```ts
 * import { Sampling } from "@effect-mcp/protocol"
 * import * as Result from "effect/Result"
 *
 * const checked = Sampling.checkToolUse([
 *   { role: "user", content: { type: "tool_result", toolUseId: "1", content: [] } }
 * ])
 *
 * export const problem = Result.merge(checked)
 * // => "message 1 answers tool uses, but no message comes before it"
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const checkToolUse = (messages: ReadonlyArray<SamplingMessage>): Result.Result<void, string> => {
  let open: ReadonlySet<string> = new Set()
  for (const [index, message] of messages.entries()) {
    const at = `message ${index + 1}`
    const pieces = piecesOf(message)
    const results = pieces.filter(isToolResult)
    if (results.length > 0) {
      if (results.length < pieces.length) return Result.fail(`${at} mixes tool results with other content`)
      if (index === 0) return Result.fail(`${at} answers tool uses, but no message comes before it`)
      if (open.size === 0) return Result.fail(`${at} answers tool uses, but the message before it has none`)
    }
    const answered = new Set(results.map((result) => result.toolUseId))
    for (const id of open) {
      if (!answered.has(id)) return Result.fail(`${at} does not answer the tool use "${Excerpt.of(id)}"`)
    }
    for (const id of answered) {
      if (!open.has(id)) return Result.fail(`${at} answers "${Excerpt.of(id)}", which is no tool use before it`)
    }
    open = new Set(pieces.filter(isToolUse).map((use) => use.id))
  }
  return Result.void
}

/**
 * Does the answer fit the question? A model that was offered no tools answers with one piece of text, image or audio.
 * Fails with what is wrong.
 *
 * @example
 * ```ts
 * import { Content, Sampling } from "@effect-mcp/protocol"
 * import * as Result from "effect/Result"
 *
 * const checked = Sampling.checkAnswer(
 *   { messages: [], maxTokens: 100 },
 *   { role: "assistant", content: [Content.text("42")], model: "example-1" }
 * )
 *
 * export const problem = Result.merge(checked)
 * // => "content: expected one piece, because no tools were offered; got a list"
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const checkAnswer = (
  params: CreateMessageParams,
  { content }: CreateMessageResult
): Result.Result<void, string> => {
  if (params.tools !== undefined) return Result.void
  if (!("type" in content)) {
    return Result.fail("content: expected one piece, because no tools were offered; got a list")
  }
  return isToolUse(content) || isToolResult(content)
    ? Result.fail(`content: expected text, image or audio, because no tools were offered; got ${content.type}`)
    : Result.void
}
