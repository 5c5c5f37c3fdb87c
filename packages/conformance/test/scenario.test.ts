import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { final, newest } from "../src/suite/release.ts"
import { scenarios } from "../src/suite/scenario.ts"

/** Returns the server and client scenarios by which the suite scores an implementation of a revision. */
const scored = (revision: string): ReadonlyArray<string> => {
  const listing = execFileSync(process.execPath, [newest.program, "list", "--requirements", revision], {
    encoding: "utf8"
  })
  const [list = ""] = listing.split("Run and reported")
  return Array.from(list.matchAll(/^ {2}- (\S+)$/gm), ([, name = ""]) => name)
}

describe("scenarios", () => {
  const all = scenarios(newest)

  for (const tested of ["2025-11-25", "2026-07-28"]) {
    it(`include all scored scenarios of ${tested}`, () => {
      const names = new Set(all.filter(({ revision }) => revision === tested).map(({ name }) => name))
      const wanted = scored(tested)
      assert.isNotEmpty(wanted)
      assert.isEmpty(wanted.filter((name) => !names.has(name)))
    })
  }

  it("run at their revisions", () => {
    const revisionsOf = (wanted: string) => all.filter(({ name }) => name === wanted).map(({ revision }) => revision)
    assert.deepStrictEqual(revisionsOf("server-session-lifecycle"), ["2025-11-25", "2025-06-18", "2025-03-26"])
    assert.deepStrictEqual(revisionsOf("ping"), ["2025-11-25", "2025-06-18"])
    assert.deepStrictEqual(revisionsOf("dns-rebinding-protection"), ["2026-07-28", "2025-11-25"])
    assert.deepStrictEqual(revisionsOf("server-stateless"), ["2026-07-28"])
    assert.deepStrictEqual(revisionsOf("tasks-lifecycle"), ["2026-07-28"])
    assert.deepStrictEqual(revisionsOf("auth/dpop"), ["2026-07-28"])
    assert.deepStrictEqual(revisionsOf("auth/2025-03-26-oauth-endpoint-fallback"), ["2025-03-26"])
  })

  it("are listed by the final release as well", () => {
    const older = scenarios(final)
    const sidesOf = (wanted: string) =>
      older.filter(({ name, revision }) => name === wanted && revision === "2025-11-25").map(({ side }) => side)
    assert.deepStrictEqual(sidesOf("ping"), ["server"])
    assert.deepStrictEqual(sidesOf("sse-retry"), ["client"])
    // A draft and an extension of that time.
    assert.deepStrictEqual(sidesOf("auth/resource-mismatch"), ["client"])
    assert.deepStrictEqual(sidesOf("auth/cross-app-access-complete-flow"), ["client"])
  })
})
