/**
 * Sampling: a server requests a message from the client's model.
 *
 * @stability unstable
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AudioContent, ContentBlock, ImageContent, TextContent } from "./Content.ts"
import * as Excerpt from "./internal/text/Excerpt.ts"
import { Meta, RequestMeta } from "./Meta.ts"
import { TaskMetadata } from "./Task.ts"
import { Tool } from "./Tool.ts"

/**
 * A use of a tool that the model requests.
 *
 * @category models
 */
export interface ToolUseContent {
  readonly type: "tool_use"
  readonly id: string
  readonly name: string
  readonly input: { readonly [name: string]: unknown }
  readonly _meta?: Meta
}

export const ToolUseContent: Schema.Codec<ToolUseContent> = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: Schema.Record(Schema.String, Schema.Unknown),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The result of a tool use.
 *
 * @category models
 */
export interface ToolResultContent {
  readonly type: "tool_result"
  readonly toolUseId: string
  readonly content: ReadonlyArray<ContentBlock>
  /** Any JSON value from 2026-07-28 on, and an object in older revisions. */
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Meta
}

export const ToolResultContent: Schema.Codec<ToolResultContent> = Schema.Struct({
  type: Schema.Literal("tool_result"),
  toolUseId: Schema.String,
  content: Schema.Array(ContentBlock),
  structuredContent: Schema.optionalKey(Schema.Unknown),
  isError: Schema.optionalKey(Schema.Boolean),
  _meta: Schema.optionalKey(Meta)
})

/**
 * A content block of a sampling message.
 *
 * @category models
 */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent

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
 * A message to a model or from it. From 2025-11-25 on it may have several content blocks.
 *
 * @category models
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
 */
export const SamplingMessage: Schema.Codec<SamplingMessage> = Schema.Struct({
  role: Schema.Literals(["user", "assistant"]),
  content: oneOrSeveral,
  _meta: Schema.optionalKey(Meta)
})

/**
 * The model preferences of a server: hints, and priorities from 0 to 1. The client decides.
 *
 * @category models
 */
export interface ModelPreferences {
  readonly hints?: ReadonlyArray<{ readonly name?: string }>
  readonly costPriority?: number
  readonly speedPriority?: number
  readonly intelligencePriority?: number
}

export const ModelPreferences: Schema.Codec<ModelPreferences> = Schema.Struct({
  hints: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.optionalKey(Schema.String) }))),
  costPriority: Schema.optionalKey(Schema.Finite),
  speedPriority: Schema.optionalKey(Schema.Finite),
  intelligencePriority: Schema.optionalKey(Schema.Finite)
})

/**
 * The choice whether a model may, must or must not use the offered tools.
 *
 * @category models
 */
export interface ToolChoice {
  readonly mode?: "auto" | "required" | "none"
}

export const ToolChoice: Schema.Codec<ToolChoice> = Schema.Struct({
  mode: Schema.optionalKey(Schema.Literals(["auto", "required", "none"]))
})

/**
 * The params of `sampling/createMessage`. `tools` and `toolChoice` require the client's capability `sampling.tools`
 * (SMP-02).
 *
 * @category models
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
 * The result of `sampling/createMessage`: the message, the name of the model, and the reason why it stopped. The reason
 * is `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another word of the provider.
 *
 * @category models
 */
export interface CreateMessageResult {
  readonly role: "user" | "assistant"
  readonly content: SamplingContent | ReadonlyArray<SamplingContent>
  readonly model: string
  readonly stopReason?: string
  readonly _meta?: Meta
}

export const CreateMessageResult: Schema.Codec<CreateMessageResult> = Schema.Struct({
  role: Schema.Literals(["user", "assistant"]),
  content: oneOrSeveral,
  model: Schema.String,
  stopReason: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The params of `sampling/createMessage` without tools. `toolChoice` has no effect without tools.
 *
 * @category models
 */
export interface CreateMessageParamsWithoutTools extends Omit<CreateMessageParams, "tools"> {
  readonly tools?: never
}

/**
 * The result of `sampling/createMessage` without tools: one content block, which is not a tool use.
 *
 * @category models
 */
export interface CreateMessageResultWithoutTools extends CreateMessageResult {
  readonly content: TextContent | ImageContent | AudioContent
}

/** Returns the content blocks of a message as a list. */
const blocksOf = ({ content }: SamplingMessage): ReadonlyArray<SamplingContent> =>
  "type" in content ? [content] : content

const isToolUse = (block: SamplingContent): block is ToolUseContent => block.type === "tool_use"
const isToolResult = (block: SamplingContent): block is ToolResultContent => block.type === "tool_result"

/**
 * Tests whether these params use tools in any way (SMP-02).
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
 */
export const usesTools = (params: CreateMessageParams): boolean =>
  params.tools !== undefined || params.toolChoice !== undefined

/**
 * Checks that tool uses and tool results match. A message with a result holds only results (SMP-03). They are the
 * results of all tool uses in the preceding message (SMP-04). Fails with the first problem and its position.
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
 * // => "message 1 answers tool uses, but it is the first message"
 * ```
 *
 * @category guards
 */
export const checkToolUse = (messages: ReadonlyArray<SamplingMessage>): Result.Result<void, string> => {
  let open: ReadonlySet<string> = new Set()
  for (const [index, message] of messages.entries()) {
    const at = `message ${index + 1}`
    const blocks = blocksOf(message)
    const results = blocks.filter(isToolResult)
    if (results.length > 0) {
      if (results.length < blocks.length) return Result.fail(`${at} mixes tool results with other content`)
      if (index === 0) return Result.fail(`${at} answers tool uses, but it is the first message`)
      if (open.size === 0) return Result.fail(`${at} answers tool uses, but the message before it has none`)
    }
    const answered = new Set(results.map((result) => result.toolUseId))
    for (const id of open) {
      if (!answered.has(id)) return Result.fail(`${at} does not answer the tool use "${Excerpt.of(id)}"`)
    }
    for (const id of answered) {
      if (!open.has(id)) {
        return Result.fail(`${at} answers "${Excerpt.of(id)}", which is not a tool use of the message before it`)
      }
    }
    open = new Set(blocks.filter(isToolUse).map((use) => use.id))
  }
  return Result.void
}

/**
 * Checks that a result is allowed for these params: without tools it has one block of text, image or audio. Fails with
 * the problem.
 *
 * @example
 * ```ts
 * import { Content, Sampling } from "@effect-mcp/protocol"
 * import * as Result from "effect/Result"
 *
 * const checked = Sampling.checkResult(
 *   { messages: [], maxTokens: 100 },
 *   { role: "assistant", content: [Content.text("42")], model: "example-1" }
 * )
 *
 * export const problem = Result.merge(checked)
 * // => "content: expected one content block, because no tools were offered; got a list"
 * ```
 *
 * @category guards
 */
export const checkResult = (
  params: CreateMessageParams,
  { content }: CreateMessageResult
): Result.Result<void, string> => {
  if (params.tools !== undefined) return Result.void
  if (!("type" in content)) {
    return Result.fail("content: expected one content block, because no tools were offered; got a list")
  }
  return isToolUse(content) || isToolResult(content)
    ? Result.fail(`content: expected text, image or audio, because no tools were offered; got ${content.type}`)
    : Result.void
}

/**
 * Returns the text of a model's answer: all text blocks, joined by line breaks. Other blocks are left out.
 *
 * @example
 * ```ts
 * import { Content, Sampling } from "@effect-mcp/protocol"
 *
 * export const summary = Sampling.textOf({
 *   content: [Content.text("Walk."), Content.image("iVBORw==", "image/png"), Content.text("By the sea.")]
 * }) // => "Walk.\nBy the sea."
 * ```
 *
 * @category accessors
 */
export const textOf = ({ content }: Pick<SamplingMessage, "content">): string => {
  const blocks: ReadonlyArray<SamplingContent> = Array.isArray(content) ? content : [content]
  return blocks.flatMap((block) => block.type === "text" ? [block.text] : []).join("\n")
}
