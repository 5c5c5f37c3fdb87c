/**
 * The completions for arguments of prompts, and for the template of the notes.
 */
import * as Completion from "@effect-mcp/protocol/Completion"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { Notes } from "./notes.ts"
import * as Prompts from "./prompts.ts"
import * as Resources from "./resources.ts"

const noteNames = Effect.map(Effect.flatMap(Notes, ({ all }) => all), (notes) => notes.map(({ name }) => name))

/** Returns all values of an argument of a prompt. */
const valuesForPrompt = Effect.fnUntraced(function*(
  name: string,
  argument: string,
  otherArguments: { readonly [argument: string]: string }
) {
  const { prompt } = yield* Prompts.find(name)
  if (prompt.arguments?.some((one) => one.name === argument) !== true) {
    return yield* McpError.invalidParams(`Prompt ${name} has no argument ${argument}`)
  }
  switch (`${name}.${argument}`) {
    case "summarize.style":
      return Prompts.styles
    case "compare.first":
    case "compare.second": {
      // To compare a note with itself is useless.
      const other = otherArguments[argument === "first" ? "second" : "first"]
      return (yield* noteNames).filter((name) => name !== other)
    }
    case "summarize.note":
    case "illustrate.note":
      return yield* noteNames
    default:
      return []
  }
})

/** Returns all values of a variable of a resource template. */
const valuesForTemplate = (uri: string, variable: string) =>
  uri === Resources.uriTemplate && variable === "name"
    ? noteNames
    : Effect.fail(McpError.invalidParams(`Template ${uri} has no variable ${variable}`))

export const handlers = {
  "completion/complete": Effect.fnUntraced(function*({ argument, context, ref }: Completion.CompleteParams) {
    const values = ref.type === "ref/prompt"
      ? yield* valuesForPrompt(ref.name, argument.name, context?.arguments ?? {})
      : yield* valuesForTemplate(ref.uri, argument.name)
    const matches = values.filter((value) => value.startsWith(argument.value))
    return {
      completion: {
        values: matches.slice(0, Completion.maximumValues),
        total: matches.length,
        hasMore: matches.length > Completion.maximumValues
      }
    }
  })
}
