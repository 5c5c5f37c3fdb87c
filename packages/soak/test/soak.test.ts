/** The soak in separate processes, because only these show which resources are left. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import { childFile, childVariable, expiryFile, expiryVariable } from "../src/childProgram.ts"
import { subjects } from "../src/subjects.ts"
import { places } from "../src/supervised/places.ts"

const program = await joinedProgram(fileURLToPath(new URL("../src/main.ts", import.meta.url)))

const childServer = await joinedProgram(childFile)

const expiryProgram = await joinedProgram(expiryFile)

interface Report {
  readonly samples: ReadonlyArray<{
    readonly counts: Readonly<Record<string, number>>
    readonly shown: Readonly<Record<string, number>>
  }>
  readonly sessionsByEnding: Readonly<Record<string, number>>
  readonly verdict: { readonly problems: ReadonlyArray<string> }
}

interface Run {
  readonly exitCode: number
  readonly report: Report
  readonly chart: string
  readonly output: string
}

/** Runs the soak with arguments, and reads the files that it has written. */
const soak = (...args: ReadonlyArray<string>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "soak-"))),
    (out) =>
      Effect.callback<Run>((resume) => {
        const child = execFile(
          process.execPath,
          [
            "--expose-gc",
            "--no-flush-bytecode",
            "--disable-warning=ExperimentalWarning",
            program,
            "--out",
            out,
            ...args
          ],
          { env: { ...process.env, [childVariable]: childServer, [expiryVariable]: expiryProgram } },
          (error, output) => {
            const report: Report = JSON.parse(readFileSync(join(out, "soak.json"), "utf8"))
            const chart = readFileSync(join(out, "soak.svg"), "utf8")
            resume(Effect.succeed({ exitCode: error === null ? 0 : Number(error.code), report, chart, output }))
          }
        )
        return Effect.sync(() => child.kill())
      }),
    (out) => Effect.sync(() => rmSync(out, { recursive: true, force: true }))
  )

/** The timeout of a test. The processes share the cores; the soak itself detects a session that hangs after 30 s. */
const testTimeout = 180_000

/**
 * The arguments of the runs with a leak and without. Two thirds of the sessions are judged. If each of these leaves an
 * object and 1 KiB, they exceed the allowances of the verdict by a third.
 */
const leakArguments = [
  "--only",
  "memory",
  "--ending",
  "client-close",
  "--ending",
  "scope-close",
  "--sessions",
  "2000",
  "--rounds",
  "9"
]

describe.concurrent("a soak", () => {
  it.live(
    "[law 2] leaves nothing of any session, and both sides report the expected reason",
    () =>
      Effect.gen(function*() {
        const { chart, exitCode, report, output } = yield* soak("--sessions", "200", "--rounds", "1", "--seed", "11")
        assert.deepStrictEqual(report.verdict.problems, [], output)
        assert.strictEqual(exitCode, 0)
        for (const { endings, name } of subjects) {
          for (const ending of Object.keys(endings)) {
            assert.isAtLeast(report.sessionsByEnding[`${name}: ${ending}`] ?? 0, 1)
          }
        }
        const [before, after] = report.samples
        assert.deepStrictEqual(after?.counts, before?.counts)
        assert.include(chart, ">heap used</text>")
      }),
    testTimeout
  )

  it.live(
    "[law 2] leaves nothing of supervised clients whose servers are killed and started again",
    () =>
      Effect.gen(function*() {
        const { exitCode, report, output } = yield* soak("--supervised", "196", "--rounds", "1", "--seed", "3")
        assert.deepStrictEqual(report.verdict.problems, [], output)
        assert.strictEqual(exitCode, 0)
        for (const { name } of places) assert.isAtLeast(report.sessionsByEnding[`${name}: restart`] ?? 0, 4)
        const [before, after] = report.samples
        assert.deepStrictEqual(after?.counts, before?.counts)
      }),
    testTimeout
  )

  it.live("passes without a leak", () =>
    Effect.gen(function*() {
      const { exitCode, report, output } = yield* soak(...leakArguments)
      assert.deepStrictEqual(report.verdict.problems, [], output)
      assert.strictEqual(exitCode, 0)
    }), testTimeout)

  it.live("finds a leak of 1 KiB for each session", () =>
    Effect.gen(function*() {
      const { exitCode, report } = yield* soak(...leakArguments, "--leak", "1024")
      assert.strictEqual(exitCode, 1)
      assert.match(report.verdict.problems.join("\n"), /^heap used grows by 1\d\d\d\.\d for each session/m)
      assert.match(report.verdict.problems.join("\n"), /^objects grows by 1\.\d for each session/m)
    }), testTimeout)

  it.live(
    "[law 2] leaves nothing of tasks that have ended in every way, and expired",
    () =>
      Effect.gen(function*() {
        const { exitCode, report, output } = yield* soak("--tasks", "100", "--rounds", "1")
        assert.deepStrictEqual(report.verdict.problems, [], output)
        assert.strictEqual(exitCode, 0)
        assert.deepStrictEqual(report.sessionsByEnding, { "2025-11-25: task": 50, "2026-07-28: task": 50 })
        const [before, after] = report.samples
        assert.strictEqual(after?.counts["tasks: stored"], 0)
        assert.deepStrictEqual(after?.counts, before?.counts)
      }),
    testTimeout
  )

  it.live(
    "[law 2] leaves nothing of programs in three processes whose tokens expire, and refreshes each token once",
    () =>
      Effect.gen(function*() {
        const { exitCode, report, output } = yield* soak("--expiries", "100", "--rounds", "1")
        assert.deepStrictEqual(report.verdict.problems, [], output)
        assert.strictEqual(exitCode, 0)
        assert.deepStrictEqual(report.sessionsByEnding, { "files: expiry": 50, "sqlite: expiry": 50 })
        const [before, after] = report.samples
        assert.deepStrictEqual(after?.counts, before?.counts)
        assert.strictEqual(after?.shown["windows"], 10)
        assert.isAtLeast(after?.shown["refreshes"] ?? 0, 100)
        assert.isAtLeast(after?.shown["calls"] ?? 0, 100)
      }),
    testTimeout
  )
})
