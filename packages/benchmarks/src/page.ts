/** The page of the benchmarks, with a generated block for each part, and its charts. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import * as Generated from "../../../scripts/generated.ts"
import { root } from "../../../scripts/workspace.ts"
import type { Part, Stored } from "./Part.ts"
import * as Report from "./ReportElement.ts"

const page = "docs/project/benchmarks.md"
const charts = "benchmarks"

/** Returns the command that measures samples again. */
const commandOf = ({ options, part }: Stored<unknown>): string =>
  [
    `pnpm bench ${part} --rounds ${options.rounds} --calls ${options.calls}`,
    ...(part === "http-idle" ? [`--sessions ${options.sessions}`] : []),
    ...(options.upTo === Number.MAX_SAFE_INTEGER ? [] : [`--up-to ${options.upTo}`]),
    ...(options.servers === "" ? [] : [`--servers "${options.servers}"`])
  ].join(" ")

const origin = (stored: string): string => {
  const samples: Stored<unknown> = JSON.parse(stored)
  const { cpus: { count, model }, date, node } = samples
  return `Measured on ${date.slice(0, 10)} with Node ${node.slice(1)} on ${count} × ${model}:\n\n` +
    `\`\`\`sh\n${commandOf(samples)}\n\`\`\``
}

/** Writes the reports of samples to the blocks of the page, and their charts. Returns the written files. */
export const write = (
  samples: ReadonlyArray<{ readonly part: Part; readonly stored: string }>
): ReadonlyArray<string> => {
  const reports = samples.map(({ part, stored }) => ({ part, stored, report: part.report(stored) }))
  const before = readFileSync(path.join(root, page), "utf8")
  const after = reports.reduce(
    (text, { part, report, stored }) =>
      Generated.replaced(text, part.name, `${Report.toMarkdown(report, charts)}\n\n${origin(stored)}`),
    before
  )
  const drawn = reports.flatMap(({ report }) => report).filter((element) => element.kind === "chart")
  const folder = path.join(path.dirname(page), charts)
  mkdirSync(path.join(root, folder), { recursive: true })
  for (const { file, svg } of drawn) writeFileSync(path.join(root, folder, `${file}.svg`), svg)
  writeFileSync(path.join(root, page), Generated.formatted(page, after))
  return [page, ...drawn.map(({ file }) => path.join(folder, `${file}.svg`))]
}
