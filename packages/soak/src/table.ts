/** A table of the results of a soak. */
import * as Format from "./format.ts"
import type { Verdict } from "./verdict.ts"

const heads = ["quantity", "first", "after warm-up", "last", "per 1,000 sessions", "98 % interval", ""]

export const table = ({ judged, warmUp }: Verdict): string => {
  const rows = judged.map(({ isGood, kind, quantity, trend, values }) => [
    quantity,
    Format.amount(quantity, values[0] ?? 0),
    Format.amount(quantity, values[warmUp] ?? values.at(-1) ?? 0),
    Format.amount(quantity, values.at(-1) ?? 0),
    Format.slope(quantity, trend.slope),
    `${Format.slope(quantity, trend.low)} and ${Format.slope(quantity, trend.high)}`,
    kind === "shown" || (kind === "level" && !Number.isFinite(trend.low))
      ? "not judged"
      : isGood
      ? "good"
      : kind === "count"
      ? "CHANGED"
      : "GROWS"
  ])
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  return [line(heads), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n")
}
