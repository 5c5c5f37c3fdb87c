/** Reports of curves: for each quantity a chart and a table. */
import * as Chart from "../chart.ts"
import { cell, ratioCell } from "../figures.ts"
import { type Samples, summarize } from "../measure.ts"
import { chart, type Report, table, text } from "../ReportElement.ts"
import * as Curve from "./Curve.ts"

/** Colours of similar darkness that the common forms of colour blindness keep apart. Floors are grey. */
const colours = { [Curve.ours]: "#0072b2", "official v1": "#d55e00", "official v2": "#009e73", "": "#6b6b6b" }

/** Returns the colour of a contender, which is the same in all charts. */
const colourOf = (name: string): string =>
  Object.entries(colours).find(([start]) => name.startsWith(start))?.[1] ?? colours[""]

const samplesOf = (point: Curve.Point, contender: string, quantity: string): Samples =>
  (point.samples[contender] ?? []).flatMap((costs) => costs[quantity] ?? [])

/**
 * Returns the exponent by which costs grow between two sizes: 0 for costs that do not depend on the size, and 1 for
 * costs in proportion to it.
 */
const exponent = (
  at: { readonly size: number; readonly cost: number },
  before: { readonly size: number; readonly cost: number }
): number => Math.log(at.cost / before.cost) / Math.log(at.size / before.size)

/** Formats an exponent. Differences of less than a hundredth are none. */
const hundredths = (value: number): string =>
  Number.isFinite(value) ? (Math.abs(value) < 0.005 ? 0 : value).toFixed(2).replace("-", "−") : "–"

const ofQuantity = (curve: Curve.Curve, points: ReadonlyArray<Curve.Point>, name: string): Report => {
  const quantity = curve.quantities[name]
  if (quantity === undefined) return []
  const names = curve.contenders.map((contender) => contender.name)
    .filter((contender) => points.some((point) => samplesOf(point, contender, name).length > 0))
  // Without this library, the first of the others is compared.
  const subject = names.includes(Curve.ours) ? Curve.ours : names[0]
  if (subject === undefined) return []
  const costs = points.map((point) => ({
    size: point.size,
    cost: summarize(samplesOf(point, subject, name)).median
  }))
  const growth = (index: number): string => {
    const at = costs[index]
    const before = costs[index - 1]
    return at === undefined || before === undefined ? "" : hundredths(exponent(at, before))
  }
  const bases = names.filter((other) => other !== subject)
  const lines = names.map((contender): Chart.Line => ({
    name: contender,
    colour: colourOf(contender),
    points: points.filter((point) => samplesOf(point, contender, name).length > 0).map((point) => {
      const { high, low, median } = summarize(samplesOf(point, contender, name))
      return { size: point.size, cost: median, low, high }
    })
  }))
  const { file, title, unit } = quantity
  return [
    text(`${title}.`),
    chart(file, title, Chart.draw({ title, sizes: curve.meaning, costs: unit, lines })),
    table([
      [curve.meaning, `${subject}, ${unit}`, "growth", ...bases.map((base) => `× ${base}`)],
      ...points.map((point, index) => [
        point.size.toLocaleString("en"),
        cell(samplesOf(point, subject, name)),
        growth(index),
        ...bases.map((base) => ratioCell(samplesOf(point, subject, name), samplesOf(point, base, name)))
      ])
    ])
  ]
}

/** Reports all quantities of a curve. */
export const ofCurve = (curve: Curve.Curve, points: ReadonlyArray<Curve.Point>): Report =>
  Object.keys(curve.quantities).flatMap((quantity) => ofQuantity(curve, points, quantity))
