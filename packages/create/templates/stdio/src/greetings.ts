/** The tools of this server. Replace them with yours. */
import { McpGroup } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Name = Schema.NonEmptyString.annotate({ description: "The name of a person" })

export const Greetings = McpGroup.make(
  "greetings",
  Tool.make("greet", {
    description: "Greets a person",
    parameters: Schema.Struct({ name: Name }),
    success: Schema.String
  }).annotate(Tool.Readonly, true),
  Tool.make("count_letters", {
    description: "Counts the letters of a name",
    parameters: Schema.Struct({ name: Name }),
    success: Schema.Struct({ letters: Schema.Int })
  }).annotate(Tool.Readonly, true)
)

export const GreetingsLive = Greetings.toLayer((handlers) =>
  handlers
    .tool("greet", ({ name }) => Effect.succeed(`Hello, ${name}!`))
    .tool("count_letters", ({ name }) => Effect.succeed({ letters: name.match(/\p{Letter}/gu)?.length ?? 0 }))
)
