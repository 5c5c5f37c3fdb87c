/** Tools that send notifications before they return. */
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpRequest from "@effect-mcp/server/McpRequest"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const group = McpGroup.make(
  "notifications",
  Tool.make("test_tool_with_progress", { description: "Reports progress in three steps.", success: Schema.String }),
  Tool.make("test_tool_with_logging", { description: "Sends three log messages.", success: Schema.String })
)

const pause = Effect.sleep("50 millis")

const report = (progress: number) =>
  McpRequest.progress({ progress, total: 100, message: `Completed step ${progress} of 100` })

const log = (data: string) => McpRequest.log({ level: "info", data })

export const layer = group.toLayer((handlers) =>
  handlers
    .tool("test_tool_with_progress", () =>
      report(0).pipe(
        Effect.andThen(pause),
        Effect.andThen(report(50)),
        Effect.andThen(pause),
        Effect.andThen(report(100)),
        Effect.andThen(RequestContext),
        Effect.map(({ meta }) => String(meta?.progressToken ?? "the request has no progress token"))
      ))
    .tool("test_tool_with_logging", () =>
      log("Tool execution started").pipe(
        Effect.andThen(pause),
        Effect.andThen(log("Tool processing data")),
        Effect.andThen(pause),
        Effect.andThen(log("Tool execution completed")),
        Effect.as("Sent three log messages.")
      ))
)
