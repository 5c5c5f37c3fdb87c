import { assert, describe, it } from "@effect/vitest"
import * as Random from "../src/Random.ts"
import { fit, type Point } from "../src/trend.ts"

const points = (count: number, y: (x: number) => number): ReadonlyArray<Point> =>
  Array.from({ length: count }, (_, x) => ({ x, y: y(x) }))

/** Returns approximately normal noise: the sum of twelve random numbers. */
const bell = (random: Random.Random): number =>
  Array.from({ length: 12 }, random.next).reduce((sum, one) => sum + one, -6)

describe("a trend", () => {
  it("equals the slope of a straight line", () => {
    const { high, intercept, low, slope } = fit(points(12, (x) => 7 + 3 * x))
    assert.deepStrictEqual({ high, intercept, low, slope }, { high: 3, intercept: 7, low: 3, slope: 3 })
  })

  it("is not affected by outliers", () => {
    const { slope } = fit(points(30, (x) => x % 10 === 4 ? 1_000_000 : 3 * x))
    assert.isAbove(slope, 2.9)
    assert.isBelow(slope, 3.1)
  })

  it("has an interval that contains the true slope in at least 95 % of runs", () => {
    const random = Random.make(7)
    const runs = 400
    let missed = 0
    for (let run = 0; run < runs; run++) {
      const { high, low } = fit(points(24, (x) => 0.5 * x + 20 * bell(random)))
      if (low > 0.5 || high < 0.5) missed++
    }
    // 2 % are expected to miss.
    assert.isBelow(missed, runs * 0.05)
    assert.isAbove(missed, 0)
  })

  it("has an infinite interval for too few points", () => {
    for (const count of [0, 1, 2, 3]) {
      const { high, low } = fit(points(count, (x) => x))
      assert.deepStrictEqual([low, high], [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])
    }
  })
})
