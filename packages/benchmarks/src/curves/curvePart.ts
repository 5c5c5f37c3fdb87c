import * as Part from "../Part.ts"
import type { Report } from "../ReportElement.ts"
import * as Curve from "./Curve.ts"
import { ofCurve } from "./reportCurve.ts"

/** Creates a part that measures curves one after another. */
export const make = ({ curves, measures, name }: {
  readonly name: string
  readonly measures: string
  readonly curves: { readonly [curve: string]: Curve.Curve }
}): Part.Part =>
  Part.make({
    name,
    measures,
    servers: [...new Set(Object.values(curves).flatMap(({ contenders }) => contenders.map(({ name }) => name)))],
    measure: async (options) => {
      const results: { [curve: string]: ReadonlyArray<Curve.Point> } = {}
      for (const [key, curve] of Object.entries(curves)) results[key] = await Curve.measure(curve, options)
      return results
    },
    report: (results): Report => Object.entries(curves).flatMap(([key, curve]) => ofCurve(curve, results[key] ?? []))
  })
