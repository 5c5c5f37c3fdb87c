/**
 * The baseline, `baseline.tsv`: the number of findings that each file may still have. Without the file, it is 0.
 *
 * The file has one sorted line for each file with findings. Git merges it by keeping the lines of both branches, so a
 * file can have several: the lowest count holds, and `--update` removes the others.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { read, root } from "../workspace.ts"

/** The file of the baseline. */
export const baselineFile = "scripts/language/baseline.tsv"

/** Findings that a file may have, by its path. */
export type Baseline = ReadonlyMap<string, number>

/** Returns the counts; none if there is no file. */
export const readBaseline = (): Baseline => {
  const counts = new Map<string, number>()
  if (!fs.existsSync(path.join(root, baselineFile))) return counts
  for (const line of read(baselineFile).split("\n")) {
    const [, count, file] = /^(\d+)\t(.+)$/.exec(line) ?? []
    if (file !== undefined) counts.set(file, Math.min(Number(count), counts.get(file) ?? Infinity))
  }
  return counts
}

/** Writes the counts, or removes the file if all are 0. */
export const writeBaseline = (counts: Baseline): void => {
  const lines = Array.from(counts).filter(([, count]) => count > 0).toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([file, count]) => `${count}\t${file}\n`)
  if (lines.length === 0) fs.rmSync(path.join(root, baselineFile), { force: true })
  else fs.writeFileSync(path.join(root, baselineFile), lines.join(""))
}
