import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { fileURLToPath } from "node:url"
import { parseArgs, promisify } from "node:util"
import * as memory from "./memory.ts"
import * as report from "./report.ts"
import * as startup from "./startup.ts"

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    calls: { type: "string", default: "2000" },
    only: { type: "string" }
  }
})

const atLeastOne = (name: string, text: string): number => {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new Error(`--${name} takes a whole number, not "${text}"`)
}

const rounds = atLeastOne("rounds", options.rounds)
const calls = atLeastOne("calls", options.calls)
const { only } = options
if (only !== undefined && only !== "memory" && only !== "startup") throw new Error("--only takes memory or startup")

/** The same measurement in a process of its own, in which Effect's schemas are compiled. */
const measureCompiled = async (): Promise<memory.Results> => {
  const program = fileURLToPath(new URL("compiled.ts", import.meta.url))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...process.execArgv, program, String(rounds), String(calls)],
    { maxBuffer: Number.POSITIVE_INFINITY }
  )
  return JSON.parse(stdout)
}

const measured = {
  date: new Date().toISOString(),
  node: process.version,
  cpus: { count: availableParallelism(), model: cpus()[0]?.model },
  rounds,
  calls,
  // One after the other: they would disturb each other.
  startup: only === "memory" ? undefined : await startup.measure(rounds),
  memory: only === "startup"
    ? undefined
    : {
      interpreted: await memory.measure({ rounds, calls }),
      compiled: await measureCompiled(),
      observed: await memory.measureObserved({ rounds, calls })
    }
}

const machine = `node ${measured.node}, ${measured.cpus.count} × ${measured.cpus.model}`
console.log(`${machine}; ${rounds} rounds, ${calls} calls in each\n`)
if (measured.memory !== undefined) {
  console.log(`${report.ofMemory(measured.memory.interpreted, measured.memory.compiled)}\n`)
  console.log(`${report.ofObserved(measured.memory.observed)}\n`)
}
if (measured.startup !== undefined) console.log(`${report.ofStartup(measured.startup)}\n`)

const results = fileURLToPath(new URL("../results/", import.meta.url))
mkdirSync(results, { recursive: true })
writeFileSync(`${results}latest.json`, `${JSON.stringify(measured, undefined, 2)}\n`)
console.log(`all samples: ${results}latest.json`)
