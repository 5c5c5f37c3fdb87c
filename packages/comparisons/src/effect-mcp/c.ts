/** A stdio server whose tool asks the user and samples the client's model, written with Effect MCP. */
import { McpGroup, McpRequest, McpServer } from "@effect-mcp/server/node"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Wishes = Schema.Struct({
  audience: Schema.Literals(["kids", "experts"]),
  words: Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 500 }))
})

const Reports = McpGroup.make(
  "reports",
  Tool.make("report", {
    description: "Writes a report",
    parameters: Schema.Struct({ topic: Schema.String }),
    success: Schema.Struct({ text: Schema.String, model: Schema.String })
  })
)

const ReportsLive = Reports.toLayer((handlers) =>
  handlers.tool("report", ({ topic }) =>
    Effect.gen(function*() {
      yield* McpRequest.log({ level: "info", logger: "report", data: { topic } })
      yield* McpRequest.progress({ progress: 0, total: 2, message: "asking" })
      const { audience, words } = yield* McpRequest.elicit(`Who is the report on ${topic} for?`, Wishes)
      yield* McpRequest.progress({ progress: 1, total: 2, message: "writing" })
      const prompt = `Write ${words} words on ${topic} for ${audience}`
      const { model, text } = yield* McpRequest.sample(prompt, { maxTokens: 1000 })
      yield* McpRequest.progress({ progress: 2, total: 2 })
      return { text, model }
    }))
)

McpServer.runMainStdio(ReportsLive, { info: { name: "reports", version: "1.0.0" } })
