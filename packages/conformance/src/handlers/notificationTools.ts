/** Tools that send notifications before they return. */
import * as Content from "@effect-mcp/protocol/Content"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import type { Tool } from "./tool.ts"
import { nothing } from "./tool.ts"

const pause = Effect.sleep("50 millis")

const progress: Tool = {
  definition: {
    name: "test_tool_with_progress",
    description: "Reports progress in three steps.",
    inputSchema: nothing
  },
  run: Effect.fnUntraced(function*() {
    const { meta, progress } = yield* RequestContext
    yield* progress({ progress: 0, total: 100, message: "Completed step 0 of 100" })
    yield* pause
    yield* progress({ progress: 50, total: 100, message: "Completed step 50 of 100" })
    yield* pause
    yield* progress({ progress: 100, total: 100, message: "Completed step 100 of 100" })
    return [Content.text(String(meta?.progressToken ?? "the request has no progress token"))]
  })
}

const logging: Tool = {
  definition: { name: "test_tool_with_logging", description: "Sends three log messages.", inputSchema: nothing },
  run: Effect.fnUntraced(function*() {
    const { log } = yield* RequestContext
    yield* log({ level: "info", data: "Tool execution started" })
    yield* pause
    yield* log({ level: "info", data: "Tool processing data" })
    yield* pause
    yield* log({ level: "info", data: "Tool execution completed" })
    return [Content.text("Sent three log messages.")]
  })
}

export const tools: ReadonlyArray<Tool> = [progress, logging]
