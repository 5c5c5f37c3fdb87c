/** Samples of measurements, and their medians. */

/** The samples of one kind of work, one for each round. */
export type Samples = ReadonlyArray<number>

/** Returns a quantile of samples. */
const quantileOf = (samples: Samples, at: number): number => {
  const sorted = samples.toSorted((one, other) => one - other)
  const position = (sorted.length - 1) * at
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

/** Returns the median of samples. */
export const medianOf = (samples: Samples): number => quantileOf(samples, 0.5)

/** Returns the median, and the quartiles. */
export const summaryOf = (samples: Samples) => ({
  median: medianOf(samples),
  low: quantileOf(samples, 0.25),
  high: quantileOf(samples, 0.75)
})

/** Returns the ratios of samples to those of the same round. A slow round cancels out. */
export const ratiosOf = (samples: Samples, base: Samples): Samples =>
  samples.map((sample, round) => sample / (base[round] ?? Number.NaN))

/** Some work, which returns a sample. */
export interface Contender {
  readonly name: string
  readonly once: () => Promise<number>
}

/** Measures by turns, so that a change of the machine's speed affects all alike. */
export const alternate = async (
  contenders: ReadonlyArray<Contender>,
  rounds: number
): Promise<ReadonlyMap<string, Samples>> => {
  const samples = new Map(contenders.map(({ name }): [string, Array<number>] => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const contender = contenders[(round + turn) % contenders.length]
      if (contender !== undefined) samples.get(contender.name)?.push(await contender.once())
    }
  }
  return samples
}
