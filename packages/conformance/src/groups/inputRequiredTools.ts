/** Tools and a prompt that ask their client, in every revision. The suite expects the keys of the questions. */
import * as Content from "@effect-mcp/protocol/Content"
import type * as ElicitationSchema from "@effect-mcp/protocol/ElicitationSchema"
import * as Sampling from "@effect-mcp/protocol/Sampling"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpPrompt from "@effect-mcp/server/McpPrompt"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const asking = <const Name extends string>(name: `test_input_required_result_${Name}`, description: string) =>
  Tool.make(name, { description, success: Schema.String })

const group = McpGroup.make(
  "questions",
  asking("test_input_required_result_elicitation", "Asks the user for a name."),
  asking("test_input_required_result_sampling", "Asks the model for the capital of France."),
  asking("test_input_required_result_list_roots", "Asks for the roots of the client."),
  asking("test_input_required_result_request_state", "Asks for a confirmation, and keeps a state meanwhile."),
  asking("test_input_required_result_multiple_inputs", "Asks three questions at once."),
  asking("test_input_required_result_multi_round", "Asks in two rounds."),
  asking("test_input_required_result_tampered_state", "Asks for a confirmation, and protects its state."),
  asking("test_input_required_result_capabilities", "Asks only what the client can answer."),
  Tool.make("test_streaming_elicitation", { description: "Asks the user for a name.", success: Schema.String }),
  McpPrompt.make("test_input_required_result_prompt", { description: "A prompt that asks for its context" })
)

type Field = ElicitationSchema.ElicitationSchema["properties"][string]

const elicit = (key: string, message: string, name: string, field: Field) =>
  Effect.map(
    RequestContext.elicit({
      message,
      requestedSchema: { type: "object", properties: { [name]: field }, required: [name] }
    }, { key }),
    ({ action, content }) => action === "accept" ? String(content?.[name]) : action
  )

const userName = elicit("user_name", "What is your name?", "name", { type: "string" })

const confirmed = elicit("confirm", "Go on?", "ok", { type: "boolean" })

const sampled = (key: string, prompt: string, maxTokens: number) =>
  Effect.map(
    RequestContext.createMessage(
      { messages: [{ role: "user", content: Content.text(prompt) }], maxTokens },
      { key }
    ),
    (result) => Sampling.textOf(result)
  )

const capital = sampled("capital_question", "What is the capital of France?", 100)

const roots = Effect.map(
  RequestContext.listRoots({ key: "client_roots" }),
  ({ roots }) => roots.map(({ uri }) => uri).join(", ")
)

export const layer = group.toLayer((handlers) =>
  handlers
    .tool("test_input_required_result_elicitation", () => Effect.map(userName, (name) => `Hello, ${name}!`))
    .tool("test_input_required_result_sampling", () => capital)
    .tool("test_input_required_result_list_roots", () => roots)
    .tool("test_input_required_result_request_state", () => Effect.map(confirmed, (ok) => `state-ok ${ok}`))
    .tool("test_input_required_result_multiple_inputs", () =>
      Effect.map(
        Effect.all([userName, sampled("greeting", "Write a greeting", 50), roots], { concurrency: "unbounded" }),
        (answers) => answers.join("; ")
      ))
    .tool("test_input_required_result_multi_round", () =>
      Effect.gen(function*() {
        const name = yield* elicit("step1", "Step 1: what is your name?", "name", { type: "string" })
        const color = yield* elicit("step2", "Step 2: what is your favorite color?", "color", { type: "string" })
        return `${name} likes ${color}`
      }))
    .tool("test_input_required_result_tampered_state", () => Effect.map(confirmed, (ok) => `confirmed: ${ok}`))
    .tool("test_input_required_result_capabilities", () =>
      Effect.flatMap(RequestContext.RequestContext, ({ profile: { capabilities } }) =>
        capabilities.elicitation === undefined ? capital : userName))
    .tool("test_streaming_elicitation", () =>
      userName)
    .prompt(
      "test_input_required_result_prompt",
      () =>
        Effect.orDie(elicit("user_context", "What is the context?", "context", { type: "string" }))
    )
)
