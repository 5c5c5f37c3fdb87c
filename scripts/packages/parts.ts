/** The parts of a check, their selection, and the table of their results. */

/** One part of a check. It fails by an exception. */
export interface Part {
  readonly name: string
  /** Returns what the table shows beside the name. */
  readonly run: () => Promise<string>
}

/** The result of a part. */
export interface Result {
  readonly name: string
  readonly seconds: number
  /** The text that the part has returned, or the first line of its failure. */
  readonly text: string
  readonly failure: unknown
}

/** Returns the parts whose names begin with one of the given texts, or all parts without any. */
export const select = (parts: ReadonlyArray<Part>, only: ReadonlyArray<string> | undefined): ReadonlyArray<Part> =>
  only === undefined ? parts : parts.filter(({ name }) => only.some((beginning) => name.startsWith(beginning)))

/** Receives what happens while parts run. */
export interface Report {
  readonly begin: (name: string) => void
  readonly fail: (failure: unknown) => void
}

const onTerminal: Report = {
  begin: (name) => console.log(`> ${name}`),
  fail: (failure) => console.error(failure)
}

/** Runs parts one after the other. A part that fails does not stop the others. */
export const runAll = async (
  parts: ReadonlyArray<Part>,
  report: Report = onTerminal
): Promise<ReadonlyArray<Result>> => {
  const results: Array<Result> = []
  for (const { name, run } of parts) {
    report.begin(name)
    const start = performance.now()
    const [text, failure] = await run().then(
      (text) => [text, undefined] as const,
      (error: unknown) => [error instanceof Error ? error.message : String(error), error] as const
    )
    const seconds = Math.round((performance.now() - start) / 1000)
    if (failure !== undefined) report.fail(failure)
    results.push({ name, seconds, text: failure === undefined ? text : text.split("\n")[0] ?? "", failure })
  }
  return results
}

/** Returns a table of results for a terminal. */
export const table = (results: ReadonlyArray<Result>): string => {
  const width = Math.max(...results.map(({ name }) => name.length))
  return results.map(({ failure, name, seconds, text }) => {
    const outcome = failure === undefined ? "passes" : "FAILS "
    const begin = `${name.padEnd(width)}  ${outcome}  ${String(seconds).padStart(4)} s  `
    return text.split("\n").map((line, index) => (index === 0 ? begin : " ".repeat(begin.length)) + line).join("\n")
  }).join("\n")
}
