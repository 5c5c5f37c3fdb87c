/**
 * Tools that take time. When the client cancels a call, the library interrupts its fiber.
 */
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../../tool.ts"
import { Notes } from "../notes.ts"

const harmless = { readOnlyHint: true, openWorldHint: false }

const milliseconds = (description: string) =>
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60_000 })).annotate({
    description: `${description}, in milliseconds`
  })

const index = Tool.make("index", {
  title: "Index",
  description: "Reads all notes, one after the other, and counts their words. Reports progress.",
  annotations: harmless,
  input: Schema.Struct({ delayMs: milliseconds("The time to read one note") }),
  run: Effect.fnUntraced(function*({ delayMs }) {
    const { all } = yield* Notes
    const notes = yield* all
    let words = 0
    for (const [index, { name, text }] of notes.entries()) {
      yield* Effect.sleep(delayMs)
      words += text.split(/\s+/).length
      yield* RequestContext.progress({ progress: index + 1, total: notes.length, message: name })
    }
    return `${words} words in ${notes.length} notes`
  })
})

const remind = Tool.make("remind", {
  title: "Remind",
  description: "Returns the same text after a delay.",
  annotations: harmless,
  input: Schema.Struct({
    text: Schema.String.annotate({ description: "The text of the reminder" }),
    afterMs: milliseconds("The delay")
  }),
  run: Effect.fnUntraced(function*({ afterMs, text }) {
    const { releaseStream } = yield* RequestContext.RequestContext
    // Closes the HTTP response, so that the client holds no connection while it waits. It reconnects for the result.
    if (afterMs >= 1000) yield* releaseStream
    yield* Effect.logInfo(`reminder of ${text}: due in ${afterMs} ms`)
    return yield* Effect.sleep(afterMs).pipe(
      Effect.as(text),
      Effect.onInterrupt(() => Effect.logInfo(`reminder of ${text}: cancelled`))
    )
  })
})

export const tools = [index, remind]
