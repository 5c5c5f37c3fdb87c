/**
 * The model of a host. Servers use it by sampling.
 */
import * as Content from "@effect-mcp/protocol/Content"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Sampling from "@effect-mcp/protocol/Sampling"
import * as ClientRequestContext from "@effect-mcp/session/ClientRequestContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Generates the next message of a conversation. */
export class Model extends Context.Service<Model, {
  readonly createMessage: (
    params: Sampling.CreateMessageParams
  ) => Effect.Effect<Sampling.CreateMessageResult, McpError.McpError, ClientRequestContext.ClientRequestContext>
}>()("@effect-mcp/examples/host/Model") {}

const blocksOf = ({ content }: Sampling.SamplingMessage): ReadonlyArray<Sampling.SamplingContent> =>
  "type" in content ? [content] : content

const wordsOf = (block: Sampling.SamplingContent | Content.ContentBlock): ReadonlyArray<string> => {
  switch (block.type) {
    case "text":
      return block.text.split(/\s+/)
    case "tool_result":
      return block.content.flatMap(wordsOf)
    default:
      return [`[${block.type}]`]
  }
}

/** Calls a tool with the last word as each argument. */
const toolUse = (tool: { readonly name: string; readonly inputSchema: object }, words: ReadonlyArray<string>) => {
  const required = "required" in tool.inputSchema && Array.isArray(tool.inputSchema.required)
    ? tool.inputSchema.required
    : []
  const word = words.at(-1)?.replaceAll(/\W/g, "") ?? ""
  return {
    type: "tool_use" as const,
    id: "use-1",
    name: tool.name,
    input: Object.fromEntries(required.map((name) => [String(name), word]))
  }
}

/**
 * A model that repeats the last message. If the request offers tools, it calls the first of them once before. It counts
 * words as tokens (SMP-05).
 */
export const parrot: Layer.Layer<Model> = Layer.succeed(Model, {
  createMessage: Effect.fnUntraced(function*(
    { maxTokens, messages, toolChoice, tools = [] }: Sampling.CreateMessageParams
  ): Effect.fn.Return<Sampling.CreateMessageResult, never, ClientRequestContext.ClientRequestContext> {
    const blocks = messages.slice(-1).flatMap(blocksOf)
    const words = blocks.flatMap(wordsOf)
    const [tool] = tools
    const hasResult = blocks.some(({ type }) => type === "tool_result")
    if (tool !== undefined && toolChoice?.mode !== "none" && !hasResult) {
      return { role: "assistant", model: "parrot", stopReason: "toolUse", content: [toolUse(tool, words)] }
    }
    const tokens = words.slice(0, maxTokens)
    for (const [index, message] of tokens.entries()) {
      yield* ClientRequestContext.progress({ progress: index + 1, total: tokens.length, message })
    }
    return {
      role: "assistant",
      model: "parrot",
      stopReason: tokens.length < words.length ? "maxTokens" : "endTurn",
      content: Content.text(tokens.join(" "))
    }
  })
})
