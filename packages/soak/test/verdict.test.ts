import { assert, describe, it } from "@effect/vitest"
import { chart } from "../src/chart.ts"
import * as Random from "../src/Random.ts"
import type { Sample } from "../src/Sample.ts"
import { table } from "../src/table.ts"
import { judge } from "../src/verdict.ts"

const mebibyte = 1024 * 1024

/** A heap without a leak: it grows while code is compiled, and then varies a little. */
const stableHeap = (random: Random.Random) => (sessions: number) =>
  40 * mebibyte - 8 * mebibyte / (1 + sessions / 100) + (random.next() - 0.5) * 100_000

const samplesOf = (heap: (sessions: number) => number, fibers: (sessions: number) => number = () => 3) =>
  Array.from({ length: 41 }, (_, round): Sample => ({
    sessions: round * 500,
    seconds: round,
    counts: { fibers: fibers(round * 500) },
    levels: { "heap used": heap(round * 500) },
    shown: { "resident set": 1 }
  }))

const verdictOf = (samples: ReadonlyArray<Sample>) => judge({ samples, failures: [], warnings: [] })

describe("a verdict", () => {
  it("accepts a stable heap", () => {
    for (let seed = 0; seed < 50; seed++) {
      assert.deepStrictEqual(verdictOf(samplesOf(stableHeap(Random.make(seed)))).problems, [])
    }
  })

  it("finds a leak of 1 KiB for each session in a run of the usual size", () => {
    for (let seed = 0; seed < 50; seed++) {
      const heap = stableHeap(Random.make(seed))
      const { problems } = verdictOf(samplesOf((sessions) => heap(sessions) + 1024 * sessions))
      assert.strictEqual(problems.length, 1)
      assert.match(problems[0] ?? "", /^heap used grows by 10\d\d\.\d for each session/)
    }
  })

  it("finds a leak of one object for each session", () => {
    const samples = samplesOf(stableHeap(Random.make(1))).map((sample): Sample => ({
      ...sample,
      levels: { ...sample.levels, objects: 60_000 + sample.sessions }
    }))
    assert.match(verdictOf(samples).problems.join(), /^objects grows by 1\.0 for each session/)
  })

  it("does not judge growth by too few samples", () => {
    const few = verdictOf(samplesOf((sessions) => mebibyte * sessions).slice(0, 5))
    assert.deepStrictEqual([few.isGrowthJudged, few.problems], [false, []])
    assert.match(table(few).split("\n")[2] ?? "", /not judged +\|$/)
    assert.isTrue(verdictOf(samplesOf(stableHeap(Random.make(1)))).isGrowthJudged)
  })

  it("accepts a heap that falls, or that rises once", () => {
    const heap = stableHeap(Random.make(1))
    assert.deepStrictEqual(verdictOf(samplesOf((sessions) => heap(sessions) - 300 * sessions)).problems, [])
    assert.deepStrictEqual(
      verdictOf(samplesOf((sessions) => heap(sessions) + (sessions > 15_000 ? 5 * mebibyte : 0))).problems,
      []
    )
  })

  it("[law 2] requires every count to return to its base after each round", () => {
    const one = verdictOf(samplesOf(stableHeap(Random.make(1)), (sessions) => sessions === 1500 ? 4 : 3))
    assert.deepStrictEqual(one.problems, ["left after 1500 sessions: fibers: 3 before, 4 now"])
    assert.isFalse(one.judged.find(({ quantity }) => quantity === "fibers")?.isGood)
  })

  it("reports unexpected endings and warnings", () => {
    const { problems } = judge({
      samples: samplesOf(stableHeap(Random.make(1))),
      failures: [{ subject: "memory", ending: "scope-close", client: "client-1", problem: "the session did not end" }],
      warnings: ["Warn: queue full"]
    })
    assert.deepStrictEqual(problems, [
      "memory, scope-close (client-1): the session did not end",
      "logged: Warn: queue full"
    ])
  })

  it("is shown as a chart and a table with a row for each quantity", () => {
    const samples = samplesOf(stableHeap(Random.make(1)), (sessions) => sessions === 20_000 ? 4 : 3)
    const verdict = verdictOf(samples)
    const rows = table(verdict).split("\n")
    assert.strictEqual(rows.length, 5)
    assert.match(rows[2] ?? "", /^\| heap used +\| 32\.\d\d MiB .* good +\|$/)
    assert.match(rows[3] ?? "", /^\| fibers .* CHANGED +\|$/)
    assert.match(rows[4] ?? "", /^\| resident set .* not judged +\|$/)
    const drawing = chart(samples, verdict)
    for (const { quantity } of verdict.judged) assert.include(drawing, `>${quantity}</text>`)
    assert.strictEqual(drawing.match(/<polyline /g)?.length, 3)
    assert.strictEqual(drawing.match(/ per 1,000<\/text>/g)?.length, 3)
    assert.notMatch(drawing, /NaN|undefined|Infinity/)
  })
})
