import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { fileURLToPath } from "node:url"
import { parseArgs, promisify } from "node:util"
import * as CommandLine from "../../../scripts/commandLine.ts"
import * as application from "./application.ts"
import * as http from "./http.ts"
import * as httpStateless from "./httpStateless.ts"
import * as memory from "./memory.ts"
import * as report from "./report.ts"
import * as reportHttp from "./reportHttp.ts"
import * as startup from "./startup.ts"
import * as stdio from "./stdio.ts"
import * as webSocket from "./webSocket.ts"

/** The parts of the benchmarks; `http` stands for all that start with it. */
const parts = [
  "startup",
  "stdio",
  "websocket",
  "memory",
  "application",
  "http",
  "http-calls",
  "http-handshakes",
  "http-idle",
  "http-stalled",
  "http-stateless",
  "http-questions"
]

/** The parts that compare several servers. */
const compared = [
  "stdio",
  "application",
  "http",
  "http-calls",
  "http-handshakes",
  "http-idle",
  "http-stalled",
  "http-stateless"
]

const { calls, only, rounds, servers, sessions } = CommandLine.orExit(() => {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "15" },
      calls: { type: "string", default: "2000" },
      sessions: { type: "string", default: "10000" },
      servers: { type: "string", default: "" },
      only: { type: "string" }
    }
  })
  const { only, servers } = values
  if (only !== undefined) CommandLine.choice("only", only, parts)
  if (servers !== "" && only !== undefined && !compared.includes(only)) {
    throw new CommandLine.UsageError(`--servers selects servers of ${compared.join(", ")}, not of ${only}`)
  }
  return {
    rounds: CommandLine.wholeNumber("rounds", values.rounds),
    calls: CommandLine.wholeNumber("calls", values.calls),
    sessions: CommandLine.wholeNumber("sessions", values.sessions),
    servers,
    only
  }
})

/** Measures a part, unless the command line selects another one. */
const part = async <Results>(name: string, measure: () => Promise<Results>): Promise<Results | undefined> =>
  only === undefined || only === name || name.startsWith(`${only}-`) ? await measure() : undefined

/** Repeats the measurement in a process that compiles Effect's schemas. */
const measureCompiled = async (): Promise<memory.Results> => {
  const program = fileURLToPath(new URL("compiled.ts", import.meta.url))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...process.execArgv, program, String(rounds), String(calls)],
    { maxBuffer: Number.POSITIVE_INFINITY }
  )
  return JSON.parse(stdout)
}

const overHttp = { rounds, calls, sessions, servers }

const measured = {
  date: new Date().toISOString(),
  node: process.version,
  cpus: { count: availableParallelism(), model: cpus()[0]?.model },
  rounds,
  calls,
  sessions,
  // Sequential, because concurrent measurements would affect each other.
  startup: await part("startup", () => startup.measure(rounds)),
  stdio: await part("stdio", () => stdio.measure({ rounds, calls, servers })),
  webSocket: await part("websocket", () => webSocket.measure({ rounds, calls })),
  memory: await part("memory", async () => ({
    interpreted: await memory.measure({ rounds, calls }),
    compiled: await measureCompiled(),
    observed: await memory.measureObserved({ rounds, calls })
  })),
  application: await part("application", async () => ({
    memory: await application.measure({ rounds, calls }),
    stdio: await stdio.measureApplications({ rounds, calls, servers })
  })),
  http: {
    calls: await part("http-calls", () => http.measureCalls(overHttp)),
    handshakes: await part("http-handshakes", () => http.measureHandshakes(overHttp)),
    idle: await part("http-idle", () => http.measureIdle(overHttp)),
    stalled: await part("http-stalled", () => http.measureStalled(overHttp)),
    stateless: await part("http-stateless", () => httpStateless.measureCalls(overHttp)),
    questions: await part("http-questions", () => httpStateless.measureQuestions(overHttp))
  }
}

const machine = `node ${measured.node}, ${measured.cpus.count} × ${measured.cpus.model}`
console.log(`${machine}; ${rounds} rounds, ${calls} calls in each\n`)
if (measured.memory !== undefined) {
  console.log(`${report.ofMemory(measured.memory.interpreted, measured.memory.compiled)}\n`)
  console.log(`${report.ofObserved(measured.memory.observed)}\n`)
}
if (measured.startup !== undefined) console.log(`${report.ofStartup(measured.startup)}\n`)
if (measured.stdio !== undefined) console.log(`${report.ofStdio(measured.stdio)}\n`)
if (measured.webSocket !== undefined) console.log(`${report.ofWebSocket(measured.webSocket)}\n`)
if (measured.application !== undefined) {
  console.log(`${report.ofApplications(measured.application.memory)}\n`)
  console.log(`${report.ofApplicationsOverStdio(measured.application.stdio)}\n`)
}
if (measured.http.calls !== undefined) console.log(`${reportHttp.ofCalls(measured.http.calls)}\n`)
if (measured.http.handshakes !== undefined) console.log(`${reportHttp.ofHandshakes(measured.http.handshakes)}\n`)
if (measured.http.idle !== undefined) console.log(`${reportHttp.ofIdle(measured.http.idle, sessions)}\n`)
if (measured.http.stalled !== undefined) console.log(`${reportHttp.ofStalled(measured.http.stalled)}\n`)
if (measured.http.stateless !== undefined) console.log(`${reportHttp.ofStateless(measured.http.stateless)}\n`)
if (measured.http.questions !== undefined) console.log(`${reportHttp.ofQuestions(measured.http.questions)}\n`)

const results = fileURLToPath(new URL("../results/", import.meta.url))
mkdirSync(results, { recursive: true })
writeFileSync(`${results}latest.json`, `${JSON.stringify(measured, undefined, 2)}\n`)
console.log(`all samples: ${results}latest.json`)
