/**
 * The arguments of a call, as a person writes them on the command line: an object in JSON, or `name=value` with values
 * of the types that the schema demands.
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import * as Fields from "./fields.ts"

/** The error of arguments that cannot be read. */
export class InvalidArgumentsError extends Data.TaggedError("InvalidArgumentsError")<{ readonly problem: string }> {
  override get message(): string {
    return this.problem
  }
}

/** The arguments of a call, by their names. */
export interface Arguments {
  readonly [name: string]: unknown
}

const isArguments = (value: unknown): value is Arguments =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns the object that a text in JSON contains. */
export const fromJson = (text: string): Result.Result<Arguments, InvalidArgumentsError> => {
  try {
    const value: unknown = JSON.parse(text)
    return isArguments(value)
      ? Result.succeed(value)
      : Result.fail(
        new InvalidArgumentsError({ problem: `the arguments must be a JSON object such as {"a":1}, not ${text}` })
      )
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return Result.fail(new InvalidArgumentsError({ problem: `the arguments are no JSON: ${problem}` }))
  }
}

const fromPair = (
  fields: ReadonlyArray<Fields.Field>,
  pair: string
): Result.Result<readonly [string, unknown], InvalidArgumentsError> => {
  const at = pair.indexOf("=")
  if (at < 1) {
    return Result.fail(new InvalidArgumentsError({ problem: `expected {"name":value} or name=value, but got ${pair}` }))
  }
  const name = pair.slice(0, at)
  const field = fields.find((field) => field.name === name)
  if (field === undefined) {
    const names = fields.map((field) => field.name).join(", ")
    return Result.fail(
      new InvalidArgumentsError({
        problem: `there is no argument ${name}; there ${names === "" ? "are none" : `are: ${names}`}`
      })
    )
  }
  return Result.mapBoth(Fields.parse(field, pair.slice(at + 1)), {
    onSuccess: (value) => [name, value] as const,
    onFailure: (problem) => new InvalidArgumentsError({ problem: `${name}: ${problem}` })
  })
}

/** Returns the arguments that these words contain: one object in JSON, or any number of `name=value`. */
export const fromWords = (
  fields: ReadonlyArray<Fields.Field>,
  words: ReadonlyArray<string>
): Result.Result<Arguments, InvalidArgumentsError> => {
  const [first = "{}"] = words
  return words.length <= 1 && first.trimStart().startsWith("{")
    ? fromJson(first)
    : Result.map(Result.all(words.map((word) => fromPair(fields, word))), (pairs) => Object.fromEntries(pairs))
}

/** Returns the names of the required fields without a value. */
export const missing = (fields: ReadonlyArray<Fields.Field>, given: Arguments): ReadonlyArray<string> =>
  fields.filter(({ isRequired, name }) => isRequired && !Object.hasOwn(given, name)).map(({ name }) => name)

/** Returns the arguments as texts, as prompts and resource templates need them. */
export const texts = (given: Arguments): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)])
  )

/** Returns the texts that these words contain, `name=value` each. */
export const textsFromWords = (
  words: ReadonlyArray<string>
): Result.Result<{ readonly [name: string]: string }, InvalidArgumentsError> => {
  const other = words.find((word) => word.indexOf("=") < 1)
  return other === undefined
    ? Result.succeed(Object.fromEntries(words.map((word) => [
      word.slice(0, word.indexOf("=")),
      word.slice(word.indexOf("=") + 1)
    ])))
    : Result.fail(new InvalidArgumentsError({ problem: `expected name=value, but got ${other}` }))
}
