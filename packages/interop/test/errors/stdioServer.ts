/** A server over stdio whose process ends while it serves a call. */
import { McpGroup, McpServer } from "@effect-mcp/server/node"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"

const Work = McpGroup.make("work", Tool.make("crash"))

const WorkLive = Work.toLayer((handlers) =>
  handlers.tool("crash", () =>
    Effect.sync(() => {
      console.error("out of memory")
      process.exit(134)
    }))
)

McpServer.runMainStdio(WorkLive, { info: { name: "work", version: "1.0.0" } })
