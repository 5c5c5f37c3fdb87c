/** One handler behaves the same with clients of both eras. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as EraRun from "../../src/eras/EraRun.ts"
import { arbitrary } from "../../src/eras/Generator.ts"
import * as Script from "../../src/eras/Script.ts"
import * as Search from "../../src/eras/Search.ts"
import type { Trial } from "../../src/eras/Trial.ts"

const trial = (script: Script.Script, options: Partial<Trial> = {}): Trial => ({
  form: "OneStream",
  interleaving: "Fair",
  faults: { delay: 0, split: false, merge: false, duplicate: false, drop: false, truncate: false, reorder: false },
  seed: 1,
  calls: 1,
  hasModel: true,
  ...options,
  script
})

const asking = (topic: "A" | "B" | "C"): Extract<Script.Step, { readonly _tag: "Ask" }> => ({
  _tag: "Ask",
  method: "elicitation/create",
  topic,
  quotes: false,
  hasKey: false
})

const log: Extract<Script.Step, { readonly _tag: "Log" }> = { _tag: "Log", topic: "a", level: "warning" }

describe("a handler", () => {
  for (let portion = 0; portion < 5; portion++) {
    it.effect(`behaves the same in both eras (part ${portion + 1})`, () =>
      Effect.gen(function*() {
        const found = yield* Search.run({ runs: 100, seed: `tests ${portion}` })
        assert.isUndefined(found, found === undefined ? "" : Search.describe(found))
      }), { timeout: 60_000 })
  }

  it.live("behaves the same in both eras, on a real clock and with real promises", () =>
    Effect.gen(function*() {
      const found = yield* Search.runLive({ runs: 30, seed: "live" })
      assert.isUndefined(found, found === undefined ? "" : Search.describe(found))
    }), { timeout: 60_000 })
})

describe("generated scripts", () => {
  it.effect("have every kind of step, several rounds, and ends of every kind", () =>
    Effect.gen(function*() {
      const drawn = yield* Arbitrary.sampleEffect(arbitrary, { count: 300, seed: 1 })
      const kinds = new Set(drawn.flatMap(({ script }) => Script.flatten(script).map(({ _tag }) => _tag)))
      assert.strictEqual(kinds.size, 17)
      const missing = new Set(["0 rounds", "1 rounds", "2 rounds", "5 rounds", "result", "error"])
      for (const one of drawn) {
        const { ends, journal } = EraRun.observeVirtually(one, "2026-07-28")
        for (const runs of journal.runs.values()) missing.delete(`${runs - 1} rounds`)
        for (const end of ends) missing.delete(end.startsWith("failed") ? "error" : "result")
        if (missing.size === 0) break
      }
      assert.deepStrictEqual([...missing], [])
    }), { timeout: 60_000 })
})

describe("a script in which a law was broken", () => {
  const found: ReadonlyArray<readonly [what: string, trial: Trial]> = [
    [
      "a log message after the cut was counted, and not sent by the next run",
      trial([{ _tag: "Recover", by: "catchCause", body: [asking("A")] }, log])
    ],
    [
      "a log message was lost, and another one was sent twice, because branches logged in another order",
      trial([{
        _tag: "All",
        concurrency: "unbounded",
        branches: [
          [asking("A"), { ...log, topic: "b" }],
          [log, asking("B")]
        ]
      }])
    ],
    [
      "a call failed because another branch than before was the first to ask",
      trial([{
        _tag: "All",
        concurrency: "unbounded",
        branches: (["elicitation/create", "sampling/createMessage"] as const).map((method) => [
          { _tag: "Microtask", times: 30 },
          { _tag: "Sleep", millis: 1, varies: false },
          { ...asking("A"), method }
        ])
      }], { interleaving: "Random", seed: 268_314, calls: 2 })
    ],
    [
      "progress of a finalizer was sent when the run was cut, and hid that of the next run",
      trial([{
        _tag: "Ensuring",
        body: [asking("A"), { _tag: "Progress", value: 3 }],
        finalizer: [{ _tag: "Progress", value: 9 }]
      }])
    ]
  ]
  for (const [what, one] of found) {
    it(what, () => assert.deepStrictEqual(Search.judge(one), []))
  }
})
