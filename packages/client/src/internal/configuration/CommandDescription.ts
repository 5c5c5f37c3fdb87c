/** The words for a command, without arguments that may be secrets. */

import type * as Redacted from "effect/Redacted"

/** The programs whose first argument is the file or the package that they start. */
const launchers: ReadonlySet<string> = new Set([
  "bun",
  "bunx",
  "deno",
  "node",
  "npx",
  "pnpx",
  "tsx",
  "python",
  "python3",
  "uv",
  "uvx",
  "docker",
  "podman"
])

/** The options of launchers that have no value. After another option, an argument may be its value. */
const plainOptions: ReadonlySet<unknown> = new Set(["-m", "-y", "--yes"])

/** An option, a URL, or the value of a variable. */
const isDoubtful = (text: string): boolean => /^-|:\/\/|[=?]/.test(text)

/** Returns how many of the first arguments are shown. The others may be secrets, such as `--api-key=…`. */
export const shownArguments = (
  command: string,
  args: ReadonlyArray<string | Redacted.Redacted<string>>
): number => {
  const program = command.replace(/^.*[\\/]/s, "").replace(/\.(?:cmd|exe)$/i, "")
  if (!launchers.has(program)) return 0
  const at = args.findIndex((arg) => !plainOptions.has(arg))
  const first = args[at]
  return typeof first === "string" && !isDoubtful(first) ? at + 1 : 0
}

/** Returns a command with these arguments, and the number of those that are not shown. */
export const of = (command: string, shown: ReadonlyArray<unknown>, hidden: number): string => {
  const rest = hidden === 0
    ? []
    : [`(${hidden} ${shown.length === 0 ? "" : "more "}argument${hidden === 1 ? "" : "s"})`]
  return [command, ...shown, ...rest].join(" ")
}
