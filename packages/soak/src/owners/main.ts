/**
 * Measures what decides between the leases of the stores and Effect Cluster, for decision 087.
 *
 * ```sh
 * pnpm owners messages operations --rounds 15
 * ```
 *
 * - `messages`: messages to an entity of Effect Cluster, as multiples of a bare request of HTTP.
 * - `operations`: claims and look-ups of owners, as multiples of `select 1`.
 * - `idle`: the queries of processes that serve nothing.
 * - `takeovers`: the time until another process serves a session, for each fault, with `--faults` rounds.
 *
 * Starts a PostgreSQL of its own from the installed programs, which does not wait for its disk, and deletes it.
 */
import * as os from "node:os"
import { parseArgs } from "node:util"
import { orExit, UsageError, wholeNumber } from "../../../../scripts/commandLine.ts"
import * as Services from "../nemesis/services.ts"
import * as Fleet from "./Fleet.ts"
import * as Idle from "./idle.ts"
import * as Messages from "./messages.ts"
import * as Operations from "./operations.ts"
import { ratiosOf, type Samples, summaryOf } from "./Samples.ts"

const rowOf = (samples: Samples): string => {
  const { high, low, median } = summaryOf(samples)
  const [shown, from, to] = [median, low, high].map((value) => value.toPrecision(3))
  return `${shown} (${from} to ${to})`
}

/** Prints the samples of each kind, and the ratios to those of the first kind in the same round. */
const print = (results: ReadonlyMap<string, Samples>): void => {
  const [base = []] = results.values()
  console.log("| | ms: median (quartiles) | ratio |\n| --- | --- | --- |")
  for (const [name, samples] of results) {
    console.log(`| ${name} | ${rowOf(samples)} | ${rowOf(ratiosOf(samples, base))} |`)
  }
}

interface Settings {
  readonly service: Services.Service
  readonly url: string
  readonly rounds: number
  readonly calls: number
  readonly faults: number
}

const judges: ReadonlyArray<Fleet.Judge> = ["store", "cluster"]

const parts: Readonly<Record<string, (settings: Settings) => Promise<void>>> = {
  messages: async ({ calls, rounds, url }) => print(await Messages.measure(url, rounds, calls)),
  operations: async ({ calls, rounds, url }) => print(await Operations.measure(url, rounds, calls)),
  idle: async ({ service }) => {
    console.log("| judge | processes | queries in a second |\n| --- | --- | --- |")
    for (const judge of judges) {
      for (const count of [2, 4, 8]) {
        console.log(`| ${judge} | ${count} | ${(await Idle.measure(service, judge, count)).toFixed(1)} |`)
      }
    }
  },
  takeovers: async ({ faults, service }) => {
    console.log(
      "| fault | judge | seconds: median (quartiles) | rounds | violations |\n| --- | --- | --- | --- | --- |"
    )
    for (const fault of Fleet.faults) {
      for (const judge of judges) {
        // By its lease alone, a process that the others cannot reach keeps its sessions.
        if (fault === "cut" && judge === "store") continue
        const outcomes: Array<Fleet.Outcome> = []
        for (let round = 0; round < faults; round++) {
          const outcome = await Fleet.cause(fault, judge, service)
          outcomes.push(outcome)
          console.error(`${fault}, ${judge}: ${outcome.millis.toFixed(0)} ms`)
        }
        const seconds = rowOf(outcomes.map(({ millis }) => millis / 1000))
        const violations = outcomes.flatMap((outcome) => outcome.violations)
        console.log(`| ${fault} | ${judge} | ${seconds} | ${faults} | ${violations.length} |`)
        for (const violation of violations) console.log(violation)
      }
    }
  }
}

const { calls, chosen, faults, rounds } = orExit(() => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: "string", default: "15" },
      calls: { type: "string", default: "100" },
      faults: { type: "string", default: "5" }
    }
  })
  const names = Object.keys(parts)
  const unknown = positionals.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new UsageError(`no part is named "${unknown}"; the parts are ${names.join(", ")}`)
  return {
    chosen: positionals.length === 0 ? names : positionals,
    rounds: wholeNumber("rounds", values.rounds),
    calls: wholeNumber("calls", values.calls),
    faults: wholeNumber("faults", values.faults)
  }
})

const load = () => os.loadavg().map((value) => value.toFixed(1)).join(", ")

const service = await Services.make("postgres")
await service.start()
try {
  for (const name of chosen) {
    console.log(`\n${name}; load of the last 1, 5 and 15 minutes: ${load()}\n`)
    await parts[name]?.({ service, url: service.url(service.port), rounds, calls, faults })
  }
  console.log(`\nload at the end: ${load()}`)
} finally {
  await service.remove()
}
