/** A tool that closes the connection of its call, and returns after the client could reconnect. */
import * as Content from "@effect-mcp/protocol/Content"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import type { Tool } from "./tool.ts"
import { nothing } from "./tool.ts"

export const reconnection: Tool = {
  definition: {
    name: "test_reconnection",
    description: "Closes the connection of its call if the stream can be resumed, and returns after a delay.",
    inputSchema: nothing
  },
  run: Effect.fnUntraced(function*() {
    const { releaseStream } = yield* RequestContext
    const released = yield* releaseStream
    yield* Effect.sleep("100 millis")
    return [
      Content.text(released ? "The connection was closed during the call." : "The connection was open during the call.")
    ]
  })
}
