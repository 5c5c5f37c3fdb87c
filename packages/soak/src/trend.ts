/** A linear trend of samples, with its confidence interval. */

/** A point: a value after a number of sessions. */
export interface Point {
  readonly x: number
  readonly y: number
}

/** A linear trend. */
export interface Trend {
  /** The median of the slopes between all pairs of points (Theil and Sen): a few outliers do not move it. */
  readonly slope: number
  /** The value at `x` = 0: the median of the points' offsets from the slope. */
  readonly intercept: number
  /**
   * The bounds of the slope with a confidence of 98 %, that is, 99 % for each bound. They are infinite if there are too
   * few points.
   */
  readonly low: number
  readonly high: number
}

/** The quantile of the normal distribution at 99 %. */
const quantile = 2.326

const sorted = (numbers: ReadonlyArray<number>): ReadonlyArray<number> => numbers.toSorted((one, other) => one - other)

const median = (ordered: ReadonlyArray<number>): number => {
  const middle = ordered.length / 2
  const [low = Number.NaN, high = low] = ordered.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1)
  return (low + high) / 2
}

/**
 * Fits a line. The interval is Sen's, which is based on the ranks of the slopes and does not depend on the distribution
 * of the noise.
 */
export const fit = (points: ReadonlyArray<Point>): Trend => {
  const slopes = sorted(
    points.flatMap((one, index) =>
      points.slice(index + 1).filter(({ x }) => x !== one.x).map((other) => (other.y - one.y) / (other.x - one.x))
    )
  )
  const slope = median(slopes)
  const n = points.length
  const off = quantile * Math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
  const index = Math.floor((slopes.length - off) / 2)
  return {
    slope,
    intercept: median(sorted(points.map(({ x, y }) => y - slope * x))),
    low: index < 0 ? Number.NEGATIVE_INFINITY : slopes[index] ?? Number.NEGATIVE_INFINITY,
    high: index < 0 ? Number.POSITIVE_INFINITY : slopes[slopes.length - 1 - index] ?? Number.POSITIVE_INFINITY
  }
}
