/**
 * What the suite found out: one check of a scenario, and how it reads them from where it writes them.
 */
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Scenario } from "./scenario.ts"

/** One check. What is of no interest here is left out. */
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

/** The suite puts what it writes of a scenario into a folder of its name, followed by the moment at which it ran. */
const namePattern = ({ name, side }: Scenario): RegExp =>
  new RegExp(String.raw`^${side === "server" ? "server-" : ""}${name.replaceAll(".", "\\.")}-\d{4}-\d\d-\d\dT`)

/** What a file that the suite wrote of a scenario holds; `undefined` where there is none. */
const readFile = (output: string, scenario: Scenario, file: string): string | undefined => {
  const pattern = namePattern(scenario)
  const names = fs.existsSync(output) ? fs.readdirSync(output).filter((name) => pattern.test(name)) : []
  if (names.length > 1) throw new Error(`${scenario.name} has been run more than once: ${names.join(", ")}`)
  const found = names.map((name) => path.join(output, name, file)).find((file) => fs.existsSync(file))
  return found === undefined ? undefined : fs.readFileSync(found, "utf8")
}

/** The checks of a scenario in the suite's output; `undefined` where it has not been run. */
export const readChecks = (output: string, scenario: Scenario): ReadonlyArray<Check> | undefined => {
  const text = readFile(output, scenario, "checks.json")
  return text === undefined ? undefined : decode(JSON.parse(text))
}

/** What the client of a scenario wrote on its standard streams. */
export const readWords = (output: string, scenario: Scenario): string =>
  ["stdout.txt", "stderr.txt"].map((file) => readFile(output, scenario, file) ?? "").join("")
