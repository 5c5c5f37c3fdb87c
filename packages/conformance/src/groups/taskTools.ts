/** Tools for the scenarios about tasks. */
import { type ElicitationSchema, McpError } from "@effect-mcp/protocol"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpRequest from "@effect-mcp/server/McpRequest"
import * as McpTool from "@effect-mcp/server/McpTool"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Name = Schema.Struct({ name: Schema.String })
const Confirmation = Schema.Struct({ confirm: Schema.Boolean })

const group = McpGroup.make(
  "tasks",
  Tool.make("greet", { description: "Greets.", parameters: Name, success: Schema.String }),
  Tool.make("slow_compute", {
    description: "Computes for some seconds.",
    parameters: Schema.Struct({ seconds: Schema.Finite, label: Schema.optionalKey(Schema.String) }),
    success: Schema.String
  }).annotate(McpTool.Task, { support: "optional", begins: "atOnce" }),
  Tool.make("failing_job", { description: "Fails after a second.", success: Schema.String, failure: Schema.String })
    .annotate(McpTool.Task, "required"),
  Tool.make("protocol_error_job", { description: "Fails with an error of the protocol.", success: Schema.String })
    .annotate(McpTool.Task, { support: "optional", begins: "atOnce" }),
  Tool.make("confirm_delete", {
    description: "Asks before it deletes.",
    parameters: Schema.Struct({ filename: Schema.String }),
    success: Schema.String
  }).annotate(McpTool.Task, { support: "optional", begins: "atOnce" }),
  Tool.make("multi_input", { description: "Asks two questions at once.", success: Schema.String })
    .annotate(McpTool.Task, { support: "optional", begins: "atOnce" }),
  Tool.make("test_tool_with_task", { description: "Asks, and then works as a task.", success: Schema.String })
    .annotate(McpTool.Task, { support: "required", begins: "explicitly" })
)

const ask = <S extends Schema.Constraint>(message: string, schema: S & ElicitationSchema.FormSchema<S>, key?: string) =>
  Effect.orDie(McpRequest.elicit<S>(message, schema, key === undefined ? {} : { key }))

export const layer = group.toLayer((handlers) =>
  handlers
    .tool("greet", ({ name }) => Effect.succeed(`Hello, ${name}!`))
    .tool(
      "slow_compute",
      ({ label = "it", seconds }) => Effect.as(Effect.sleep(seconds * 1_000), `Computed ${label} in ${seconds} s.`)
    )
    .tool("failing_job", () => Effect.andThen(Effect.sleep("1 second"), Effect.fail("The job has failed.")))
    .tool("protocol_error_job", () => Effect.die(McpError.internalError))
    .tool("confirm_delete", ({ filename }) =>
      Effect.map(
        ask(`Delete ${filename}?`, Confirmation),
        ({ confirm }) => confirm ? `Deleted ${filename}.` : `Kept ${filename}.`
      ))
    .tool("multi_input", () =>
      Effect.map(
        Effect.all([ask("Your name?", Name), ask("Go on?", Confirmation)], { concurrency: "unbounded" }),
        ([{ name }, { confirm }]) => `${name}: ${confirm}`
      ))
    .tool("test_tool_with_task", () =>
      Effect.gen(function*() {
        const { name } = yield* ask("Your name?", Name, "user_name")
        yield* Effect.orDie(RequestContext.becomeTask)
        yield* Effect.sleep("200 millis")
        return `Hello, ${name}!`
      }))
)
