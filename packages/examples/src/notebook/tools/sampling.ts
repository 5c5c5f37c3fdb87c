/**
 * Tools that use the model of the client, by sampling.
 */
import * as Content from "@effect-mcp/protocol/Content"
import type * as Sampling from "@effect-mcp/protocol/Sampling"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Tool from "../../tool.ts"
import * as Resources from "../resources.ts"
import { find, matchesOf, Name, Search, search } from "./notes.ts"

const blocksOf = ({ content }: Sampling.CreateMessageResult): ReadonlyArray<Sampling.SamplingContent> =>
  "type" in content ? [content] : content

const textOf = (message: Sampling.CreateMessageResult): string =>
  blocksOf(message).map((block) => block.type === "text" ? block.text : `[${block.type}]`).join(" ")

const openWorld = { readOnlyHint: true, openWorldHint: true }

const summarize = Tool.make("summarize", {
  title: "Summarize",
  description: "Has the model of the client summarize a note. Forwards its progress.",
  annotations: openWorld,
  input: Schema.Struct({
    name: Name,
    timeoutMs: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))).annotate({
      description: "The timeout of the request to the model, in milliseconds"
    })
  }),
  output: Schema.Struct({
    summary: Schema.String,
    model: Schema.String,
    stopReason: Schema.optionalKey(Schema.String)
  }),
  run: Effect.fnUntraced(function*({ name, timeoutMs }) {
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
    return Tool.structured({
      summary: textOf(message),
      model: message.model,
      ...(message.stopReason === undefined ? undefined : { stopReason: message.stopReason })
    })
  })
})

const decodeSearch = Schema.decodeUnknownResult(Search)

/** Runs a tool call of the model. The model gets the error message of a failed call. */
const runToolUse = Effect.fnUntraced(function*({ id, input, name }: Sampling.ToolUseContent) {
  const decoded = name === search.definition.name
    ? decodeSearch(input)
    : Result.fail({ message: `Unknown tool: ${name}` })
  const result = Result.isSuccess(decoded)
    ? Tool.structured({ matches: yield* matchesOf(decoded.success.word) })
    : { content: [Content.text(decoded.failure.message)], isError: true }
  return { type: "tool_result" as const, toolUseId: id, ...result }
})

/** The rounds of tool calls after which the model must answer (SMP-08). */
const maxRounds = 3

const research = Tool.make("research", {
  title: "Research",
  description: "Has the model of the client answer a question. The model can search the notes.",
  annotations: openWorld,
  input: Schema.Struct({ question: Schema.NonEmptyString.annotate({ description: "The question" }) }),
  run: Effect.fnUntraced(function*({ question }) {
    const { description = "", inputSchema, name } = search.definition
    const messages: Array<Sampling.SamplingMessage> = [{ role: "user", content: Content.text(question) }]
    for (let round = 1;; round++) {
      const message = yield* RequestContext.createMessage({
        messages: [...messages],
        maxTokens: 500,
        tools: [{ name, description, inputSchema }],
        toolChoice: { mode: round > maxRounds ? "none" : "auto" }
      })
      const toolUses = blocksOf(message).filter((block) => block.type === "tool_use")
      if (toolUses.length === 0 || round > maxRounds) return textOf(message)
      yield* RequestContext.progress({ progress: round, message: `looked for ${toolUses.length} words` })
      messages.push(
        { role: message.role, content: message.content },
        { role: "user", content: yield* Effect.forEach(toolUses, runToolUse) }
      )
    }
  })
})

export const tools = [summarize, research]
