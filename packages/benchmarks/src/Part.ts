import type { Report } from "./ReportElement.ts"

/** The options of measurements. */
export interface Options {
  readonly rounds: number
  readonly calls: number
  /** The number of sessions for the measurement of idle sessions. */
  readonly sessions: number
  /** A part of the names of the servers to measure. */
  readonly servers: string
  /** The greatest size of a curve. */
  readonly upTo: number
}

/** The samples of a part as they are stored, with all that is needed to measure them again. */
export interface Stored<Results> {
  readonly part: string
  readonly date: string
  readonly node: string
  readonly cpus: { readonly count: number; readonly model: string }
  readonly options: Options
  readonly results: Results
}

/** A part of the benchmarks. */
export interface Part {
  readonly name: string
  /** The quantity that the part measures, as a phrase. */
  readonly measures: string
  /** The names of the servers among which `--servers` selects. Empty if the part always measures all. */
  readonly servers: ReadonlyArray<string>
  readonly measure: (options: Options) => Promise<unknown>
  /** Returns the report of samples, which are given as the JSON of `Stored`. */
  readonly report: (stored: string) => Report
}

/** Creates a part. Its report reads the results that its measurement returns, after they were stored as JSON. */
export const make = <Results>(part: {
  readonly name: string
  readonly measures: string
  readonly servers?: ReadonlyArray<string>
  readonly measure: (options: Options) => Promise<Results>
  readonly report: (results: Results, options: Options) => Report
}): Part => ({
  name: part.name,
  measures: part.measures,
  servers: part.servers ?? [],
  measure: part.measure,
  report: (stored) => {
    const { options, results }: Stored<Results> = JSON.parse(stored)
    return part.report(results, options)
  }
})
