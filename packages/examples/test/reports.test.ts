/** Reports that one process starts and another one collects (`reports.ts`, `reportClient.ts`). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"

// The client starts the server beside it.
const [client] = await Promise.all(
  [Child.file("../../src/reportClient.ts"), Child.file("../../src/reports.ts")].map(joinedProgram)
)

/** A folder that is removed when the scope closes. */
const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(tmpdir(), "reports-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

const Report = Schema.fromJsonString(Schema.Struct({ year: Schema.Int, chapters: Schema.Array(Schema.String) }))

/** Starts the client with these words. */
const start = (folder: string, ...words: ReadonlyArray<string>) =>
  Child.program(process.execPath, [client ?? "", ...words], {
    ...Child.environment,
    REPORTS: folder,
    SECONDS: "0.5"
  })

/** Runs the client to its end, and returns what it has printed. */
const run = Effect.fnUntraced(function*(folder: string, ...words: ReadonlyArray<string>) {
  const { exited } = yield* start(folder, ...words)
  const { exitCode, stderr, stdout } = yield* exited
  assert.strictEqual(exitCode, 0, stdout + stderr)
  return { stderr, stdout: stdout.trim() }
})

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

describe("reports.ts", () => {
  it.live("a report that one process starts is written and collected by others", () =>
    Effect.gen(function*() {
      const reports = yield* folder
      const { stdout: started } = yield* run(reports, "start", "2025")
      const id = started.replace("started ", "")
      assert.match((yield* run(reports, "list")).stdout, new RegExp(`^${id} report of [^ ]+: working$`))
      const { stderr, stdout } = yield* run(reports, "collect")
      const report = Schema.decodeUnknownSync(Report)(stdout)
      assert.strictEqual(report.year, 2025)
      assert.deepStrictEqual(report.chapters.map((chapter) => chapter.split(" of ")[0]), [
        "income",
        "costs",
        "people",
        "plans",
        "risks",
        "outlook"
      ])
      assert.include(stderr, "writes about outlook")
      assert.include(stderr, "completed")
      assert.strictEqual((yield* run(reports, "collect")).stdout, "nothing was started, or all of it was collected")
    }), timeout)

  it.live(
    "a report goes on after kill −9 of the client that collects it, and of its server",
    () =>
      Effect.gen(function*() {
        const reports = yield* folder
        yield* run(reports, "start")
        const first = yield* start(reports, "collect")
        yield* Child.until(() => /writes about (?!income)/.test(first.stderr()))
        // The server ends when its client is gone.
        process.kill(first.pid, "SIGKILL")
        yield* first.exited
        const { chapters } = Schema.decodeUnknownSync(Report)((yield* run(reports, "collect")).stdout)
        const writers = new Set(chapters.map((chapter) => chapter.split(" by process ")[1]))
        // What the first one has written was not written again.
        assert.strictEqual(chapters.length, 6)
        assert.isAtLeast(writers.size, 2)
      }),
    timeout
  )

  it.live("an unknown command is explained", () =>
    Effect.gen(function*() {
      assert.include((yield* run(yield* folder, "help")).stderr, "usage: reportClient.ts start [year] | list | collect")
    }), timeout)
})
