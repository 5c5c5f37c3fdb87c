/** The verdict on a soak. */
import { differences, type Sample } from "./Sample.ts"
import type { Outcome } from "./soak.ts"
import type { Counts } from "./Subject.ts"
import { fit, type Trend } from "./trend.ts"

/** The verdict on one quantity. */
export interface Judged {
  readonly quantity: string
  /** `count`: must return to the value before the first session. `level`: must not grow. `shown`: is not judged. */
  readonly kind: "count" | "level" | "shown"
  /** One value for each sample. */
  readonly values: ReadonlyArray<number>
  /** The trend for each session, after the warm-up. */
  readonly trend: Trend
  readonly isGood: boolean
}

export interface Verdict {
  /** The number of samples in the warm-up. */
  readonly warmUp: number
  readonly judged: ReadonlyArray<Judged>
  /** Whether there are enough samples to distinguish growth from noise. */
  readonly isGrowthJudged: boolean
  /** The problems; empty if there are none. */
  readonly problems: ReadonlyArray<string>
}

/** The share of the samples in the warm-up, in which code is compiled and single objects are created. */
const warmUpShare = 1 / 3

/**
 * The allowed total growth of a level after the warm-up. V8 compiles and collects type feedback for a long time, which
 * looks like a leak. A leak is reported if it exceeds this growth and the noise.
 */
export const allowances: Counts = {
  // Allows for the samples themselves, and for single objects that rarely used code creates.
  objects: 1000,
  "heap used": 1024 * 1024,
  external: 512 * 1024,
  "array buffers": 512 * 1024,
  "sessions in memory": 32,
  "heap of children": 2 * 1024 * 1024
}

const judgeLevel = (quantity: string, values: ReadonlyArray<number>, trend: Trend, span: number): Judged => ({
  quantity,
  kind: "level",
  values,
  trend,
  isGood: !(trend.low > 0 && trend.low * span > (allowances[quantity] ?? 0))
})

/** Returns the names of the quantities in any sample. */
const namesIn = (samples: ReadonlyArray<Sample>, of: (sample: Sample) => Counts): ReadonlyArray<string> =>
  Array.from(new Set(samples.flatMap((sample) => Object.keys(of(sample)))))

/** The greatest number of failures that are printed in full. */
const printedFailures = 20

export const judge = ({ failures, samples, warnings }: Pick<Outcome, "failures" | "samples" | "warnings">): Verdict => {
  const [base] = samples
  const warmUp = Math.max(1, Math.round(samples.length * warmUpShare))
  const judgedSamples = samples.slice(warmUp)
  const span = (judgedSamples.at(-1)?.sessions ?? 0) - (judgedSamples[0]?.sessions ?? 0)
  const seriesOf = (of: (sample: Sample) => Counts) =>
    namesIn(samples, of).map((quantity) => ({
      quantity,
      values: samples.map((sample) => of(sample)[quantity] ?? 0),
      trend: fit(judgedSamples.map((sample) => ({ x: sample.sessions, y: of(sample)[quantity] ?? 0 })))
    }))

  const levels = seriesOf(({ levels }) => levels).map(({ quantity, trend, values }) =>
    judgeLevel(quantity, values, trend, span)
  )
  const counts = seriesOf(({ counts }) => counts).map((series): Judged => ({
    ...series,
    kind: "count",
    isGood: series.values.every((value) => value === series.values[0])
  }))
  const shown = seriesOf(({ shown }) => shown).map((series): Judged => ({ ...series, kind: "shown", isGood: true }))

  const problems = [
    ...failures.slice(0, printedFailures).map(({ client, ending, problem, subject }) =>
      `${subject}, ${ending} (${client}): ${problem}`
    ),
    ...failures.length > printedFailures ? [`and ${failures.length - printedFailures} more`] : [],
    ...samples.flatMap((sample) =>
      differences(base?.counts ?? {}, sample.counts).map((difference) =>
        `left after ${sample.sessions} sessions: ${difference}`
      )
    ),
    ...levels.filter(({ isGood }) => !isGood).map(({ quantity, trend }) =>
      `${quantity} grows by ${trend.slope.toFixed(1)} for each session (at least ${trend.low.toFixed(1)})`
    ),
    ...warnings.slice(0, printedFailures).map((warning) => `logged: ${warning}`)
  ]
  const isGrowthJudged = levels.every(({ trend }) => Number.isFinite(trend.low))
  return { warmUp, judged: [...levels, ...counts, ...shown], isGrowthJudged, problems }
}
