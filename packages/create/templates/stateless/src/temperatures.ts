/** The tools of this server. Replace them with yours. */
import { McpGroup } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Celsius = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(-273.15))

export const Temperatures = McpGroup.make(
  "temperatures",
  Tool.make("to_fahrenheit", {
    description: "Converts a temperature from degrees Celsius to degrees Fahrenheit",
    parameters: Schema.Struct({ celsius: Celsius }),
    success: Schema.Struct({ fahrenheit: Schema.Finite })
  }).annotate(Tool.Readonly, true)
)

export const TemperaturesLive = Temperatures.toLayer((handlers) =>
  handlers.tool("to_fahrenheit", ({ celsius }) => Effect.succeed({ fahrenheit: celsius * 9 / 5 + 32 }))
)
