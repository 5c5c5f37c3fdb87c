/** A server whose tools wait, fail and ask. */
import { McpGroup, McpRequest, McpServer } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { hostListening, info } from "./parts.ts"

const Name = Schema.Struct({ name: Schema.String })

const Work = McpGroup.make(
  "work",
  Tool.make("wait"),
  Tool.make("fail"),
  Tool.make("ask", { success: Schema.String }),
  Tool.make("count", { parameters: Schema.Struct({ to: Schema.Int }) })
)

export const WorkLive = Work.toLayer((handlers) =>
  handlers
    .tool("wait", () => Effect.never)
    .tool("fail", () => Effect.die(new Error("the disk is full")))
    .tool("ask", () => Effect.map(McpRequest.elicit("Your name?", Name), ({ name }) => `Hello, ${name}`))
    .tool("count", () => Effect.void)
)

/** Listens with these tools, for one request at a time, and returns the URL. */
export const work = hostListening(Layer.provide(
  McpServer.layerHost(WorkLive, { info, limits: { maxIncomingRequests: 1, gracefulTimeout: "1 milli" } }),
  Logger.layer([])
))
