/**
 * Runs the nemesis for as long as one likes: three processes, faults of random kinds, and a check of what six clients
 * saw.
 *
 * ```sh
 * pnpm nemesis --store postgres --seconds 300 --seed 7
 * ```
 *
 * Without `--seconds`, each kind of fault happens once, as in the test, and those that end processes hit bookings at
 * each of their moments; `--faults kill,pause` selects some.
 * `--out FILE` writes the history as JSON. Fails if the history breaks a rule.
 *
 * `--sessions 10000` opens and ends that many sessions without faults instead, and fails if resources are left.
 */
import * as fs from "node:fs"
import { parseArgs } from "node:util"
import * as CommandLine from "../../../../scripts/commandLine.ts"
import * as Checker from "./Checker.ts"
import type { Inflicted } from "./faults.ts"
import type { FaultKind } from "./History.ts"
import * as ManySessions from "./manySessions.ts"
import * as Nemesis from "./nemesis.ts"
import { program } from "./program.ts"
import * as Bookings from "./rules/bookingRules.ts"
import { summariesOf } from "./rules/recoveryRule.ts"

const allFaults: ReadonlyArray<Inflicted> = [
  "kill",
  "terminate",
  "pause",
  "cut-peers",
  "stall-peers",
  "cut-store",
  "stall-store",
  "restart-store"
]

const options = CommandLine.orExit(() => {
  const { values } = parseArgs({
    options: {
      store: { type: "string", default: "sqlite" },
      owners: { type: "string" },
      seconds: { type: "string" },
      seed: { type: "string", default: String(Date.now() % 100_000) },
      processes: { type: "string", default: "3" },
      faults: { type: "string" },
      sessions: { type: "string" },
      out: { type: "string" }
    }
  })
  return {
    store: CommandLine.choice("store", values.store, ["memory", "sqlite", "postgres", "redis"]),
    owners: values.owners,
    millis: values.seconds === undefined ? undefined : 1000 * CommandLine.wholeNumber("seconds", values.seconds),
    seed: CommandLine.wholeNumber("seed", values.seed),
    processes: CommandLine.wholeNumber("processes", values.processes),
    faults: values.faults?.split(",").filter((kind) => kind !== "")
      .map((kind) => CommandLine.choice("faults", kind, allFaults)),
    sessions: values.sessions === undefined ? undefined : CommandLine.wholeNumber("sessions", values.sessions),
    out: values.out
  }
})

process.once("SIGINT", () => process.exit(1)).once("SIGTERM", () => process.exit(1))

const { faults, millis, out, owners, processes, seed, sessions, store } = options
console.log(`store ${store}, seed ${seed}`)
if (sessions !== undefined) {
  const { problems } = await ManySessions.run({
    store,
    seed,
    sessions,
    program: await program,
    onLevel: (name, { connections, files, mebibytes, rows }) => {
      const counts = Object.entries(rows).map(([table, count]) => `${table} ${count}`)
      const time = `${Math.round(performance.now() / 1000)} s`
      console.log(
        `${time} ${name}: ${mebibytes} MiB, ${files} open files, ${connections} of them connections, ${
          counts.join(", ")
        }`
      )
    }
  })
  for (const problem of problems) console.log(problem)
  console.log(problems.length === 0 ? "passed" : "FAILED")
  process.exit(problems.length === 0 ? 0 : 1)
}
const { history, log, memory } = await Nemesis.run({
  store,
  seed,
  millis,
  processes,
  ...(faults === undefined ? undefined : { faults }),
  ...(owners === undefined ? undefined : { arguments: ["--owners", owners] }),
  program: await program,
  onFault: ({ at, kind, moment = "", target, until }) =>
    console.log(`${Math.round(at)}–${Math.round(until)} ${kind} ${target} ${moment}`)
})

const counted = new Map<string, number>()
for (const { ending, purpose, status } of history.exchanges) {
  const key = `${purpose} ${status ?? "-"} ${ending ?? "open"}`
  counted.set(key, (counted.get(key) ?? 0) + 1)
}
const count = (kind: FaultKind) => history.faults.filter((fault) => fault.kind === kind).length
const [leases, waits] = [count("lease"), count("busy")]
console.log(
  `${history.exchanges.length} requests, ${history.faults.length - leases - waits} faults, ` +
    `${leases} leases lost without a fault, ${waits} waits for a processor`
)
console.table(Object.fromEntries([...counted].toSorted()))
console.table(summariesOf(history))
const bookings = Bookings.bookingsOf(history)
const ended = {
  result: bookings.filter(({ result }) => result !== undefined).length,
  unknown: bookings.filter(({ unknown }) => unknown !== undefined).length
}
console.log(`${bookings.length} bookings: ${ended.result} with a result, ${ended.unknown} with an unknown outcome`)
console.table(Bookings.summariesOf(history))
console.log(`memory: ${memory.map(([number, mebibytes]) => `process ${number} ${mebibytes} MiB`).join(", ")}`)
const violations = Checker.check(history)
const byRule = new Map<string, number>()
for (const violation of violations) {
  const count = (byRule.get(violation.rule) ?? 0) + 1
  byRule.set(violation.rule, count)
  if (count <= 3) console.log(Checker.violationText(violation))
}
if (out !== undefined) fs.writeFileSync(out, JSON.stringify({ history, log, violations }))
console.log(log.slice(-40).join("\n"))
console.log(
  violations.length === 0 ? "no rule is broken" : `broken: ${[...byRule].map((row) => row.join(" ")).join(", ")}`
)
process.exit(violations.length === 0 ? 0 : 1)
