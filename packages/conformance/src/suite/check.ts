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

/** The suite puts a scenario's checks into a folder of its name, followed by the moment at which it ran. */
const folderOf = ({ name, side }: Scenario): RegExp =>
  new RegExp(String.raw`^${side === "server" ? "server-" : ""}${name.replaceAll(".", "\\.")}-\d{4}-\d\d-\d\dT`)

/** The checks of a scenario in the suite's output; `undefined` where it has not been run. */
export const readChecks = (folder: string, scenario: Scenario): ReadonlyArray<Check> | undefined => {
  const found = fs.existsSync(folder) ? fs.readdirSync(folder).filter((name) => folderOf(scenario).test(name)) : []
  const [only, ...others] = found.map((name) => path.join(folder, name, "checks.json")).filter((file) =>
    fs.existsSync(file)
  )
  if (others.length > 0) throw new Error(`${scenario.name} has been run more than once: ${found.join(", ")}`)
  return only === undefined ? undefined : decode(JSON.parse(fs.readFileSync(only, "utf8")))
}
