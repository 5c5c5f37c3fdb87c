/**
 * Runs hostile peers against a server and a client over every transport, against an application with tasks and kept
 * results, and against both sides of a gateway. Checks that the victims keep running, that other peers are served, and
 * that a log stays small. Each victim is a process with a small heap.
 *
 * `--seconds 10` sets the duration of each attack, and `--heap 512` the heap of a victim in MiB. `--side server`,
 * `--transport http` and `--attack results` (a part of the name) select attacks. Prints, for each attack, the longest
 * delay of the event loop, the peak of the heap and the calls of bystanders. Fails if a victim exits or a bystander is
 * not served.
 */
import * as Effect from "effect/Effect"
import { parseArgs } from "node:util"
import * as CommandLine from "../../../../scripts/commandLine.ts"
import * as ClientTrials from "./clientTrials.ts"
import * as ProxyTrials from "./proxyTrials.ts"
import { serverTransports } from "./ServerTransport.ts"
import * as ServerTrials from "./serverTrials.ts"
import { heading, problemOf, row, type Trial } from "./Trial.ts"

const { options, selected } = CommandLine.orExit(() => {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "10" },
      heap: { type: "string", default: "512" },
      side: { type: "string" },
      transport: { type: "string" },
      attack: { type: "string", default: "" }
    }
  })
  const { attack, side, transport } = values
  if (side !== undefined) CommandLine.choice("side", side, ["server", "client", "gateway"])
  if (transport !== undefined) {
    CommandLine.choice("transport", transport, [...new Set([...serverTransports, ...ClientTrials.clientTransports])])
  }
  return {
    options: {
      seconds: CommandLine.wholeNumber("seconds", values.seconds),
      heapMebibytes: CommandLine.wholeNumber("heap", values.heap)
    },
    selected: { side, transport, attack }
  }
})

const isSelected = (side: string, transport: string, attack: string): boolean =>
  (selected.side === undefined || selected.side === side) &&
  (selected.transport === undefined || selected.transport === transport) && attack.includes(selected.attack)

const trials: ReadonlyArray<Effect.Effect<Trial>> = [
  ...serverTransports.flatMap((transport) =>
    ServerTrials.attacksOver(transport).filter((attack) => isSelected("server", transport, attack))
      .map((attack) => ServerTrials.run(transport, attack, options))
  ),
  ...ClientTrials.clientTransports.flatMap((transport) =>
    ClientTrials.attacksOver(transport).filter((attack) => isSelected("client", transport, attack))
      .map((attack) => ClientTrials.run(transport, attack, options))
  ),
  ...ProxyTrials.proxiedTransports.flatMap((transport) =>
    ProxyTrials.attacksOver(transport).filter((attack) => isSelected("gateway", transport, attack))
      .map((attack) => ProxyTrials.run(transport, attack, options))
  )
]

console.log(`${trials.length} attacks of ${options.seconds} s, heaps of ${options.heapMebibytes} MiB\n\n${heading}`)
const outcomes: Array<Trial> = []
for (const trial of trials) {
  const outcome = await Effect.runPromise(trial)
  outcomes.push(outcome)
  console.log(row(outcome))
}

const loop = Math.max(0, ...outcomes.map(({ vitals }) => vitals.loopMillis))
const heap = Math.max(0, ...outcomes.map(({ vitals }) => vitals.heapBytes))
console.log(
  `\nlongest delay of an event loop ${loop.toFixed(0)} ms, largest heap ${(heap / 1024 / 1024).toFixed(0)} MiB`
)
const problems = outcomes.flatMap((outcome) => problemOf(outcome) ?? [])
for (const problem of problems) console.log(problem)
console.log(
  problems.length === 0
    ? "all victims kept running, and all bystanders were served"
    : `${problems.length} problems`
)
process.exit(problems.length === 0 && outcomes.length > 0 ? 0 : 1)
