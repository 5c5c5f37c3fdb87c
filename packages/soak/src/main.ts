/**
 * Opens and ends thousands of sessions over every transport in every way, and measures after each round which resources
 * are left. Fails if resources are left, or if the heap grows.
 *
 * `--sessions 20000` sets the number of sessions, `--rounds 30` the number of measurements, and `--seed 1` the random
 * choices. `--only http` selects a transport and `--ending scope-close` an ending; both can be repeated. `--out folder`
 * sets the folder of the chart and the samples. `--leak 1024` leaks that many bytes for each session, which shows that
 * leaks are found.
 *
 * `--supervised 10000` kills the servers of supervised clients that many times instead, and starts them again.
 * `--tasks 10000` runs that many tasks instead, which end in every way and expire. `--expiries 10000` lets that many
 * access tokens expire instead, which programs in three processes share.
 */
import * as Effect from "effect/Effect"
import { mkdirSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { orExit } from "../../../scripts/commandLine.ts"
import { chart } from "./chart.ts"
import * as Expiries from "./expiries/expiries.ts"
import * as Format from "./format.ts"
import * as Plan from "./plan.ts"
import type { Sample } from "./Sample.ts"
import { parse } from "./settings.ts"
import * as Soak from "./soak.ts"
import * as Supervised from "./supervised/supervised.ts"
import { table } from "./table.ts"
import * as Tasks from "./tasks/tasks.ts"
import { judge } from "./verdict.ts"

const settings = orExit(() => parse(process.argv.slice(2)))
const { endings, expiries, leakBytes, out, restarts, rounds, seed, sessions, subjects, tasks } = settings

const progress = (sample: Sample, round: number): void => {
  const heap = Format.amount("heap used", sample.levels["heap used"] ?? 0)
  const counts = Object.entries(sample.counts).filter(([, count]) => count > 0).map(([name, count]) =>
    `${name} ${count}`
  )
  console.log(
    `${sample.seconds.toFixed(0).padStart(5)} s  round ${round}/${rounds}  ${sample.sessions} sessions  heap ${heap}  ${
      counts.join(", ")
    }`
  )
}

const onFailure = ({ client, ending, problem, subject }: Soak.Failure): void => {
  console.log(`${subject}, ${ending} (${client}): ${problem}`)
}

const soakSessions = () => {
  const plan = Plan.make({ subjects, sessions, rounds, seed, ...endings === undefined ? {} : { only: endings } })
  return Soak.run({ subjects, plan, leakBytes, onFailure, onSample: progress })
}

const subjectNames = subjects.map(({ name }) => name).join(", ")
console.log(
  restarts !== undefined
    ? `${restarts} restarts of the servers of supervised clients; seed ${seed}`
    : tasks !== undefined
    ? `${tasks} tasks; seed ${seed}`
    : expiries !== undefined
    ? `${expiries} expiries of access tokens`
    : `about ${sessions} sessions, and at least one for each ending, over ${subjectNames}; seed ${seed}`
)

const inRounds = { rounds, seed, leakBytes, onFailure, onSample: progress }
const outcome = await Effect.runPromise(
  restarts !== undefined
    ? Supervised.run({ total: restarts, ...inRounds })
    : tasks !== undefined
    ? Tasks.run({ total: tasks, ...inRounds })
    : expiries !== undefined
    ? Expiries.run({ total: expiries, ...inRounds })
    : soakSessions()
)
const verdict = judge(outcome)

mkdirSync(out, { recursive: true })
const samples = {
  date: new Date().toISOString(),
  node: process.version,
  sessions,
  rounds,
  seed,
  subjects: subjects.map(({ name }) => name),
  leakBytes,
  ...outcome,
  verdict
}
// JSON has no infinity.
const json = JSON.stringify(samples, (_, value) => value === Infinity || value === -Infinity ? String(value) : value, 2)
writeFileSync(path.join(out, "soak.json"), `${json}\n`)
writeFileSync(path.join(out, "soak.svg"), chart(outcome.samples, verdict))

console.log(`\n${table(verdict)}\n`)
for (const problem of verdict.problems) console.log(problem)
if (!verdict.isGrowthJudged) {
  console.log("growth is not judged: set --rounds to at least 7")
}
console.log(`${verdict.problems.length === 0 ? "passed" : "FAILED"}; see ${out}`)
if (verdict.problems.length > 0) process.exitCode = 1
