import { assert, describe, it } from "@effect/vitest"
import type { ExpectedFailure } from "../src/suite/baseline.ts"
import type { Check } from "../src/suite/check.ts"
import { newest } from "../src/suite/release.ts"
import type { Scenario } from "../src/suite/scenario.ts"
import { remarks, table } from "../src/suite/table.ts"
import { judge, withoutScenario } from "../src/suite/verdict.ts"

const ping: Scenario = { side: "server", name: "ping", release: newest, revision: "2025-11-25", isExtension: false }

const check = (id: string, status: Check["status"], errorMessage?: string): Check =>
  errorMessage === undefined ? { id, status } : { id, status, errorMessage }

const expected = (more?: Partial<ExpectedFailure>): ExpectedFailure => ({
  side: "server",
  scenario: "ping",
  check: "slow",
  reason: "it sleeps",
  ...more
})

describe("judge", () => {
  it("has no problems if a check passed and none failed", () => {
    const checks = [check("answers", "SUCCESS"), check("info", "INFO"), check("later", "SKIPPED")]
    assert.deepStrictEqual(judge({ scenario: ping, checks }, []), {
      scenario: ping,
      passed: 1,
      failed: 0,
      warnings: 0,
      unexpected: [],
      expected: [],
      stale: []
    })
  })

  it("treats warnings as failures", () => {
    const { failed, unexpected, warnings } = judge({
      scenario: ping,
      checks: [check("answers", "SUCCESS"), check("slow", "WARNING", "5 seconds"), check("wrong", "FAILURE")]
    }, [])
    assert.deepStrictEqual([failed, warnings], [1, 1])
    assert.deepStrictEqual(unexpected, [
      { check: "slow", message: "5 seconds" },
      { check: "wrong", message: "FAILURE" }
    ])
  })

  it("rejects a scenario that checked nothing or did not run", () => {
    const none = [{ check: "none", message: "the suite checked nothing" }]
    assert.deepStrictEqual(judge({ scenario: ping, checks: [check("info", "INFO")] }, []).unexpected, none)
    assert.deepStrictEqual(judge({ scenario: ping, checks: undefined }, []).unexpected, none)
  })

  it("reports the last output of a program that failed", () => {
    const { unexpected } = judge({ scenario: ping, checks: [check("answers", "SUCCESS")], failure: "exit 3" }, [])
    assert.deepStrictEqual(unexpected, [{ check: "exit", message: "exit 3" }])
  })

  it("excepts only the check that the baseline names", () => {
    const checks = [check("slow", "WARNING"), check("wrong", "FAILURE")]
    const verdict = judge({ scenario: ping, checks }, [expected()])
    assert.deepStrictEqual(verdict.expected, [expected()])
    assert.deepStrictEqual(verdict.unexpected.map(({ check }) => check), ["wrong"])
    assert.isEmpty(verdict.stale)
  })

  it("excepts a check only for the side, scenario, release and revision of the baseline", () => {
    for (
      const elsewhere of [
        expected({ side: "client" }),
        expected({ scenario: "pong" }),
        expected({ release: "0.1.16" }),
        expected({ revision: "2025-06-18" })
      ]
    ) {
      const verdict = judge({ scenario: ping, checks: [check("slow", "FAILURE")] }, [elsewhere])
      assert.lengthOf(verdict.unexpected, 1)
      assert.isEmpty(verdict.stale)
      assert.deepStrictEqual(withoutScenario([ping], [elsewhere]), [elsewhere])
    }
    const here = expected({ release: newest.version, revision: "2025-11-25" })
    assert.isEmpty(judge({ scenario: ping, checks: [check("slow", "FAILURE")] }, [here]).unexpected)
    assert.isEmpty(withoutScenario([ping], [here]))
  })

  it("reports an expected failure that does not occur", () => {
    const { stale } = judge({ scenario: ping, checks: [check("slow", "SUCCESS")] }, [expected()])
    assert.deepStrictEqual(stale, [expected()])
  })
})

describe("the table", () => {
  const verdicts = [
    judge({ scenario: ping, checks: [check("slow", "WARNING")] }, [expected()]),
    judge({ scenario: { ...ping, name: "tools" }, checks: [check("wrong", "FAILURE", "oh")] }, []),
    judge({ scenario: { ...ping, revision: "2025-06-18" }, checks: [check("slow", "SUCCESS")] }, [expected()])
  ]

  it("has a line for each scenario", () => {
    assert.deepStrictEqual(table(verdicts).split("\n").map((line) => line.split(/ {2,}/)), [
      ["scenario", "side", "revision", "suite", "passed", "failed", "warnings"],
      ["ping", "server", "2025-11-25", newest.version, "0", "0", "1", "as expected"],
      ["tools", "server", "2025-11-25", newest.version, "0", "1", "0", "FAILED"],
      ["ping", "server", "2025-06-18", newest.version, "1", "0", "0", "STALE"]
    ])
  })

  it("is followed by remarks", () => {
    assert.deepStrictEqual(remarks(verdicts), [
      `expected: server ping at 2025-11-25 (${newest.version}): slow: it sleeps`,
      `FAILED: server tools at 2025-11-25 (${newest.version}): wrong: oh`,
      `STALE: server ping at 2025-06-18 (${newest.version}): slow no longer fails; remove it from the baseline`
    ])
  })
})
