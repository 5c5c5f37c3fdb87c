/**
 * A tool that takes long enough for a client to lose the stream of its call, and to come back for the rest.
 */
import * as Content from "@effect-mcp/protocol/Content"
import * as Effect from "effect/Effect"
import type { Tool } from "./tool.ts"
import { nothing } from "./tool.ts"

export const reconnection: Tool = {
  definition: {
    name: "test_reconnection",
    description: "Answers after a while, so that its stream may be closed and taken up again meanwhile.",
    inputSchema: nothing
  },
  run: () => Effect.as(Effect.sleep("500 millis"), [Content.text("Reconnection test completed successfully.")])
}
