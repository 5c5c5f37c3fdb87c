/** Usage errors of the programs of this repository. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { choice, UsageError, wholeNumber } from "../../../scripts/commandLine.ts"
import * as Benchmark from "../../benchmarks/src/settings.ts"
import * as Soak from "../src/settings.ts"

interface Outcome {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

const root = new URL("../../../", import.meta.url)

const run = (program: string, args: ReadonlyArray<string>): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [fileURLToPath(new URL(program, root)), ...args],
      (_, stdout, stderr) => resolve({ status: child.exitCode, stdout, stderr })
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
  ["soak", ["--sessions=-1"], /^--sessions takes an integer of at least 1, not "-1"$/],
  ["hostile", ["--seconds", "NaN"], /^--seconds takes an integer of at least 1, not "NaN"$/],
  ["hostile", ["--side", "both"], /^--side takes one of server, client, gateway, not "both"$/],
  ["simulate", ["--sessions", "1.5"], /^--sessions takes an integer of at least 1, not "1\.5"$/],
  ["simulate", ["--conversation", "{"], /^--conversation takes a conversation as a report prints it: /],
  ["mutants", ["--only", "nothing"], /^--only takes the name of a mutant in a table, not "nothing"$/],
  ["conformance", ["--revision", "1999-01-01"], /^--revision takes one of .*2025-11-25.*, not "1999-01-01"$/],
  ["conformance", ["--side"], /^Option '--side <value>' argument missing/],
  ["requirements", ["--mutants", "--sample", "0"], /^--sample takes an integer of at least 1, not "0"$/]
]

describe("a program", () => {
  it.each(usageErrors)(
    "%s prints one line and exits with status 2 for %j",
    { timeout: 60_000 },
    async (name, args, message) => {
      const { status, stderr, stdout } = await run(programs[name], args)
      assert.match(stderr.split("\n")[0] ?? "", message)
      assert.notInclude(stderr, "    at ")
      assert.deepStrictEqual([status, stdout], [2, ""])
    }
  )
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
