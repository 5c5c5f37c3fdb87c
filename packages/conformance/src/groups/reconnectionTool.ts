/** A tool that closes the connection of its call, and returns after the client could reconnect. */
import * as McpGroup from "@effect-mcp/server/McpGroup"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const group = McpGroup.make(
  "reconnection",
  Tool.make("test_reconnection", {
    description: "Closes the connection of its call if the stream can be resumed, and returns after a delay.",
    success: Schema.String
  })
)

export const layer = group.toLayer((handlers) =>
  handlers.tool(
    "test_reconnection",
    Effect.fnUntraced(function*() {
      const { releaseStream } = yield* RequestContext
      const released = yield* releaseStream
      yield* Effect.sleep("100 millis")
      return `The connection was ${released ? "closed" : "open"} during the call.`
    })
  )
)
