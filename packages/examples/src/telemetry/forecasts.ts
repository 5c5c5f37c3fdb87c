/** The group of the observed servers: one tool, with a span, a log message and a metric of its own. */
import { McpGroup } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Schema from "effect/Schema"

const Forecasts = McpGroup.make(
  "forecasts",
  Tool.make("forecast", {
    description: "Forecasts the rain of a city, in millimetres",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Struct({ rain: Schema.Finite })
  })
)

const forecasts = Metric.counter("forecasts", { incremental: true })

const rainIn = Effect.fn("rainIn")(function*(city: string) {
  yield* Effect.annotateCurrentSpan("city.length", city.length)
  yield* Effect.logInfo("the rain is looked up")
  yield* Metric.update(forecasts, 1)
  return city.length / 10
})

export const ForecastsLive = Forecasts.toLayer((handlers) =>
  handlers.tool("forecast", ({ city }) => Effect.map(rainIn(city), (rain) => ({ rain })))
)
