/**
 * Tools that use the client's model.
 */
import * as Content from "@effect-mcp/protocol/Content"
import type * as Sampling from "@effect-mcp/protocol/Sampling"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Tool from "../../tool.ts"
import * as Resources from "../resources.ts"
import { find, matchesOf, Name, Search, search } from "./writing.ts"

const piecesOf = ({ content }: Sampling.CreateMessageResult): ReadonlyArray<Sampling.SamplingContent> =>
  "type" in content ? [content] : content

const wordsOf = (message: Sampling.CreateMessageResult): string =>
  piecesOf(message).map((piece) => piece.type === "text" ? piece.text : `[${piece.type}]`).join(" ")

const openWorld = { readOnlyHint: true, openWorldHint: true }

const summarize = Tool.make("summarize", {
  title: "Summarize",
  description: "Has the client's model summarize a note. Passes on the progress it makes.",
  annotations: openWorld,
  input: Schema.Struct({
    name: Name,
    patienceMs: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))).annotate({
      description: "How long the model may take, in milliseconds"
    })
  }),
  output: Schema.Struct({
    summary: Schema.String,
    model: Schema.String,
    stopReason: Schema.optionalKey(Schema.String)
  }),
  run: Effect.fnUntraced(function*({ name, patienceMs }) {
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
    }, { onProgress: progress, ...(patienceMs === undefined ? undefined : { timeout: patienceMs }) })
    return Tool.structured({
      summary: wordsOf(message),
      model: message.model,
      ...(message.stopReason === undefined ? undefined : { stopReason: message.stopReason })
    })
  })
})

const decodeSearch = Schema.decodeUnknownResult(Search)

/** Runs a tool call of the model. The model gets the error message of a failed call. */
const used = Effect.fnUntraced(function*({ id, input, name }: Sampling.ToolUseContent) {
  const given = name === search.definition.name
    ? decodeSearch(input)
    : Result.fail({ message: `Unknown tool: ${name}` })
  const result = Result.isSuccess(given)
    ? Tool.structured({ matches: yield* matchesOf(given.success.word) })
    : { content: [Content.text(given.failure.message)], isError: true }
  return { type: "tool_result" as const, toolUseId: id, ...result }
})

/** The most rounds of tool calls before the model has to answer (SMP-08). */
const rounds = 3

const research = Tool.make("research", {
  title: "Research",
  description: "Has the client's model answer a question. It may search the notes meanwhile.",
  annotations: openWorld,
  input: Schema.Struct({ question: Schema.NonEmptyString.annotate({ description: "What to find out" }) }),
  run: Effect.fnUntraced(function*({ question }) {
    const { description = "", inputSchema, name } = search.definition
    const messages: Array<Sampling.SamplingMessage> = [{ role: "user", content: Content.text(question) }]
    for (let round = 1;; round++) {
      const message = yield* RequestContext.createMessage({
        messages: [...messages],
        maxTokens: 500,
        tools: [{ name, description, inputSchema }],
        toolChoice: { mode: round > rounds ? "none" : "auto" }
      })
      const uses = piecesOf(message).filter((piece) => piece.type === "tool_use")
      if (uses.length === 0 || round > rounds) return wordsOf(message)
      yield* RequestContext.progress({ progress: round, message: `looked for ${uses.length} words` })
      messages.push(
        { role: message.role, content: message.content },
        { role: "user", content: yield* Effect.forEach(uses, used) }
      )
    }
  })
})

export const tools = [summarize, research]
