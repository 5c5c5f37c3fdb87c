/** A chart of a soak: one row for each quantity. */
import * as Format from "./format.ts"
import type { Sample } from "./Sample.ts"
import type { Judged, Verdict } from "./verdict.ts"

const width = 960
const left = 190
const right = 230
const top = 40
const rowHeight = 84
const plotHeight = 56
const plotWidth = width - left - right

const colours = { good: "#2a6f4e", bad: "#b3261e", shown: "#6b6b6b", fit: "#d98200", warmUp: "#eeeeee" }

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const round = (value: number): string => String(Math.round(value * 10) / 10)

interface Text {
  readonly x: number
  readonly y: number
  readonly anchor?: "start" | "end"
  readonly size?: number
}

const text = (content: string, { anchor = "start", size = 11, x, y }: Text): string =>
  `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" font-size="${size}">${escaped(content)}</text>`

/** Draws a row: the curve, the warm-up as background, the fitted line and its slope. */
const row = (
  { isGood, kind, quantity, trend, values }: Judged,
  rowIndex: number,
  warmUp: number,
  sessions: ReadonlyArray<number>
): string => {
  const from = sessions[warmUp] ?? 0
  const until = sessions.at(-1) ?? 0
  const fitted = (at: number) => trend.intercept + trend.slope * at
  // The rise of a level in the warm-up would leave no room for later changes.
  const scaled = kind === "count" ? values : values.slice(warmUp)
  const all = [...scaled, fitted(from), fitted(until)].filter(Number.isFinite)
  const low = Math.min(...all)
  const range = Math.max(...all) - low
  const baseline = top + rowIndex * rowHeight + plotHeight
  const x = (at: number) => left + (until === 0 ? 0 : at / until) * plotWidth
  // A constant value is drawn in the middle.
  const y = (value: number) =>
    baseline - (range === 0 ? 0.5 : Math.min(Math.max((value - low) / range, 0), 1)) * plotHeight
  const colour = kind === "shown" ? colours.shown : isGood ? colours.good : colours.bad
  const points = values.map((value, index) => `${round(x(sessions[index] ?? 0))},${round(y(value))}`).join(" ")
  return [
    `<rect x="${left}" y="${baseline - plotHeight}" width="${
      round(x(from) - left)
    }" height="${plotHeight}" fill="${colours.warmUp}"/>`,
    `<path d="M${left} ${baseline}H${left + plotWidth}" stroke="#cccccc" fill="none"/>`,
    `<polyline points="${points}" stroke="${colour}" stroke-width="1.5" fill="none"/>`,
    Number.isFinite(trend.slope)
      ? `<path d="M${round(x(from))} ${round(y(fitted(from)))}L${round(x(until))} ${
        round(y(fitted(until)))
      }" stroke="${colours.fit}" stroke-dasharray="5 3" fill="none"/>`
      : "",
    text(quantity, { x: left - 12, y: baseline - plotHeight + 12, anchor: "end", size: 12 }),
    text(Format.amount(quantity, low + range), {
      x: left - 12,
      y: baseline - plotHeight + 30,
      anchor: "end",
      size: 10
    }),
    text(Format.amount(quantity, low), { x: left - 12, y: baseline, anchor: "end", size: 10 }),
    text(`${Format.slope(quantity, trend.slope)} per 1,000`, {
      x: left + plotWidth + 12,
      y: baseline - plotHeight + 12
    }),
    text(`between ${Format.slope(quantity, trend.low)}`, {
      x: left + plotWidth + 12,
      y: baseline - plotHeight + 28,
      size: 10
    }),
    text(`and ${Format.slope(quantity, trend.high)}`, {
      x: left + plotWidth + 12,
      y: baseline - plotHeight + 42,
      size: 10
    })
  ].join("\n")
}

/** Returns an SVG document. */
export const chart = (samples: ReadonlyArray<Sample>, { judged, warmUp }: Verdict): string => {
  const sessions = samples.map((sample) => sample.sessions)
  const height = top + judged.length * rowHeight
  const seconds = samples.at(-1)?.seconds ?? 0
  const title = `${sessions.at(-1) ?? 0} sessions in ${
    Math.round(seconds)
  } s; the warm-up is grey, the fitted line dashed`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" fill="#222222">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(title, { x: left, y: 22, size: 13 }),
    ...judged.map((quantity, rowIndex) => row(quantity, rowIndex, warmUp, sessions)),
    "</svg>",
    ""
  ].join("\n")
}
