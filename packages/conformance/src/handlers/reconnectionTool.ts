/**
 * A tool that lets go of the connection its client waits on, and answers once the client may have come back.
 */
import * as Content from "@effect-mcp/protocol/Content"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import type { Tool } from "./tool.ts"
import { nothing } from "./tool.ts"

export const reconnection: Tool = {
  definition: {
    name: "test_reconnection",
    description: "Closes the stream of its call, where it can be taken up again, and answers after a while.",
    inputSchema: nothing
  },
  run: Effect.fnUntraced(function*() {
    const { releaseStream } = yield* RequestContext
    const released = yield* releaseStream
    yield* Effect.sleep("100 millis")
    return [Content.text(released ? "The stream was closed meanwhile." : "The stream was open all the time.")]
  })
}
