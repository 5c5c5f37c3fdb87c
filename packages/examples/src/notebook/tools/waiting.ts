/**
 * Tools that take time. When the client cancels a call, its fiber is interrupted.
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
  description: "Reads all notes, one after the other, and counts their words. Says how far it is.",
  annotations: harmless,
  input: Schema.Struct({ delayMs: milliseconds("How long it takes to read one") }),
  run: Effect.fnUntraced(function*({ delayMs }) {
    const { all } = yield* Notes
    const notes = yield* all
    let words = 0
    for (const [before, { name, text }] of notes.entries()) {
      yield* Effect.sleep(delayMs)
      words += text.split(/\s+/).length
      yield* RequestContext.progress({ progress: before + 1, total: notes.length, message: name })
    }
    return `${words} words in ${notes.length} notes`
  })
})

const remind = Tool.make("remind", {
  title: "Remind",
  description: "Answers with the same text after a while.",
  annotations: harmless,
  input: Schema.Struct({
    text: Schema.String.annotate({ description: "What to be reminded of" }),
    afterMs: milliseconds("When")
  }),
  run: Effect.fnUntraced(function*({ afterMs, text }) {
    const { releaseStream } = yield* RequestContext.RequestContext
    // The client need not hold a connection while it waits.
    if (afterMs >= 1000) yield* releaseStream
    yield* Effect.logInfo(`a reminder of ${text} is due in ${afterMs} ms`)
    return yield* Effect.sleep(afterMs).pipe(
      Effect.as(text),
      Effect.onInterrupt(() => Effect.logInfo(`the call was cancelled: no reminder of ${text}`))
    )
  })
})

export const tools = [index, remind]
