/** Verdicts as a table for the terminal, and as remarks. */
import type { ExpectedFailure } from "./baseline.ts"
import type { Scenario } from "./scenario.ts"
import type { Verdict } from "./verdict.ts"

const headings = ["scenario", "side", "revision", "suite", "passed", "failed", "warnings", ""]

/** The columns with numbers, which are right-aligned. */
const numbers: ReadonlySet<number> = new Set([4, 5, 6])

const remark = ({ expected, stale, unexpected }: Verdict): string => {
  if (unexpected.length > 0) return "FAILED"
  if (stale.length > 0) return "STALE"
  return expected.length > 0 ? "as expected" : ""
}

const row = (verdict: Verdict): ReadonlyArray<string> => {
  const { failed, passed, scenario, warnings } = verdict
  const { name, release, revision, side } = scenario
  return [name, side, revision, release.version, ...[passed, failed, warnings].map(String), remark(verdict)]
}

/** Formats one line for each scenario at each revision. */
export const table = (verdicts: ReadonlyArray<Verdict>): string => {
  const rows = [headings, ...verdicts.map(row)]
  const widths = headings.map((_, column) => Math.max(...rows.map((cells) => (cells[column] ?? "").length)))
  return rows.map((cells) =>
    cells.map((cell, column) => {
      const width = widths[column] ?? 0
      return numbers.has(column) ? cell.padStart(width) : cell.padEnd(width)
    }).join("  ").trimEnd()
  ).join("\n")
}

const place = ({ name, release, revision, side }: Scenario): string =>
  `${side} ${name} at ${revision} (${release.version})`

/** Formats the subject of an entry of the baseline. */
export const entry = ({ check, release, revision, scenario, side }: ExpectedFailure): string =>
  `${side} ${scenario}${revision === undefined ? "" : ` at ${revision}`}${
    release === undefined ? "" : ` (${release})`
  }: ${check}`

/** Formats expected failures with reasons, unexpected failures and stale entries of the baseline. */
export const remarks = (verdicts: ReadonlyArray<Verdict>): ReadonlyArray<string> =>
  verdicts.flatMap(({ expected, scenario, stale, unexpected }) => [
    ...expected.map(({ check, reason }) => `expected: ${place(scenario)}: ${check}: ${reason}`),
    ...unexpected.map(({ check, message }) => `FAILED: ${place(scenario)}: ${check}: ${message}`),
    ...stale.map(({ check }) => `STALE: ${place(scenario)}: ${check} no longer fails; remove it from the baseline`)
  ])
