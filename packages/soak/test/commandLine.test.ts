/** Usage errors of the programs of this repository. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { choice, UsageError, wholeNumber } from "../../../scripts/commandLine.ts"
import * as Benchmark from "../../benchmarks/src/settings.ts"
import * as Soak from "../src/settings.ts"
import { ended } from "./fixtures/ended.ts"

interface Outcome {
  readonly status: string
  readonly stdout: string
  readonly stderr: string
}

const root = new URL("../../../", import.meta.url)

const run = (file: string, args: ReadonlyArray<string>) =>
  new Promise<Outcome>((resolve) => {
    const child = execFile(
      process.execPath,
      [fileURLToPath(new URL(file, root)), ...args],
      (_, stdout, stderr) => resolve({ status: String(child.exitCode), stdout, stderr })
    )
  })

const programs = {
  bench: "packages/benchmarks/src/main.ts",
  soak: "packages/soak/src/main.ts",
  hostile: "packages/soak/src/hostile/main.ts",
  simulate: "packages/simulation/src/simulate.ts",
  mutants: "packages/simulation/src/mutants.ts",
  conformance: "scripts/conformance.ts",
  requirements: "scripts/requirements.ts"
}

const usageErrors: ReadonlyArray<readonly [keyof typeof programs, ReadonlyArray<string>, RegExp]> = [
  ["bench", ["--rounds", "many"], /^--rounds takes an integer of at least 1, not "many"$/],
  ["bench", ["speed", "memory"], /^no part is named "speed"; the parts are startup, stdio, .*; .*$/],
  [
    "bench",
    ["http-calls", "--servers", "nothing"],
    /^--servers takes a part of one of these names: .*, not "nothing"$/
  ],
  [
    "bench",
    ["memory", "--servers", "official"],
    /^--servers selects no servers of memory, which measure all of theirs$/
  ],
  ["soak", ["--sessions=-1"], /^--sessions takes an integer of at least 1, not "-1"$/],
  ["soak", ["--expiries", "0"], /^--expiries takes an integer of at least 1, not "0"$/],
  ["hostile", ["--seconds", "NaN"], /^--seconds takes an integer of at least 1, not "NaN"$/],
  ["hostile", ["--side", "both"], /^--side takes one of server, client, gateway, not "both"$/],
  ["simulate", ["--sessions", "1.5"], /^--sessions takes an integer of at least 1, not "1\.5"$/],
  ["simulate", ["--conversation", "{"], /^--conversation takes a conversation as a report prints it: /],
  ["simulate", ["--scripts", "1.5"], /^--scripts takes an integer of at least 1, not "1\.5"$/],
  ["simulate", ["--script", "{"], /^--script takes a script as a report prints it: /],
  ["mutants", ["--only", "nothing"], /^--only takes the name of a mutant in a table, not "nothing"$/],
  ["conformance", ["--revision", "1999-01-01"], /^--revision takes one of .*2025-11-25.*, not "1999-01-01"$/],
  ["conformance", ["--side"], /^Option '--side <value>' argument missing/],
  ["requirements", ["--mutants", "--sample", "0"], /^--sample takes an integer of at least 1, not "0"$/]
]

/** Runs all of them in one process, because the programs share most of their modules. */
const runAll = async (): Promise<ReadonlyArray<Outcome>> => {
  const invocations = usageErrors.map(([name, args]) => [new URL(programs[name], root), args])
  const { stderr, stdout } = await run("packages/soak/test/fixtures/invocations.ts", [JSON.stringify(invocations)])
  const outputs = stdout.split(new RegExp(`${ended}(.*)\\n`))
  return stderr.split(`${ended}\n`).slice(0, -1).map((stderr, index) => ({
    status: outputs[2 * index + 1] ?? "",
    stdout: outputs[2 * index] ?? "",
    stderr
  }))
}

describe("a program", () => {
  let all: ReadonlyArray<Outcome> = []
  beforeAll(async () => {
    all = await runAll()
  }, 60_000)

  it.each(usageErrors.map((usageError, index) => [...usageError, index] as const))(
    "%s prints one line and exits with status 2 for %j",
    (_, __, message, index) => {
      const { status, stderr, stdout } = all[index] ?? { status: "", stderr: "", stdout: "" }
      assert.match(stderr.trimEnd(), message)
      assert.notInclude(stderr, "    at ")
      assert.deepStrictEqual([status, stdout], ["2", ""])
    }
  )

  it("exits with this status as a process of its own", async () => {
    const { status, stderr, stdout } = await run(programs.requirements, ["--mutants", "--sample", "0"])
    assert.deepStrictEqual([status, stdout], ["2", ""], stderr)
  })
})

describe("settings", () => {
  it.each([
    [["--sessions", "-1"], /^Option '--sessions' argument is ambiguous/],
    [["--ending", "toString"], /^--ending takes one of .*, not "toString"$/],
    [["more"], /^Unexpected argument 'more'/]
  ])("of a soak are not %j", (args, message) => assert.throws(() => Soak.parse(args), message))

  it.each([
    [["--calls", ""], /^--calls takes an integer of at least 1, not ""$/],
    [["--quick"], /^Unknown option '--quick'/]
  ])("of a benchmark are not %j", (args, message) => assert.throws(() => Benchmark.parse(args, []), message))
})

describe("an option", () => {
  it("takes only integers of at least the given minimum", () => {
    assert.strictEqual(wholeNumber("n", "0", 0), 0)
    assert.strictEqual(wholeNumber("n", "12"), 12)
    for (const text of ["", " ", "0", "-1", "1.5", "1e3", "0x10", "Infinity", "NaN", "9007199254740993"]) {
      assert.throws(() => wholeNumber("n", text), UsageError, `--n takes an integer of at least 1, not "${text}"`)
    }
  })

  it("takes only one of its choices", () => {
    assert.strictEqual(choice("side", "client", ["client", "server"]), "client")
    assert.throws(() => choice("side", "Client", ["client"]), UsageError, "--side takes one of client, not \"Client\"")
  })
})
