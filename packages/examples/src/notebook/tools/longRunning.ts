/**
 * Tools that take time. When the client cancels a call, the library interrupts its fiber.
 */
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpRequest from "@effect-mcp/server/McpRequest"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Notes } from "../notes.ts"
import * as Hints from "./hints.ts"

const milliseconds = (description: string) =>
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60_000 })).annotate({
    description: `${description}, in milliseconds`
  })

const LongRunningTools = McpGroup.make(
  "long-running",
  Tool.make("index", {
    description: "Reads all notes, one after the other, and counts their words. Reports progress.",
    parameters: Schema.Struct({ delayMs: milliseconds("The time to read one note") }),
    success: Schema.String
  }).annotateMerge(Hints.reading).annotate(Tool.Title, "Index"),
  Tool.make("remind", {
    description: "Returns the same text after a delay.",
    parameters: Schema.Struct({
      text: Schema.String.annotate({ description: "The text of the reminder" }),
      afterMs: milliseconds("The delay")
    }),
    success: Schema.String
  }).annotateMerge(Hints.reading).annotate(Tool.Title, "Remind")
)

export const layer = LongRunningTools.toLayer((handlers) =>
  handlers
    .tool(
      "index",
      Effect.fnUntraced(function*({ delayMs }) {
        const { all } = yield* Notes
        const notes = yield* all
        let words = 0
        for (const [index, { name, text }] of notes.entries()) {
          yield* Effect.sleep(delayMs)
          words += text.split(/\s+/).length
          yield* McpRequest.progress({ progress: index + 1, total: notes.length, message: name })
        }
        return `${words} words in ${notes.length} notes`
      })
    )
    .tool(
      "remind",
      Effect.fnUntraced(function*({ afterMs, text }) {
        const { releaseStream } = yield* RequestContext.RequestContext
        // Closes the HTTP response: the client holds no connection while it waits, and reconnects for the result.
        if (afterMs >= 1000) yield* releaseStream
        yield* Effect.logInfo(`reminder of ${text}: due in ${afterMs} ms`)
        return yield* Effect.sleep(afterMs).pipe(
          Effect.as(text),
          Effect.onInterrupt(() => Effect.logInfo(`reminder of ${text}: cancelled`))
        )
      })
    )
)
