import { assert, describe, it } from "@effect/vitest"
import { draw, type Line } from "../src/chart.ts"

const line = (name: string, costs: ReadonlyArray<readonly [size: number, cost: number]>): Line => ({
  name,
  colour: "#222222",
  points: costs.map(([size, cost]) => ({ size, cost, low: cost * 0.9, high: cost * 1.1 }))
})

const drawn = (...lines: ReadonlyArray<Line>): string =>
  draw({ title: "a < b & \"c\"", sizes: "sizes", costs: "µs", lines })

/** Returns the points of each polyline. */
const polylines = (svg: string): ReadonlyArray<ReadonlyArray<readonly [x: number, y: number]>> =>
  Array.from(svg.matchAll(/<polyline points="([^"]*)"/g), ([, points = ""]) =>
    points.split(" ").map((point) => {
      const [x = Number.NaN, y = Number.NaN] = point.split(",").map(Number)
      return [x, y] as const
    }))

describe("a chart", () => {
  it("escapes its texts", () => {
    const svg = drawn(line("x<y>&", [[1, 1], [10, 2]]))
    assert.include(svg, ">a &lt; b &amp; &quot;c&quot;</text>")
    assert.include(svg, ">x&lt;y&gt;&amp;</text>")
  })

  it("has one polyline for each line, whose points ascend from left to right", () => {
    const lines = polylines(drawn(line("one", [[100, 3], [1, 1], [10, 2]]), line("other", [[1, 50], [1_000, 40]])))
    assert.deepStrictEqual(lines.map(({ length }) => length), [3, 2])
    for (const points of lines) {
      const places = points.map(([x]) => x)
      assert.deepStrictEqual(places, places.toSorted((a, b) => a - b))
      assert.strictEqual(new Set(places).size, places.length)
    }
  })

  it("has logarithmic axes: equal factors are equal distances", () => {
    const [points = []] = polylines(drawn(line("one", [[1, 1], [10, 10], [100, 100]])))
    const [[x0, y0] = [0, 0], [x1, y1] = [0, 0], [x2, y2] = [0, 0]] = points
    assert.closeTo(x1 - x0, x2 - x1, 0.2)
    assert.closeTo(y0 - y1, y1 - y2, 0.2)
    assert.isAbove(y0, y1)
  })

  it("leaves out costs without a logarithm, and a line without any other", () => {
    const lines = polylines(drawn(line("one", [[1, -5], [10, 0], [100, 7]]), line("nothing", [[1, 0]])))
    assert.deepStrictEqual(lines.map(({ length }) => length), [1])
  })

  it("draws constant costs, and nothing at all", () => {
    for (const svg of [drawn(line("one", [[1, 1], [10, 1]])), drawn()]) assert.notMatch(svg, /NaN|Infinity/)
  })

  it("moves the names of equal lines apart", () => {
    const svg = drawn(line("one", [[1, 1], [10, 2]]), line("other", [[1, 1], [10, 2]]))
    const places = Array.from(svg.matchAll(/y="([\d.]+)" fill="[^"]*">(?:one|other)</g), ([, y]) => Number(y))
    assert.strictEqual(places.length, 2)
    assert.isAtLeast(Math.abs((places[0] ?? 0) - (places[1] ?? 0)), 12)
  })
})
