/** The agent: a model that answers with the tools of all servers, and asks a person before a tool changes anything. */
import { McpClients, PlainText } from "@effect-mcp/client"
import * as McpRemoteToolkit from "@effect-mcp/client/McpRemoteToolkit"
import * as Chat from "effect/ai/Chat"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Consent } from "./Consent.ts"

/** The error of a model that goes on to call tools. */
export class TooManyStepsError extends Schema.TaggedError<TooManyStepsError>()("TooManyStepsError", {
  steps: Schema.Int
}) {
  override get message() {
    return `the model has not answered after ${this.steps} steps; ask for less, or raise maxSteps`
  }
}

/** The error of a model that gives several calls one id: the person would see one of them, and another would run. */
export class AmbiguousCallsError
  extends Schema.TaggedError<AmbiguousCallsError>()("AmbiguousCallsError", { id: Schema.String })
{
  override get message() {
    return `the model has given several calls the id ${PlainText.json(this.id)}; use another model`
  }
}

const maxSteps = 20

/**
 * The servers whose word is taken that a tool only reads. Any server can say so of any tool, so name here only those
 * that you trust.
 */
const trusted: ReadonlySet<string> = new Set(["notes"])

/** Answers a question. Each generation is one step: after the calls of tools, the next one has their results. */
export const answer = Effect.fn("answer")(function*(question: string) {
  const clients = yield* McpClients.McpClients
  const consent = yield* Consent
  const toolkit = McpRemoteToolkit.make(clients, {
    needsApproval: ({ definition, server }) => !(trusted.has(server) && definition.annotations?.readOnlyHint === true)
  })
  const chat = yield* Chat.fromPrompt([
    { role: "system", content: "Answer the question. Use the tools, and do not guess what they can tell you." },
    { role: "user", content: question }
  ])
  let step = yield* chat.generateText({ prompt: [], toolkit })
  // Some providers end such a generation by the reason "stop".
  for (let steps = 1; step.toolCalls.length > 0; steps++) {
    if (steps === maxSteps) return yield* new TooManyStepsError({ steps })
    const { content, toolCalls } = step
    const calls = new Map(toolCalls.map((call) => [call.id, call]))
    const again = toolCalls.find((call) => calls.get(call.id) !== call)
    if (again !== undefined) return yield* new AmbiguousCallsError({ id: again.id })
    const requests = content.filter((part) => part.type === "tool-approval-request")
    const responses = yield* Effect.forEach(
      requests,
      Effect.fnUntraced(function*({ approvalId, toolCallId }) {
        const call = calls.get(toolCallId)
        const approved = call !== undefined && (yield* consent.ask({ name: call.name, input: call.params }))
        return { type: "tool-approval-response", approvalId, approved, reason: "the user decided" } as const
      })
    )
    step = yield* chat.generateText({
      prompt: responses.length === 0 ? [] : [{ role: "tool", content: responses }],
      toolkit
    })
  }
  return step.text
})
