/**
 * A `LanguageModel` of `effect/ai` that answers servers: messages, images, audio and tools in both directions. An entry
 * point of its own, because `effect/ai` is unstable.
 *
 * @stability unstable
 */
import { Content, McpError, type Sampling } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as ServerLogs from "./internal/logs/ServerLogs.ts"
import * as JsonDepth from "./internal/toolkit/JsonDepth.ts"
import * as ModelFile from "./internal/toolkit/ModelFile.ts"
import * as SamplingTools from "./internal/toolkit/SamplingTools.ts"
import { trust } from "./internal/trust.ts"
import type * as McpAnswers from "./McpAnswers.ts"

/**
 * The response of a model before it is sent.
 *
 * @category models
 */
export type Generated = ReadonlyArray<Response.AnyPart>

/**
 * Options of {@link make}.
 *
 * @category models
 */
export interface Options<R = LanguageModel.LanguageModel> {
  /**
   * The name of the model in results, which must have one. Default: the name in the response of the model, or
   * `"unknown"`.
   */
  readonly model?: string
  /**
   * Applies `maxTokens`, `temperature`, `modelPreferences` and the like to a generation, because each provider has its
   * own configuration for them. It may also provide the model. Without it, the model does not know the number of tokens
   * that the server allows (SMP-05). Stop sequences apply in any case: the text ends before the first one.
   */
  readonly configure?: (
    generate: Effect.Effect<Generated, AiError.AiError, LanguageModel.LanguageModel>,
    params: Sampling.CreateMessageParams
  ) => Effect.Effect<Generated, unknown, R>
  /** The media that the model understands. A question with another one is rejected with −32602. Default: all. */
  readonly media?: ReadonlyArray<Medium>
}

/**
 * A kind of content that not every model understands.
 *
 * @category models
 */
export type Medium = "image" | "audio"

/** A part of a prompt, or the problem of a message. */
type Converted<A> = Result.Result<A, string>

/** Lists the content blocks of a message. */
const blocksOf = (
  { content }: Pick<Sampling.SamplingMessage, "content">
): ReadonlyArray<Sampling.SamplingContent> => "type" in content ? [content] : content

/** Converts each element, and fails with the first problem. */
const all = <A, B>(elements: ReadonlyArray<A>, convert: (element: A) => Converted<B>): Converted<ReadonlyArray<B>> => {
  const converted: Array<B> = []
  for (const element of elements) {
    const one = convert(element)
    if (Result.isFailure(one)) return Result.fail(one.failure)
    converted.push(one.success)
  }
  return Result.succeed(converted)
}

/** Converts the messages of a server to a prompt, and fails with the problem of what the model cannot take. */
class PromptConversion {
  readonly #media: ReadonlySet<Medium>
  readonly #tools: SamplingTools.SamplingTools
  /** The names of the tools by the ids of their uses, which results do not repeat. */
  readonly #names = new Map<string, string>()

  constructor(media: ReadonlyArray<Medium>, tools: SamplingTools.SamplingTools) {
    this.#media = new Set(media)
    this.#tools = tools
  }

  convert({ messages, systemPrompt }: Sampling.CreateMessageParams): Converted<Prompt.Prompt> {
    const system = systemPrompt === undefined ? [] : [Prompt.systemMessage({ content: systemPrompt })]
    return Result.map(
      all(messages, (message) => this.#message(message)),
      (converted) => Prompt.fromMessages([...system, ...converted])
    )
  }

  #message(message: Sampling.SamplingMessage): Converted<Prompt.Message> {
    const blocks = blocksOf(message)
    const results = blocks.filter((block) => block.type === "tool_result")
    // The session has checked that such a message holds nothing else (SMP-03).
    if (results.length > 0) {
      return Result.map(all(results, (block) => this.#toolResult(block)), (content) => Prompt.toolMessage({ content }))
    }
    return message.role === "user"
      ? Result.map(all(blocks, (block) => this.#userPart(block)), (content) => Prompt.userMessage({ content }))
      : Result.map(
        all(blocks, (block) => this.#assistantPart(block)),
        (content) => Prompt.assistantMessage({ content })
      )
  }

  #userPart(block: Sampling.SamplingContent): Converted<Prompt.UserMessagePart> {
    return block.type === "tool_use" || block.type === "tool_result"
      ? Result.fail(`a message of the user has content of the type ${block.type}`)
      : this.#part(block)
  }

  #assistantPart(block: Sampling.SamplingContent): Converted<Prompt.AssistantMessagePart> {
    if (block.type === "tool_result") return Result.fail("a message of the assistant has a tool result")
    if (block.type !== "tool_use") return this.#part(block)
    const { id } = block
    const { input, name } = this.#tools.forModel(block)
    this.#names.set(id, name)
    return Result.succeed(Prompt.toolCallPart({ id, name, params: input, providerExecuted: false }))
  }

  #part(block: Content.TextContent | Content.ImageContent | Content.AudioContent): Converted<Prompt.UserMessagePart> {
    if (block.type === "text") return Result.succeed(Prompt.textPart({ text: block.text }))
    return this.#media.has(block.type)
      ? ModelFile.of(block.data, block.mimeType)
      : Result.fail(`the model of this client does not understand content of the type ${block.type}`)
  }

  #toolResult(
    { content, isError = false, structuredContent, toolUseId }: Sampling.ToolResultContent
  ): Converted<Prompt.ToolResultPart> {
    return Result.map(all(content, (block) => this.#outputPart(block)), (parts) => {
      const text = parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n")
      return Prompt.toolResultPart({
        id: toolUseId,
        name: this.#names.get(toolUseId) ?? "",
        isFailure: isError,
        result: structuredContent ?? text,
        providerExecuted: false,
        // The model reads it in place of the result.
        ...(parts.some((part) => part.type === "file") ? { modelOutput: parts } : {})
      })
    })
  }

  #outputPart(block: Content.ContentBlock): Converted<Prompt.ToolModelOutputPart> {
    switch (block.type) {
      case "resource_link":
        return Result.succeed(Prompt.textPart({ text: `${block.name}: ${block.uri}` }))
      case "resource":
        return Result.succeed(
          Prompt.textPart({ text: "text" in block.resource ? block.resource.text : block.resource.uri })
        )
      default:
        return this.#part(block)
    }
  }
}

/** The reasons of MCP for the reasons of `effect/ai`. Others have no word in MCP, and stay as they are. */
const stopReasons: Readonly<Record<Response.FinishReason, string | undefined>> = {
  stop: "endTurn",
  length: "maxTokens",
  "tool-calls": "toolUse",
  "content-filter": "contentFilter",
  pause: "pause",
  error: "error",
  other: undefined,
  unknown: undefined
}

/**
 * The most stop sequences, and the most characters of one. The server chooses them: 90,000 sequences would take minutes
 * in a text of 200 kB, and these at most 0.2 s.
 */
const maxStopSequences = 64
const maxStopCharacters = 256

/** Returns the problem of stop sequences that would take too long to find. */
const stopProblem = (sequences: ReadonlyArray<string>): string | undefined => {
  if (sequences.length > maxStopSequences) {
    return `stopSequences: expected at most ${maxStopSequences}, got ${sequences.length}`
  }
  const longest = sequences.reduce((most, { length }) => Math.max(most, length), 0)
  return longest > maxStopCharacters
    ? `stopSequences: expected at most ${maxStopCharacters} characters in each, got ${longest}`
    : undefined
}

/** Returns the position of the first stop sequence in a text, or −1. */
const stopIn = (text: string, sequences: ReadonlyArray<string>): number =>
  sequences.reduce((first, sequence) => {
    const at = sequence === "" ? -1 : text.indexOf(sequence)
    return at === -1 || (first !== -1 && first < at) ? first : at
  }, -1)

type Block = Content.TextContent | Content.ImageContent | Content.AudioContent | Sampling.ToolUseContent

interface Message {
  readonly blocks: ReadonlyArray<Block>
  readonly stopReason: string | undefined
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const blockOf = (part: Response.AnyPart, tools: SamplingTools.SamplingTools): Block | undefined => {
  switch (part.type) {
    case "text":
      return Content.text(part.text)
    case "file":
      if (part.mediaType.startsWith("image/")) return Content.image(part.data, part.mediaType)
      return part.mediaType.startsWith("audio/") ? Content.audio(part.data, part.mediaType) : undefined
    case "tool-call":
      // A tool of the provider has run already.
      return part.providerExecuted === true ? undefined : {
        type: "tool_use",
        id: part.id,
        ...tools.forServer({ name: part.name, input: isObject(part.params) ? part.params : {} })
      }
    default:
      return undefined
  }
}

/** Reads the response of a model up to the first stop sequence. Texts that follow each other become one block. */
const messageOf = (
  parts: Generated,
  { stopSequences = [] }: Sampling.CreateMessageParams,
  tools: SamplingTools.SamplingTools
): Message => {
  const blocks: Array<Block> = []
  let finish: Response.FinishReason | undefined
  for (const part of parts) {
    if (part.type === "finish") finish = part.reason
    const block = blockOf(part, tools)
    if (block === undefined) continue
    const last = blocks.at(-1)
    if (block.type === "text" && last?.type === "text") {
      blocks.splice(-1, 1, Content.text(last.text + block.text))
    } else {
      blocks.push(block)
    }
  }
  for (const [index, block] of blocks.entries()) {
    const at = block.type === "text" ? stopIn(block.text, stopSequences) : -1
    if (block.type !== "text" || at === -1) continue
    return { blocks: [...blocks.slice(0, index), Content.text(block.text.slice(0, at))], stopReason: "stopSequence" }
  }
  const usesTools = blocks.some(({ type }) => type === "tool_use")
  return { blocks, stopReason: usesTools ? "toolUse" : finish === undefined ? undefined : stopReasons[finish] }
}

/** Returns the one block of a message to a server that has offered no tools: its text, or else its first medium. */
const singleBlock = (blocks: ReadonlyArray<Block>): Block => {
  const text = blocks.flatMap((block) => block.type === "text" ? [block.text] : []).join("")
  return text === ""
    ? blocks.find(({ type }) => type === "image" || type === "audio") ?? Content.text("")
    : Content.text(text)
}

const modelIn = (parts: Generated): string | undefined => {
  const metadata = parts.find((part) => part.type === "response-metadata")
  return metadata?.type === "response-metadata" ? metadata.modelId : undefined
}

/** Generates a response, and leaves the uses of tools to the server. */
const generate = (
  prompt: Prompt.Prompt,
  toolkit: SamplingTools.SamplingToolkit | undefined,
  mode: Sampling.ToolChoice["mode"]
): Effect.Effect<Generated, AiError.AiError, LanguageModel.LanguageModel> =>
  toolkit === undefined
    ? Effect.map(LanguageModel.generateText({ prompt }), ({ content }) => content)
    : Effect.map(
      LanguageModel.generateText({ prompt, toolkit, toolChoice: mode ?? "auto", disableToolCallResolution: true }),
      ({ content }) => content
    )

const shown = (error: unknown): string => error instanceof Error ? error.message : String(error)

const invalid = (problem: string): McpError.McpError => McpError.invalidParams(`Invalid params: ${problem}`)

/**
 * Creates a sampler of a `LanguageModel`, for the option `sample` of `McpAnswers`.
 *
 * - The system prompt, text, images, audio, tool uses and tool results become the prompt. The context of other servers
 *   (`includeContext`) does not.
 * - The tools of the server are offered to the model, and its uses of them are returned to the server, which runs them.
 *   The model gets names and schemas that all providers accept; the server gets its own names.
 * - A question with more than 128 tools, or with 524,288 characters of descriptions and schemas, is rejected with
 *   −32602.
 * - Stop reasons are those of MCP: `endTurn`, `maxTokens`, `stopSequence` and `toolUse`.
 * - A question with more than 64 stop sequences, or with one of more than 256 characters, is rejected with −32602.
 * - An error of the model is logged. The server receives −32603, because the text of a provider may have secrets.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget } from "@effect-mcp/client/node"
 * import * as McpSampling from "@effect-mcp/client/McpSampling"
 * import type * as Effect from "effect/Effect"
 *
 * // Each provider has its own configuration, such as `OpenAiLanguageModel.withConfigOverride`.
 * interface Provider {
 *   readonly withMaxTokens: <A, E, R>(generate: Effect.Effect<A, E, R>, maxTokens: number) => Effect.Effect<A, E, R>
 * }
 *
 * export const clientWith = (provider: Provider) =>
 *   McpClient.layer(McpTarget.command("node", ["notes.mjs"]), {
 *     info: { name: "app", version: "1.0.0" },
 *     answers: {
 *       sample: McpSampling.make({
 *         model: "example-1",
 *         media: ["image"],
 *         configure: (generate, { maxTokens }) => provider.withMaxTokens(generate, Math.min(maxTokens, 4_000))
 *       })
 *     }
 *   })
 * ```
 *
 * @category constructors
 */
export const make = <R = LanguageModel.LanguageModel>(options: Options<R> = {}): McpAnswers.Sampler<R> => {
  const { media = ["image", "audio"], model } = options
  // Without the option, `R` is the model, which is its default.
  const configure = options.configure ?? trust<NonNullable<Options<R>["configure"]>>((generate: unknown) => generate)
  return {
    tools: true,
    answer: Effect.fnUntraced(function*({ params, server }) {
      if (JsonDepth.isDeeper(params, JsonDepth.maxLevels)) {
        return yield* invalid(`they have more than ${JsonDepth.maxLevels} levels`)
      }
      const tooMuch = stopProblem(params.stopSequences ?? [])
      if (tooMuch !== undefined) return yield* invalid(tooMuch)
      const tools = yield* Effect.mapError(SamplingTools.make(params.tools ?? []), invalid)
      const prompt = new PromptConversion(media, tools).convert(params)
      if (Result.isFailure(prompt)) return yield* invalid(prompt.failure)
      const toolkit = params.tools === undefined ? undefined : tools.toolkit
      const generated = generate(prompt.success, toolkit, params.toolChoice?.mode)
      const parts = yield* Effect.catch(configure(generated, params), (error) =>
        Effect.andThen(
          ServerLogs.within(
            "answers",
            Effect.logError(
              `the model did not answer the server ${Excerpt.name(server)}: ${Excerpt.line(shown(error))}`
            )
          ),
          Effect.fail(McpError.internalError)
        ))
      const { blocks, stopReason } = messageOf(parts, params, tools)
      return {
        role: "assistant" as const,
        content: params.tools === undefined ? singleBlock(blocks) : blocks,
        model: model ?? modelIn(parts) ?? "unknown",
        ...(stopReason === undefined ? {} : { stopReason })
      }
    })
  }
}
