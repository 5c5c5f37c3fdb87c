import { assert, describe, it } from "@effect/vitest"
import type { Curve, Point } from "../src/curves/Curve.ts"
import { ofCurve } from "../src/curves/reportCurve.ts"
import { toMarkdown } from "../src/ReportElement.ts"

const contender = (name: string) => ({ name, prepare: () => Promise.reject(new Error("not measured here")) })

const curve: Curve = {
  sizes: [1, 10, 100],
  meaning: "sessions",
  quantities: { heap: { file: "heap", title: "Heap", unit: "bytes" } },
  contenders: [contender("Effect MCP"), contender("official v1")],
  warmUpRounds: () => 0,
  mostRounds: () => 3
}

const point = (size: number, samples: { readonly [name: string]: ReadonlyArray<number> }): Point => ({
  size,
  samples: Object.fromEntries(Object.entries(samples).map(([name, costs]) => [name, costs.map((heap) => ({ heap }))]))
})

/** Returns the cells of the table, without its head. */
const rows = (points: ReadonlyArray<Point>): ReadonlyArray<ReadonlyArray<string>> =>
  toMarkdown(ofCurve(curve, points), "charts").split("\n").filter((line) => /^\| \d/.test(line)).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  )

describe("the report of a curve", () => {
  it("has the growth of the costs from size to size, and ratios within each round", () => {
    const points = [
      point(1, { "Effect MCP": [1, 2, 3], "official v1": [2, 4, 6] }),
      point(10, { "Effect MCP": [20, 20, 20], "official v1": [10, 20, 40] }),
      point(100, { "Effect MCP": [20, 20, 20] })
    ]
    assert.deepStrictEqual(rows(points), [
      ["1", "2.00 (1.50–2.50)", "", "0.50 (0.50–0.50)"],
      ["10", "20.0 (20.0–20.0)", "1.00", "1.00 (0.75–1.50)"],
      ["100", "20.0 (20.0–20.0)", "0.00", ""]
    ])
  })

  it("has no ratio and no growth of costs that are not above 0", () => {
    const points = [
      point(1, { "Effect MCP": [-5, 0], "official v1": [2, 4] }),
      point(10, { "Effect MCP": [4, 4], "official v1": [-1, 4] })
    ]
    assert.deepStrictEqual(rows(points), [
      ["1", "-2.50 (-3.75–-1.25)", "", "–"],
      ["10", "4.00 (4.00–4.00)", "–", "–"]
    ])
  })

  it("compares the first of the others if this library was not measured", () => {
    assert.deepStrictEqual(rows([point(1, { "official v1": [2, 2] })]), [["1", "2.00 (2.00–2.00)", ""]])
  })
})
