/**
 * A form in the terminal: one prompt for each field.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { QuitError } from "effect/Terminal"
import type { Arguments } from "./arguments.ts"
import * as Fields from "./fields.ts"
import { Screen } from "./screen.ts"

/** The value of a field that the person leaves out. */
const leftOut = Symbol("left out")

/** Returns texts that may be meant by a field, with the values of the fields before it. */
export type Suggest = (field: Fields.Field, given: Arguments) => Effect.Effect<ReadonlyArray<string>>

const labelOf = (field: Fields.Field): string => {
  const { description, isRequired, name, title } = field
  const kind = field.kind._tag === "Choice" || field.kind._tag === "Choices" ? [] : [Fields.describe(field)]
  const words = [...kind, ...(isRequired ? [] : ["optional"])]
  return PlainText.line(
    `${title ?? name}${words.length === 0 ? "" : ` (${words.join(", ")})`}` +
      (description === undefined ? "" : `: ${description}`)
  )
}

const textOf = (value: unknown): string =>
  value === undefined ? "" : typeof value === "string" ? value : PlainText.json(value)

const askText = (field: Fields.Field): Prompt.Prompt<unknown> => {
  const given = textOf(field.default)
  const parse = (text: string): Result.Result<unknown, string> =>
    text === "" && !field.isRequired ? Result.succeed(leftOut) : Fields.parse(field, text)
  return Prompt.String({
    message: labelOf(field),
    // A default with characters that cannot be shown is not offered: the person would send what was never shown.
    default: PlainText.line(given) === given ? given : "",
    validate: (text) => Effect.mapError(Effect.as(Effect.fromResult(parse(text)), text), PlainText.line)
  }).pipe(Prompt.map((text) => Result.getOrElse(parse(text), () => leftOut)))
}

const askChoice = (field: Fields.Field, choices: ReadonlyArray<Fields.Choice>): Prompt.Prompt<unknown> => {
  const offered = field.isRequired ? choices : [...choices, { title: "(leave it out)", value: leftOut }]
  const preferred = offered.findIndex(({ value }) => value === field.default)
  return Prompt.Select<unknown>({
    message: labelOf(field),
    choices: offered.map(({ title, value }, index) => ({
      title: PlainText.line(title),
      value,
      selected: index === Math.max(preferred, 0)
    }))
  })
}

const askField = (field: Fields.Field): Prompt.Prompt<unknown> => {
  const { kind } = field
  switch (kind._tag) {
    case "Boolean":
      return askChoice(field, [{ title: "yes", value: true }, { title: "no", value: false }])
    case "Choice":
      return askChoice(field, kind.choices)
    case "Choices": {
      const preferred: ReadonlyArray<unknown> = Array.isArray(field.default) ? field.default : []
      return Prompt.MultiSelect<unknown>({
        message: labelOf(field),
        choices: kind.choices.map(({ title, value }) => ({
          title: PlainText.line(title),
          value,
          selected: preferred.includes(value)
        })),
        ...(kind.minItems === undefined ? {} : { min: kind.minItems }),
        ...(kind.maxItems === undefined ? {} : { max: kind.maxItems })
      })
    }
    default:
      return askText(field)
  }
}

/** Offers suggestions. The person may also enter another text. */
const askSuggested = Effect.fnUntraced(function*(field: Fields.Field, suggestions: ReadonlyArray<string>) {
  const { ask } = yield* Screen
  if (suggestions.length === 0) return yield* ask(askField(field))
  const chosen = yield* ask(Prompt.AutoComplete<string | undefined>({
    message: labelOf(field),
    choices: [
      ...suggestions.map((value) => ({ title: PlainText.line(value), value })),
      { title: "(another text)", value: undefined }
    ]
  }))
  return chosen ?? (yield* ask(askField(field)))
})

/** Asks for every field. It fails when the person leaves the form. */
export const fill = Effect.fnUntraced(function*(
  fields: ReadonlyArray<Fields.Field>,
  suggest: Suggest = () => Effect.succeed([])
): Effect.fn.Return<Arguments, QuitError, Screen> {
  const values: { [name: string]: unknown } = {}
  for (const field of fields) {
    const value = yield* askSuggested(field, yield* suggest(field, values))
    if (value !== leftOut) values[field.name] = value
  }
  return values
})
