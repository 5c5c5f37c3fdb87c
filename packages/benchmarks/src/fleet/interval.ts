/** Medians with intervals. */

const at = (sorted: ReadonlyArray<number>, quantile: number): number =>
  sorted[Math.min(Math.floor(sorted.length * quantile), sorted.length - 1)] ?? Number.NaN

/** Returns the median of samples. */
export const median = (samples: ReadonlyArray<number>): number => at(samples.toSorted((one, other) => one - other), 0.5)

/** Returns the median of samples, and the bounds in which it lies with 95 %, by drawing the samples again. */
export const interval = (samples: ReadonlyArray<number>): readonly [low: number, median: number, high: number] => {
  const medians = Array.from(
    { length: 2000 },
    () => median(samples.map(() => samples[Math.floor(Math.random() * samples.length)] ?? Number.NaN))
  )
    .toSorted((one, other) => one - other)
  return [at(medians, 0.025), median(samples), at(medians, 0.975)]
}

/** Returns a median with its interval as text. */
export const format = (samples: ReadonlyArray<number>, digits = 2): string => {
  const [low, middle, high] = interval(samples)
  return `${middle.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`
}
