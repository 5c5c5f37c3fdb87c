/**
 * Measures the parts of the benchmarks that the command line names, or all, and prints a report of each.
 *
 * `pnpm bench memory http-calls` measures two parts, and `pnpm bench http` all whose names start with `http`.
 * `--rounds 5`, `--calls 500`, `--sessions 1000` and `--up-to 1000`, the greatest size of a curve, make it shorter.
 * `--servers official` measures only the servers whose names contain a text.
 *
 * The samples are stored in `results`, one file for each part; `--results folder` sets another folder. `--stored`
 * measures nothing and reports stored samples. `--report` writes the page `docs/project/benchmarks.md` and its charts
 * from all stored samples.
 */
import { orExit } from "../../../scripts/commandLine.ts"
import * as Page from "./page.ts"
import { parts } from "./parts.ts"
import * as Report from "./ReportElement.ts"
import * as Samples from "./samples.ts"
import { parse } from "./settings.ts"

const { folder, isStored, leftOut, options, parts: chosen, writesPage } = orExit(() =>
  parse(process.argv.slice(2), parts)
)

for (const { name } of leftOut) console.log(`${name} is left out: it has no servers for --servers "${options.servers}"`)

// Sequential, because concurrent measurements would affect each other.
for (const part of chosen) {
  const stored = isStored
    ? Samples.read(folder, part)
    : Samples.store(folder, part, options, await part.measure(options))
  console.log(`\n== ${part.name}: ${part.measures}\n`)
  console.log(stored === undefined ? "not measured yet" : Report.toText(part.report(stored)))
}
console.log(`\nall samples: ${folder}`)

if (writesPage) {
  const measured = parts.flatMap((part) => {
    const stored = Samples.read(folder, part)
    return stored === undefined ? [] : [{ part, stored }]
  })
  for (const file of Page.write(measured)) console.log(`written: ${file}`)
}
