/**
 * The table of exceptions, `exceptions.tsv`: places that may break a rule, each with a reason.
 *
 * A row has four columns. `rule` is the name of a rule; `file` is a path, in which a final `*` stands for
 * the rest. `text` is the part of the line that the rule would reject, in upper or lower case, or any part of a long
 * line. For the rule `name` it is the name. `reason` states why the place may break the rule.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { read, root } from "../workspace.ts"
import type { Finding } from "./findings.ts"

/** The file of the table. */
export const exceptionsFile = "scripts/language/exceptions.tsv"

/** A row of the file. */
export interface Exception {
  readonly row: string
  readonly line: number
  readonly rule: string
  readonly file: string
  readonly text: string
}

const header = "rule\tfile\ttext\treason"

/** Returns the rows of the table. Throws if one has no reason. */
export const exceptions = (): ReadonlyArray<Exception> =>
  read(exceptionsFile).split("\n").flatMap((row, index) => {
    if (index === 0 || row === "") return []
    const [rule = "", file = "", text = "", reason = ""] = row.split("\t")
    if (reason.trim() === "") {
      throw new Error(`${exceptionsFile}:${index + 1} needs four columns: rule, file, text, reason`)
    }
    return [{ row, line: index + 1, rule, file, text }]
  })

/** Returns whether a row excepts this finding. */
export const covers = ({ file, rule, text }: Exception, { at, ...finding }: Finding): boolean => {
  const isInFile = file === finding.file || (file.endsWith("*") && finding.file.startsWith(file.slice(0, -1)))
  if (rule !== finding.rule || !isInFile) return false
  if (finding.rule === "name") return text === finding.subject
  const from = at === undefined ? 0 : Math.max(0, at - text.length + 1)
  const offset = finding.subject.toLowerCase().indexOf(text.toLowerCase(), from)
  return offset >= 0 && (at === undefined || offset <= at)
}

/** Writes the table anew with these rows. */
export const writeExceptions = (rows: ReadonlyArray<Exception>): void =>
  fs.writeFileSync(path.join(root, exceptionsFile), [header, ...rows.map(({ row }) => row), ""].join("\n"))
