import { assert, describe, it } from "@effect/vitest"
import { chart } from "../src/chart.ts"
import * as Dice from "../src/Dice.ts"
import type { Sample } from "../src/Sample.ts"
import { table } from "../src/table.ts"
import { judge } from "../src/verdict.ts"

const mebibyte = 1024 * 1024

/** What a heap does that is well: it grows while code is compiled, and then goes up and down a little. */
const quiet = (dice: Dice.Dice) => (sessions: number) =>
  40 * mebibyte - 8 * mebibyte / (1 + sessions / 100) + (dice.next() - 0.5) * 100_000

const samplesOf = (heap: (sessions: number) => number, fibers: (sessions: number) => number = () => 3) =>
  Array.from({ length: 41 }, (_, round): Sample => ({
    sessions: round * 500,
    seconds: round,
    counts: { fibers: fibers(round * 500) },
    levels: { "heap used": heap(round * 500) },
    shown: { "resident set": 1 }
  }))

const verdictOn = (samples: ReadonlyArray<Sample>) => judge({ samples, failures: [], warnings: [] })

describe("a verdict", () => {
  it("lets a heap be that stays as it is", () => {
    for (let seed = 0; seed < 50; seed++) {
      assert.deepStrictEqual(verdictOn(samplesOf(quiet(Dice.make(seed)))).complaints, [])
    }
  })

  it("finds a leak of 1 KiB for each session at the size that is usual", () => {
    for (let seed = 0; seed < 50; seed++) {
      const heap = quiet(Dice.make(seed))
      const { complaints } = verdictOn(samplesOf((sessions) => heap(sessions) + 1024 * sessions))
      assert.strictEqual(complaints.length, 1)
      assert.match(complaints[0] ?? "", /^heap used grows by 10\d\d\.\d for each session/)
    }
  })

  it("finds one object for each session, whatever size it has", () => {
    const samples = samplesOf(quiet(Dice.make(1))).map((sample): Sample => ({
      ...sample,
      levels: { ...sample.levels, objects: 60_000 + sample.sessions }
    }))
    assert.match(verdictOn(samples).complaints.join(), /^objects grows by 1\.0 for each session/)
  })

  it("does not judge growth by fewer samples than that takes", () => {
    const few = verdictOn(samplesOf((sessions) => mebibyte * sessions).slice(0, 5))
    assert.deepStrictEqual([few.isGrowthJudged, few.complaints], [false, []])
    assert.match(table(few).split("\n")[2] ?? "", /not judged +\|$/)
    assert.isTrue(verdictOn(samplesOf(quiet(Dice.make(1)))).isGrowthJudged)
  })

  it("does not take a heap that falls, or rises once, for one that leaks", () => {
    const heap = quiet(Dice.make(1))
    assert.deepStrictEqual(verdictOn(samplesOf((sessions) => heap(sessions) - 300 * sessions)).complaints, [])
    assert.deepStrictEqual(
      verdictOn(samplesOf((sessions) => heap(sessions) + (sessions > 15_000 ? 5 * mebibyte : 0))).complaints,
      []
    )
  })

  it("[law 2] wants every count to be what it was, after each round", () => {
    const one = verdictOn(samplesOf(quiet(Dice.make(1)), (sessions) => sessions === 1500 ? 4 : 3))
    assert.deepStrictEqual(one.complaints, ["left behind after 1500 sessions: fibers: 3 before, 4 now"])
    assert.isFalse(one.judged.find(({ quantity }) => quantity === "fibers")?.isGood)
  })

  it("complains of endings that were not as expected, and of warnings", () => {
    const { complaints } = judge({
      samples: samplesOf(quiet(Dice.make(1))),
      failures: [{ subject: "memory", ending: "leave", client: "client-1", problem: "it did not" }],
      warnings: ["Warn: oh"]
    })
    assert.deepStrictEqual(complaints, ["memory, leave (client-1): it did not", "logged: Warn: oh"])
  })

  it("is drawn and put into a table, a row for each quantity", () => {
    const samples = samplesOf(quiet(Dice.make(1)), (sessions) => sessions === 20_000 ? 4 : 3)
    const verdict = verdictOn(samples)
    const rows = table(verdict).split("\n")
    assert.strictEqual(rows.length, 5)
    assert.match(rows[2] ?? "", /^\| heap used +\| 32\.\d\d MiB .* good +\|$/)
    assert.match(rows[3] ?? "", /^\| fibers .* NOT AS BEFORE \|$/)
    assert.match(rows[4] ?? "", /^\| resident set .* not judged +\|$/)
    const drawing = chart(samples, verdict)
    for (const { quantity } of verdict.judged) assert.include(drawing, `>${quantity}</text>`)
    assert.strictEqual(drawing.match(/<polyline /g)?.length, 3)
    assert.strictEqual(drawing.match(/ per 1,000<\/text>/g)?.length, 3)
    assert.notMatch(drawing, /NaN|undefined|Infinity/)
  })
})
