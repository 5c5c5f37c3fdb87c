/** What came of a soak, as a table. */
import type { Verdict } from "./verdict.ts"
import * as Words from "./words.ts"

const heads = ["quantity", "first", "after warm-up", "last", "per 1,000 sessions", "with 98 % between", ""]

export const table = ({ judged, warmUp }: Verdict): string => {
  const rows = judged.map(({ isGood, kind, quantity, trend, values }) => [
    quantity,
    Words.amount(quantity, values[0] ?? 0),
    Words.amount(quantity, values[warmUp] ?? values.at(-1) ?? 0),
    Words.amount(quantity, values.at(-1) ?? 0),
    Words.slope(quantity, trend.slope),
    `${Words.slope(quantity, trend.low)} and ${Words.slope(quantity, trend.high)}`,
    kind === "shown" || (kind === "level" && !Number.isFinite(trend.low))
      ? "not judged"
      : isGood
      ? "good"
      : kind === "count"
      ? "NOT AS BEFORE"
      : "GROWS"
  ])
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  return [line(heads), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n")
}
