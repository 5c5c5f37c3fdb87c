/**
 * The table of the mutants, as the page `docs/mutants.md` shows it.
 */
import * as path from "node:path"
import type { Replay } from "./replays.ts"
import { mutants } from "./table.ts"

export const page = "docs/mutants.md"

/** Returns the table. */
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

/** Returns the page with its table brought up to date. */
export const withTable = (text: string, replays: ReadonlyMap<string, Replay>): string => {
  const [before, rest] = text.split("<!-- generated: mutants -->\n")
  const [, after] = rest?.split("<!-- /generated -->") ?? []
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the table`)
  return `${before}<!-- generated: mutants -->\n\n${tableOf(replays)}\n\n<!-- /generated -->${after}`
}
