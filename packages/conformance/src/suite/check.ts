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

/** Returns the pattern of a scenario's folder, whose name ends in the time of the run. */
const namePattern = ({ name, side }: Scenario): RegExp =>
  new RegExp(String.raw`^${side === "server" ? "server-" : ""}${name.replaceAll(".", "\\.")}-\d{4}-\d\d-\d\dT`)

/** Reads a file of a scenario; `undefined` if there is none. */
const readFile = (output: string, scenario: Scenario, file: string): string | undefined => {
  const pattern = namePattern(scenario)
  const names = fs.existsSync(output) ? fs.readdirSync(output).filter((name) => pattern.test(name)) : []
  if (names.length > 1) throw new Error(`${scenario.name} has been run more than once: ${names.join(", ")}`)
  const found = names.map((name) => path.join(output, name, file)).find((file) => fs.existsSync(file))
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
