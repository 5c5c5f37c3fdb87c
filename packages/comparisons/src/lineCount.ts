/** The number of lines of the programs, as a table. */
import * as fs from "node:fs"
import { type Implementation, implementations, type Program, programs } from "./implementations.ts"

/**
 * Counts the lines of a source file without blank lines and comments. Lines that begin with a comment count as comments
 * up to its end: in the format of this repository, no code follows a comment on its line.
 */
export const countLines = (source: string): number => {
  let count = 0
  let inComment = false
  for (const line of source.split("\n").map((line) => line.trim())) {
    if (!inComment && line.startsWith("/*")) inComment = true
    if (!inComment && line !== "" && !line.startsWith("//")) count++
    if (inComment && line.endsWith("*/")) inComment = false
  }
  return count
}

/** Returns the file of a program. */
export const fileOf = ({ folder }: Implementation, program: Program): URL =>
  new URL(`${folder}/${program}.ts`, import.meta.url)

const cellOf = (implementation: Implementation, program: Program): string =>
  implementation.programs.includes(program)
    ? String(countLines(fs.readFileSync(fileOf(implementation, program), "utf8")))
    : "–"

const padded = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const [head = []] = rows
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`)
}

/** Returns a Markdown table with a row for each program and a column for each implementation. */
export const table = (): string => {
  const titles = ["Program", ...implementations.map(({ name }) => name)]
  const rows = programs.map(([program, title]) => [
    `${program}: ${title}`,
    ...implementations.map((implementation) => cellOf(implementation, program))
  ])
  const [head, ...body] = padded([titles, ...rows])
  const rule = (head ?? "").replaceAll(/[^|]/g, "-").replaceAll("|-", "| ").replaceAll("-|", " |")
  return [head, rule, ...body].join("\n")
}
