/**
 * The table of the mutants, as it stands in the README of the package that finds them out.
 */
import * as path from "node:path"
import type { Replay } from "./replays.ts"
import { mutants } from "./table.ts"

export const page = "packages/testing/README.md"

/** The table of the README. */
const tableOf = (replays: ReadonlyMap<string, Replay>): string => {
  const rows = mutants.flatMap(({ file, name }) => {
    const replay = replays.get(name)
    return replay === undefined
      ? []
      : [
        `| ${name} | \`${
          path.basename(file)
        }\` | ${replay.law} | ${replay.conversation.commands.length} | ${replay.runs} |`
      ]
  })
  return [
    "| A session that … | Broken in | Found out by | Commands | After conversations |",
    "| --- | --- | --- | ---: | ---: |",
    ...rows
  ].join("\n")
}

/** The page with the table as it should be. */
export const withTable = (text: string, replays: ReadonlyMap<string, Replay>): string => {
  const [before, rest] = text.split("<!-- generated: mutants -->\n")
  const [, after] = rest?.split("<!-- /generated -->") ?? []
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the table`)
  return `${before}<!-- generated: mutants -->\n\n${tableOf(replays)}\n\n<!-- /generated -->${after}`
}
