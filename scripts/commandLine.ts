/**
 * Parsing of command lines for the programs in this repository. A program prints a usage error as one line on standard
 * error, without a stack trace, and exits with status 2.
 */

/** An invalid command line. The message names the option, its valid values and the given value. */
export class UsageError extends Error {}

/** Returns whether an error is that of `parseArgs` for an invalid command line. */
const isParseArgsError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_")

/** Returns the result of `parse`. On a usage error, prints the error and exits with status 2. */
export const orExit = <A>(parse: () => A): A => {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof UsageError) && !isParseArgsError(error)) throw error
    console.error(error.message)
    process.exit(2)
  }
}

/** Returns the number of an option. Throws if it is not an integer of at least `least` (1 by default). */
export const wholeNumber = (option: string, text: string, least = 1): number => {
  const value = Number(text)
  // `Number` converts an empty text to 0.
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value
  throw new UsageError(`--${option} takes an integer of at least ${least}, not "${text}"`)
}

/** Returns the value of an option. Throws if it is none of the choices. */
export const choice = <const Choice extends string>(
  option: string,
  text: string,
  choices: ReadonlyArray<Choice>
): Choice => {
  const found = choices.find((one) => one === text)
  if (found !== undefined) return found
  throw new UsageError(`--${option} takes one of ${choices.join(", ")}, not "${text}"`)
}
