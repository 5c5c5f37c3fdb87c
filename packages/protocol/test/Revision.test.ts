import { Revision } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { inheritedNames } from "./wire.ts"

it("[INIT-03] the supported revisions are sorted by date, and the latest is the last", () => {
  assert.deepStrictEqual([...Revision.supported], Revision.supported.toSorted())
  assert.strictEqual(Revision.supported.at(-1), Revision.latest)
  for (const revision of Revision.supported) assert.match(revision, /^\d{4}-\d{2}-\d{2}$/)
})

it("[INIT-04] every supported revision is recognized, and similar strings are not", () => {
  for (const revision of Revision.supported) {
    assert.isTrue(Revision.isRevision(revision))
    assert.isFalse(Revision.isRevision(`${revision} `))
    assert.isFalse(Revision.isRevision(revision.slice(1)))
  }
  // 2024-10-07 was never published.
  for (const other of ["2024-10-07", "DRAFT-2026-v1", ...inheritedNames]) {
    assert.isFalse(Revision.isRevision(other))
  }
})

it.prop(
  "[INIT-05] any other string is not a revision",
  [Schema.String],
  ([text]) => assert.strictEqual(Revision.isRevision(text), Revision.supported.some((revision) => revision === text)),
  { arbitrary: { runs: 300 } }
)

it("a revision is at least itself and every earlier one", () => {
  for (const [index, revision] of Revision.supported.entries()) {
    for (const [sinceIndex, since] of Revision.supported.entries()) {
      assert.strictEqual(Revision.isAtLeast(revision, since), index >= sinceIndex, `${revision} since ${since}`)
    }
  }
})

it("[MSG-09] an unreadable id is null before 2025-11-25, and absent from 2025-11-25 on", () => {
  assert.deepStrictEqual(Object.keys(Revision.envelopes), [...Revision.supported])
  for (const revision of Revision.supported) {
    const expected = Revision.isAtLeast(revision, "2025-11-25") ? "absent" : "null"
    assert.strictEqual(Revision.envelopes[revision].unreadableId, expected, revision)
  }
})

it("newest returns the revision with the latest date, in any order", () => {
  assert.strictEqual(Revision.newest(["2025-06-18", "2024-11-05", "2025-03-26"]), "2025-06-18")
  assert.strictEqual(Revision.newest(["2024-11-05", "2025-03-26", "2025-06-18"]), "2025-06-18")
  assert.strictEqual(Revision.newest(["2024-11-05"]), "2024-11-05")
  assert.strictEqual(Revision.newest(Revision.supported), Revision.latest)
})

it("a revision has a handshake, or each request carries its revision", () => {
  assert.deepStrictEqual(Revision.supported.filter(Revision.isLegacy), [...Revision.legacy])
  assert.deepStrictEqual(Revision.supported.filter(Revision.isModern), [...Revision.modern])
  assert.strictEqual(Revision.legacy.at(-1), Revision.latestLegacy)
})
