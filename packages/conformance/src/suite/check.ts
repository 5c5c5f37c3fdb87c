/** The checks of a scenario, read from the files that the suite writes. */
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Scenario } from "./scenario.ts"

/** A check, reduced to the fields that are used. */
export interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO"
  readonly errorMessage?: string
}

const Checks: Schema.Codec<ReadonlyArray<Check>, unknown> = Schema.toCodecJson(Schema.Array(Schema.Struct({
  id: Schema.String,
  status: Schema.Literals(["SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"]),
  errorMessage: Schema.optionalKey(Schema.String)
})))

const decode = Schema.decodeUnknownSync(Checks)

/** Returns the path of a scenario's folder without the time of the run, in which its name ends. */
const pathOf = ({ name, side }: Scenario): string => `${side === "server" ? "server-" : ""}${name}`

/** Returns the pattern of the name of a scenario's folder. */
const namePattern = (name: string): RegExp => new RegExp(String.raw`^${name.replaceAll(".", "\\.")}-\d{4}-\d\d-\d\dT`)

/** Reads a file of a scenario; `undefined` if there is none. */
const readFile = (output: string, scenario: Scenario, file: string): string | undefined => {
  // A scenario such as `auth/dpop` has its folder in another one.
  const { base, dir } = path.parse(pathOf(scenario))
  const pattern = namePattern(base)
  const parent = path.join(output, dir)
  const names = fs.existsSync(parent) ? fs.readdirSync(parent).filter((name) => pattern.test(name)) : []
  if (names.length > 1) throw new Error(`${scenario.name} has been run more than once: ${names.join(", ")}`)
  const found = names.map((name) => path.join(parent, name, file)).find((file) => fs.existsSync(file))
  return found === undefined ? undefined : fs.readFileSync(found, "utf8")
}

/** Reads the checks of a scenario from the suite's output; `undefined` if the scenario did not run. */
export const readChecks = (output: string, scenario: Scenario): ReadonlyArray<Check> | undefined => {
  const text = readFile(output, scenario, "checks.json")
  return text === undefined ? undefined : decode(JSON.parse(text))
}

/** Reads the output of a scenario's client on its standard streams. */
export const readClientOutput = (output: string, scenario: Scenario): string =>
  ["stdout.txt", "stderr.txt"].map((file) => readFile(output, scenario, file) ?? "").join("")

/**
 * Whether a scenario can be judged by its checks alone: it has some, and its client has printed nothing. A client
 * prints only failures.
 */
export const isConclusive = (checks: ReadonlyArray<Check> | undefined, clientOutput: string): boolean =>
  checks !== undefined && checks.length > 0 && clientOutput === ""
