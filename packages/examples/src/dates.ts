/** The tools of the first server (`docs/start/first-server.md`). */
import { McpGroup } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export class PastDate extends Schema.TaggedError<PastDate>()("PastDate", { days: Schema.Int }) {
  override get message() {
    return `The date was ${this.days} days ago; give a later one`
  }
}

export const Dates = McpGroup.make(
  "dates",
  Tool.make("days_until", {
    description: "Counts the days until a date",
    parameters: Schema.Struct({ date: Schema.Date }),
    success: Schema.Struct({ days: Schema.Int }),
    failure: PastDate
  }).annotate(Tool.Readonly, true)
)

const millisOfDay = 86_400_000

export const DatesLive = Dates.toLayer((handlers) =>
  handlers.tool("days_until", ({ date }) =>
    Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const days = Math.ceil((date.getTime() - now) / millisOfDay)
      return days < 0 ? yield* new PastDate({ days: -days }) : { days }
    }))
)
