/** A straight line through samples, and how sure it is. */

/** One sample: how much there was after so many sessions. */
export interface Point {
  readonly x: number
  readonly y: number
}

/** How much more there is for each unit of `x`. */
export interface Trend {
  /** The median of the slopes between all pairs of points (Theil and Sen): a few outliers do not move it. */
  readonly slope: number
  /** What it is where `x` is nothing: the median of what the slope leaves of each point. */
  readonly intercept: number
  /**
   * The slope lies between these two with a confidence of 98 %, one of 99 % for each side by itself. Infinite where there are too few
   * points to say so.
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
 * Fits a line. The interval is Sen's: how far the ranks of the slopes may be off by chance is known without knowing how the noise is
 * distributed.
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
  const place = Math.floor((slopes.length - off) / 2)
  return {
    slope,
    intercept: median(sorted(points.map(({ x, y }) => y - slope * x))),
    low: place < 0 ? Number.NEGATIVE_INFINITY : slopes[place] ?? Number.NEGATIVE_INFINITY,
    high: place < 0 ? Number.POSITIVE_INFINITY : slopes[slopes.length - 1 - place] ?? Number.POSITIVE_INFINITY
  }
}
