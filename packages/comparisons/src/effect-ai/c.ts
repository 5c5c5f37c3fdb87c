/** A stdio server whose tool asks the user and samples the client's model, written with `effect/ai`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import { McpProtocol, McpSchema, McpServer, Tool, Toolkit } from "effect/ai"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"

const Wishes = Schema.Struct({
  audience: Schema.Literals(["kids", "experts"]),
  words: Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 500 }))
})

class NoReport extends Schema.TaggedError<NoReport>()("NoReport", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

const Tools = Toolkit.make(
  Tool.make("report", {
    description: "Writes a report",
    parameters: Schema.Struct({ topic: Schema.String }),
    success: Schema.Struct({ text: Schema.String, model: Schema.String }),
    failure: NoReport,
    dependencies: [McpSchema.McpServerClient]
  })
)

const ToolsLive = Tools.toLayer(Effect.gen(function*() {
  const { notifications } = yield* McpServer.McpServer
  return Tools.of({
    report: Effect.fnUntraced(function*({ topic }) {
      const { getClient, requestMetadata } = yield* McpSchema.McpServerClient
      const progressToken = requestMetadata?.["progressToken"]
      const progress = (progress: number, message?: string) =>
        typeof progressToken === "string" || typeof progressToken === "number"
          ? notifications["notifications/progress"]({ progressToken, progress, total: 2, message })
          : Effect.void
      yield* notifications["notifications/message"]({ level: "info", logger: "report", data: { topic } })
      yield* progress(0, "asking")
      const { audience, words } = yield* McpServer.elicit({
        message: `Who is the report on ${topic} for?`,
        schema: Wishes
      }).pipe(Effect.catchTag("ElicitationDeclined", () => new NoReport({ reason: "The user declined" })))
      yield* progress(1, "writing")
      const client = yield* getClient
      const { content, model } = yield* client.createMessage({
        messages: [{
          role: "user",
          content: { type: "text", text: `Write ${words} words on ${topic} for ${audience}` }
        }],
        maxTokens: 1000
      }).pipe(Effect.timeout("1 minute"), Effect.mapError((error) => new NoReport({ reason: error.message })))
      if (!("text" in content)) return yield* new NoReport({ reason: "The model answered without text" })
      yield* progress(2)
      return { text: content.text, model }
    }, Effect.scoped)
  })
}))

const ServerLive = McpServer.layerStdio({
  name: "reports",
  version: "1.0.0",
  protocols: [McpProtocol.v2025_11_25, McpProtocol.v2025_06_18],
  registrations: Layer.provide(McpServer.toolkit(Tools), ToolsLive)
}).pipe(
  Layer.provide(NodeStdio.layer),
  Layer.provide(Layer.succeed(Logger.LogToStderr, true))
)

NodeRuntime.runMain(Layer.launch(ServerLive))
