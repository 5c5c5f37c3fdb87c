/** The type of examples of revision projections, and their tests. */
import { Revision, RevisionProjection } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { assertAccepted } from "../official.ts"
import { assertInSchema } from "../officialSchemas.ts"
import { misreadBy, unknownTo } from "../revisions.ts"
import { type Part, parts } from "../table.ts"
import { frozen } from "../wire.ts"

/**
 * One value in all revisions, from the newest to the oldest. A revision without an entry has the value of the next
 * newer revision.
 */
interface InRevisions {
  readonly "2025-11-25": unknown
  readonly "2025-06-18"?: unknown
  readonly "2025-03-26"?: unknown
  readonly "2024-11-05"?: unknown
}

export interface Example {
  readonly name: string
  readonly method: Part["method"]
  readonly part: Part["part"]
  /** Embeds the value in its message. */
  readonly within?: (value: unknown) => unknown
  /** The strict form: without members that later revisions introduced. */
  readonly revisions: InRevisions
  /**
   * The tolerant form: the newest value in all revisions (the default), the same as `revisions`, or a form in between.
   */
  readonly tolerant?: "as strict" | Omit<InRevisions, "2025-11-25">
}

export const icons = [{ src: "https://example.com/a.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }]
export const meta = { "acme/a": 1 }
export const lastModified = "2025-01-12T15:00:58Z"
export const schema = {
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  title: "T",
  default: {}
}
export const textBlock = (text: string) => ({ type: "text", text })

/** A form elicitation with this field and another one. */
export const inForm = (field: unknown) => ({
  message: "",
  requestedSchema: { type: "object", properties: { first: field, other: { type: "string" } }, required: ["first"] }
})

/**
 * Tests that each value has the expected form in each revision, and that this form is valid in the revision.
 */
export const testExamples = (examples: ReadonlyArray<Example>): void => {
  describe.each(examples)("$name", ({ method, part, revisions, tolerant = {}, within = (value) => value }) => {
    const newest = frozen(within(revisions["2025-11-25"]))
    const row = parts.find((row) => row.method === method && row.part === part)
    const forms = [
      ["[INIT-12] [INIT-13] strict: has only members of each revision", revisions, "strict", unknownTo],
      [
        "tolerant: has no member that a reader of each revision misreads",
        tolerant === "as strict" ? revisions : tolerant,
        "tolerant",
        misreadBy
      ]
    ] as const

    it.each(forms)("%s", (_, given: Partial<InRevisions>, projection, problems) => {
      let last: unknown = revisions["2025-11-25"]
      for (const revision of Revision.legacy.toReversed()) {
        last = revision === "2025-11-25" ? last : given[revision] ?? last
        const projected = RevisionProjection.project(method, part, revision, newest, projection)
        assert.deepStrictEqual(projected, within(last), revision)
        assert.strictEqual(RevisionProjection.project(method, part, revision, projected, projection), projected)
        if (row === undefined || !Revision.isAtLeast(revision, row.since)) continue
        assert.deepStrictEqual(problems(revision, method, part, projected), [])
        assertInSchema(revision, method, part, projected)
        assertAccepted(method, part, projected)
      }
    })
  })
}
