/**
 * The command lines of the programs in this repository. A mistake in one is reported in one line on standard error,
 * without a stack trace, and the program exits with status 2.
 */

/** A command line that makes no sense. The message names the option, what it takes, and what was given. */
export class UsageError extends Error {}

/** Is this `parseArgs`'s error for a command line that it cannot read? */
const isParseArgsError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_")

/** Returns what `parse` makes of the command line; prints a mistake and exits with status 2. */
export const orExit = <A>(parse: () => A): A => {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof UsageError) && !isParseArgsError(error)) throw error
    console.error(error.message)
    process.exit(2)
  }
}

/** Returns the number that an option was given; fails if it is no whole number, or less than `least` (1 by default). */
export const wholeNumber = (option: string, text: string, least = 1): number => {
  const value = Number(text)
  // An empty text is 0 to `Number`.
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value
  throw new UsageError(`--${option} takes a whole number from ${least} on, not "${text}"`)
}

/** Returns what an option was given; fails if it is none of the choices. */
export const choice = <const Choice extends string>(
  option: string,
  text: string,
  choices: ReadonlyArray<Choice>
): Choice => {
  const found = choices.find((one) => one === text)
  if (found !== undefined) return found
  throw new UsageError(`--${option} takes ${choices.join(", ")}, not "${text}"`)
}
