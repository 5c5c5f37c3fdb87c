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

/** Returns all values of an argument of a prompt, regardless of what is typed. */
const ofPrompt = Effect.fnUntraced(function*(
  name: string,
  argument: string,
  filled: { readonly [argument: string]: string }
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
      // A note is not compared with itself.
      const taken = filled[argument === "first" ? "second" : "first"]
      return (yield* noteNames).filter((name) => name !== taken)
    }
    case "summarize.note":
    case "illustrate.note":
      return yield* noteNames
    default:
      return []
  }
})

const ofResource = (uri: string, argument: string) =>
  uri === Resources.uriTemplate && argument === "name"
    ? noteNames
    : Effect.fail(McpError.invalidParams(`Template ${uri} has no variable ${argument}`))

export const handlers = {
  "completion/complete": Effect.fnUntraced(function*({ argument, context, ref }: Completion.CompleteParams) {
    const values = ref.type === "ref/prompt"
      ? yield* ofPrompt(ref.name, argument.name, context?.arguments ?? {})
      : yield* ofResource(ref.uri, argument.name)
    const fitting = values.filter((value) => value.startsWith(argument.value))
    return {
      completion: {
        values: fitting.slice(0, Completion.maximumValues),
        total: fitting.length,
        hasMore: fitting.length > Completion.maximumValues
      }
    }
  })
}
