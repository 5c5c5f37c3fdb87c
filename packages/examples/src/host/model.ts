/**
 * The model of a host: what servers borrow for their own thinking.
 */
import * as Content from "@effect-mcp/protocol/Content"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Sampling from "@effect-mcp/protocol/Sampling"
import * as CallbackContext from "@effect-mcp/session/CallbackContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Goes on with a conversation. */
export class Model extends Context.Service<Model, {
  readonly answer: (
    question: Sampling.CreateMessageParams
  ) => Effect.Effect<Sampling.CreateMessageResult, McpError.McpError, CallbackContext.CallbackContext>
}>()("@effect-mcp/examples/host/Model") {}

const piecesOf = ({ content }: Sampling.SamplingMessage): ReadonlyArray<Sampling.SamplingContent> =>
  "type" in content ? [content] : content

const wordsOf = (piece: Sampling.SamplingContent | Content.ContentBlock): ReadonlyArray<string> => {
  switch (piece.type) {
    case "text":
      return piece.text.split(/\s+/)
    case "tool_result":
      return piece.content.flatMap(wordsOf)
    default:
      return [`[${piece.type}]`]
  }
}

/** Uses the first tool it is offered, with the last word it has heard. */
const use = (tool: { readonly name: string; readonly inputSchema: object }, words: ReadonlyArray<string>) => {
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

/** A parrot: says what it was told last, and looks up something first if it may. Its tokens are words (SMP-05). */
export const parrot: Layer.Layer<Model> = Layer.succeed(Model, {
  answer: Effect.fnUntraced(function*(
    { maxTokens, messages, toolChoice, tools = [] }: Sampling.CreateMessageParams
  ): Effect.fn.Return<Sampling.CreateMessageResult, never, CallbackContext.CallbackContext> {
    const pieces = messages.slice(-1).flatMap(piecesOf)
    const words = pieces.flatMap(wordsOf)
    const [tool] = tools
    const hasLookedUp = pieces.some(({ type }) => type === "tool_result")
    if (tool !== undefined && toolChoice?.mode !== "none" && !hasLookedUp) {
      return { role: "assistant", model: "parrot", stopReason: "toolUse", content: [use(tool, words)] }
    }
    const said = words.slice(0, maxTokens)
    for (const [before, message] of said.entries()) {
      yield* CallbackContext.progress({ progress: before + 1, total: said.length, message })
    }
    return {
      role: "assistant",
      model: "parrot",
      stopReason: said.length < words.length ? "maxTokens" : "endTurn",
      content: Content.text(said.join(" "))
    }
  })
})
