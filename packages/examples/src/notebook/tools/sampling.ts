/**
 * Tools that use the model of the client, by sampling.
 */
import * as Content from "@effect-mcp/protocol/Content"
import type * as Sampling from "@effect-mcp/protocol/Sampling"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpRequest from "@effect-mcp/server/McpRequest"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Resources from "../resources.ts"
import * as Hints from "./hints.ts"
import { find, matchesOf, Name, NoSuchNote, Search } from "./notes.ts"

const SamplingTools = McpGroup.make(
  "sampling",
  Tool.make("summarize", {
    description: "Has the model of the client summarize a note. Forwards its progress.",
    parameters: Schema.Struct({
      name: Name,
      timeoutMs: Schema.optionalKey(
        Schema.Int.check(Schema.isGreaterThan(0)).annotate({
          description: "The timeout of the request to the model, in milliseconds"
        })
      )
    }),
    success: Schema.Struct({
      summary: Schema.String,
      model: Schema.String,
      stopReason: Schema.optionalKey(Schema.String)
    }),
    failure: NoSuchNote
  }).annotateMerge(Hints.asking).annotate(Tool.Title, "Summarize"),
  Tool.make("research", {
    description: "Has the model of the client answer a question. The model can search the notes.",
    parameters: Schema.Struct({ question: Schema.NonEmptyString.annotate({ description: "The question" }) }),
    success: Schema.String
  }).annotateMerge(Hints.asking).annotate(Tool.Title, "Research")
)

const blocksOf = ({ content }: Sampling.CreateMessageResult): ReadonlyArray<Sampling.SamplingContent> =>
  "type" in content ? [content] : content

const textOf = (message: Sampling.CreateMessageResult): string =>
  blocksOf(message).map((block) => block.type === "text" ? block.text : `[${block.type}]`).join(" ")

/** The search, as the model of the client gets it. */
const searchForModel = {
  name: Search.name,
  description: Search.description ?? "",
  inputSchema: { ...Tool.getJsonSchema(Search), type: "object" as const }
}

const decodeSearch = Schema.decodeUnknownResult(Search.parametersSchema)

/** Runs a tool call of the model. The model gets the error message of a failed call. */
const runToolUse = Effect.fnUntraced(function*({ id, input, name }: Sampling.ToolUseContent) {
  const decoded = name === Search.name ? decodeSearch(input) : Result.fail({ message: `Unknown tool: ${name}` })
  if (Result.isFailure(decoded)) {
    return {
      type: "tool_result" as const,
      toolUseId: id,
      content: [Content.text(decoded.failure.message)],
      isError: true
    }
  }
  const structuredContent = { matches: yield* matchesOf(decoded.success.word) }
  return {
    type: "tool_result" as const,
    toolUseId: id,
    content: [Content.text(JSON.stringify(structuredContent))],
    structuredContent
  }
})

/** The rounds of tool calls after which the model must answer (SMP-08). */
const maxRounds = 3

export const layer = SamplingTools.toLayer((handlers) =>
  handlers
    .tool(
      "summarize",
      Effect.fnUntraced(function*({ name, timeoutMs }) {
        const note = yield* find(name)
        const { progress } = yield* RequestContext.RequestContext
        const message = yield* RequestContext.createMessage({
          messages: [
            { role: "user", content: Content.text(`Summarize the note at ${Resources.uriOf(name)}.`) },
            { role: "user", content: Content.text(note.text) }
          ],
          systemPrompt: "You are brief.",
          maxTokens: 200,
          temperature: 0.2,
          stopSequences: ["###"],
          modelPreferences: { hints: [{ name: "small" }], costPriority: 1, speedPriority: 0.5, intelligencePriority: 0 }
        }, { onProgress: progress, ...(timeoutMs === undefined ? undefined : { timeout: timeoutMs }) })
        return {
          summary: textOf(message),
          model: message.model,
          ...(message.stopReason === undefined ? undefined : { stopReason: message.stopReason })
        }
      })
    )
    .tool(
      "research",
      Effect.fnUntraced(function*({ question }) {
        const messages: Array<Sampling.SamplingMessage> = [{ role: "user", content: Content.text(question) }]
        for (let round = 1;; round++) {
          const message = yield* RequestContext.createMessage({
            messages: [...messages],
            maxTokens: 500,
            tools: [searchForModel],
            toolChoice: { mode: round > maxRounds ? "none" : "auto" }
          })
          const toolUses = blocksOf(message).filter((block) => block.type === "tool_use")
          if (toolUses.length === 0 || round > maxRounds) return textOf(message)
          yield* McpRequest.progress({ progress: round, message: `looked for ${toolUses.length} words` })
          messages.push(
            { role: message.role, content: message.content },
            { role: "user", content: yield* Effect.forEach(toolUses, runToolUse) }
          )
        }
      })
    )
)
