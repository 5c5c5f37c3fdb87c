/** Judges what came of a soak. */
import { differences, type Sample } from "./Sample.ts"
import type { Outcome } from "./soak.ts"
import type { Counts } from "./Subject.ts"
import { fit, type Trend } from "./trend.ts"

/** What becomes of one quantity. */
export interface Judged {
  readonly quantity: string
  /** `count`: is to be what it was before the first session. `level`: must not grow. `shown`: may be what it likes. */
  readonly kind: "count" | "level" | "shown"
  /** One value for each sample. */
  readonly values: ReadonlyArray<number>
  /** For each session, behind the warm-up. */
  readonly trend: Trend
  readonly isGood: boolean
}

export interface Verdict {
  /** How many samples belong to the warm-up. */
  readonly warmUp: number
  readonly judged: ReadonlyArray<Judged>
  /** Whether there were samples enough to tell what grows from what only goes up and down. */
  readonly isGrowthJudged: boolean
  /** What is wrong, in words; nothing where all is well. */
  readonly complaints: ReadonlyArray<string>
}

/** The share of the samples that is no more than warm-up: in it code is compiled, and what is made once is made. */
const warmUpShare = 1 / 3

/**
 * How much a level may grow behind the warm-up, in all: V8 goes on to compile, and to note what it has seen, for a long time, and there
 * is no telling that from a leak. So a leak is found if it comes to more than this behind the warm-up, and if noise does not explain it.
 */
export const allowances: Counts = {
  // The samples themselves, and what a late path through a library makes once.
  objects: 1000,
  "heap used": 1024 * 1024,
  external: 512 * 1024,
  "array buffers": 512 * 1024,
  "sessions in memory": 32
}

const judgeLevel = (quantity: string, values: ReadonlyArray<number>, trend: Trend, span: number): Judged => ({
  quantity,
  kind: "level",
  values,
  trend,
  isGood: !(trend.low > 0 && trend.low * span > (allowances[quantity] ?? 0))
})

/** The names of all that was counted in any sample. */
const namesIn = (samples: ReadonlyArray<Sample>, of: (sample: Sample) => Counts): ReadonlyArray<string> =>
  Array.from(new Set(samples.flatMap((sample) => Object.keys(of(sample)))))

/** At most so many failures are told in full. */
const toldFailures = 20

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

  const complaints = [
    ...failures.slice(0, toldFailures).map(({ client, ending, problem, subject }) =>
      `${subject}, ${ending} (${client}): ${problem}`
    ),
    ...failures.length > toldFailures ? [`and ${failures.length - toldFailures} more`] : [],
    ...samples.flatMap((sample) =>
      differences(base?.counts ?? {}, sample.counts).map((difference) =>
        `left behind after ${sample.sessions} sessions: ${difference}`
      )
    ),
    ...levels.filter(({ isGood }) => !isGood).map(({ quantity, trend }) =>
      `${quantity} grows by ${trend.slope.toFixed(1)} for each session (at least ${trend.low.toFixed(1)})`
    ),
    ...warnings.slice(0, toldFailures).map((warning) => `logged: ${warning}`)
  ]
  const isGrowthJudged = levels.every(({ trend }) => Number.isFinite(trend.low))
  return { warmUp, judged: [...levels, ...counts, ...shown], isGrowthJudged, complaints }
}
