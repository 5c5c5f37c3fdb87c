/** A contender of a comparison. `once` does the work one time and returns a sample, such as the duration. */
export interface Contender<Sample = number> {
  readonly name: string
  readonly once: () => Promise<Sample>
}

/** The samples of one contender, one per round. */
export type Samples = ReadonlyArray<number>

/**
 * Measures in alternating rounds, so that a change of the machine's speed affects all contenders alike. Each round
 * starts with another contender, because the first one has less garbage to collect than the others.
 */
export const alternate = async <Sample>(
  contenders: ReadonlyArray<Contender<Sample>>,
  rounds: number
): Promise<ReadonlyMap<string, ReadonlyArray<Sample>>> => {
  const samples = new Map(contenders.map(({ name }): [string, Array<Sample>] => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const contender = contenders[(round + turn) % contenders.length]
      if (contender !== undefined) samples.get(contender.name)?.push(await contender.once())
    }
  }
  return samples
}

/** Returns the duration of work in milliseconds. */
export const millisOf = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Returns a quantile of sorted samples. */
export const quantile = (sorted: Samples, at: number): number => {
  const position = (sorted.length - 1) * at
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

/** The median and the quartiles of samples. */
export interface Summary {
  readonly median: number
  readonly low: number
  readonly high: number
}

export const summarize = (samples: Samples): Summary => {
  const sorted = samples.toSorted((a, b) => a - b)
  return { median: quantile(sorted, 0.5), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) }
}

/** Returns the ratios within each round, in which a slow round cancels out. */
export const ratios = (samples: Samples, base: Samples): Samples =>
  samples.slice(0, base.length).map((sample, round) => sample / (base[round] ?? Number.NaN))

/** Returns the differences within each round. */
export const differences = (samples: Samples, base: Samples): Samples =>
  samples.slice(0, base.length).map((sample, round) => sample - (base[round] ?? Number.NaN))
