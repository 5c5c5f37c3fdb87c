/**
 * The table of mutants on the page `docs/mutants.md`.
 */
import * as path from "node:path"
import type { Replay } from "./replays.ts"
import { mutants } from "./table.ts"

export const page = "docs/mutants.md"

/** Returns the table in Markdown. */
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
    "| A session that … | Mutated file | Found by | Commands | Conversations |",
    "| --- | --- | --- | ---: | ---: |",
    ...rows
  ].join("\n")
}

/** Returns the page with its table replaced. */
export const withTable = (text: string, replays: ReadonlyMap<string, Replay>): string => {
  const [before, rest] = text.split("<!-- generated: mutants -->\n")
  const [, after] = rest?.split("<!-- /generated -->") ?? []
  if (before === undefined || after === undefined) {
    throw new Error(`${page} has no block "mutants": add <!-- generated: mutants --> and <!-- /generated -->`)
  }
  return `${before}<!-- generated: mutants -->\n\n${tableOf(replays)}\n\n<!-- /generated -->${after}`
}
