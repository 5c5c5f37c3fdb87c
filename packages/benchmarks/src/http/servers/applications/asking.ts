/** A server of two tools that add. One of them asks the user first. */
import { McpGroup, McpRequest } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { description, parameters, serve, success } from "./groups.ts"

const Confirmation = Schema.Struct({ sure: Schema.Boolean })

const group = McpGroup.make(
  "calculator",
  Tool.make("add", { description, parameters, success }),
  Tool.make("ask", { description, parameters, success })
)

serve(group.toLayer((handlers) =>
  handlers
    .tool("add", ({ a, b }) => Effect.succeed({ sum: a + b }))
    .tool("ask", ({ a, b }) => Effect.as(McpRequest.elicit(`Add ${a} and ${b}?`, Confirmation), { sum: a + b }))
))
