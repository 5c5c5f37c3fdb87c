/** Tools for the scenarios about requests that carry their client. */
import { AjvValidator } from "@effect-mcp/json-schema"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpRequest from "@effect-mcp/server/McpRequest"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const group = McpGroup.make(
  "stateless",
  Tool.make("test_missing_capability", { description: "Needs a client with a model.", success: Schema.String }),
  Tool.make("test_logging_tool", { description: "Logs while it runs.", success: Schema.String }),
  Tool.make("test_trigger_tool_change", { description: "Changes the list of tools.", success: Schema.String }),
  Tool.make("test_trigger_prompt_change", { description: "Changes the list of prompts.", success: Schema.String }),
  Tool.dynamic("test_x_mcp_header", {
    description: "Takes a region, which proxies find in a header.",
    success: Schema.String,
    parameters: {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } }
    }
  })
)

const changing = (list: "tools" | "prompts") =>
  Effect.as(
    Effect.flatMap(McpServer.McpServer, ({ listChanged }) => listChanged(list)),
    `The list of ${list} has changed.`
  )

export const layer = group.toLayer((handlers) =>
  handlers
    .tool(
      "test_missing_capability",
      () => Effect.map(McpRequest.sample("Say hello", { maxTokens: 10 }), ({ text }) => text)
    )
    .tool(
      "test_logging_tool",
      () => Effect.as(McpRequest.log({ level: "info", data: "running" }), "Logged a message.")
    )
    .tool("test_trigger_tool_change", () => changing("tools"))
    .tool("test_trigger_prompt_change", () => changing("prompts"))
    .tool("test_x_mcp_header", (input) => Effect.succeed(JSON.stringify(input)))
).pipe(Layer.provide(AjvValidator.layer()))
