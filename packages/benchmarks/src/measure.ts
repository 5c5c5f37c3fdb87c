/**
 * What takes part in a comparison; `once` does the work one time and says how long it took, or more than that.
 */
export interface Contender<Sample = number> {
  readonly name: string
  readonly once: () => Promise<Sample>
}

/** The samples of one contender, one per round. */
export type Samples = ReadonlyArray<number>

/**
 * Measures in alternating rounds, so that a change in the machine's mood meets all contenders alike. Each round starts with
 * another contender, since the first one inherits less garbage than the others.
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

/** How long this takes, in milliseconds. */
export const millisOf = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The value below which this share of them lies, once they are sorted. */
export const quantile = (sorted: Samples, at: number): number => {
  const position = (sorted.length - 1) * at
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

/**
 * The median, with the quartiles around it.
 */
export interface Summary {
  readonly median: number
  readonly low: number
  readonly high: number
}

export const summarize = (samples: Samples): Summary => {
  const sorted = samples.toSorted((a, b) => a - b)
  return { median: quantile(sorted, 0.5), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) }
}

/** The median of the ratios within the rounds: what slows a whole round down cancels out. */
export const ratio = (samples: Samples, base: Samples): number =>
  summarize(samples.map((sample, round) => sample / (base[round] ?? Number.NaN))).median
