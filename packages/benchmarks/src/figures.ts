/** Figures in tables: a median, with the middle half in brackets. */
import { ratios, type Samples, summarize } from "./measure.ts"

/** Formats a number with about three digits. */
export const number = (value: number): string => {
  if (!Number.isFinite(value)) return "–"
  const size = Math.abs(value)
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 || size === 0 ? 2 : 3
  return value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits })
}

/** Formats samples. */
export const cell = (samples: Samples): string => {
  if (samples.length === 0) return ""
  const { high, low, median } = summarize(samples)
  if (!Number.isFinite(median)) return "–"
  return `${number(median)} (${number(low)}–${number(high)})`
}

/**
 * Formats the ratios within each round, in which a slow round cancels out. Costs of 0 or less, as those of memory that
 * was there before, have no ratio.
 */
export const ratioCell = (samples: Samples, base: Samples): string =>
  samples.length > 0 && [...samples, ...base].some((cost) => cost <= 0) ? "–" : cell(ratios(samples, base))
