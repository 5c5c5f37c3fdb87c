/** Examples of what each revision makes of a value, and how they are tested. */
import { Differences, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { assertAccepted } from "../official.ts"
import { unknownTo } from "../revisions.ts"
import { type Part, parts } from "../table.ts"
import { frozen } from "../wire.ts"

/**
 * One value in all revisions, from the newest to the oldest; where a revision is not named, it is as in the newer one.
 */
export interface Example {
  readonly name: string
  readonly method: Part["method"]
  readonly part: Part["part"]
  /** Puts the value where it stands in the message. */
  readonly within?: (value: unknown) => unknown
  readonly revisions: {
    readonly "2025-11-25": unknown
    readonly "2025-06-18"?: unknown
    readonly "2025-03-26"?: unknown
    readonly "2024-11-05"?: unknown
  }
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
export const words = (text: string) => ({ type: "text", text })

/** A form in which this is one of two fields. */
export const inForm = (field: unknown) => ({
  message: "",
  requestedSchema: { type: "object", properties: { first: field, other: { type: "string" } }, required: ["first"] }
})

/** Tests that each value comes to what it shall in each revision, and that it is then a value of that revision. */
export const hold = (examples: ReadonlyArray<Example>): void => {
  describe.each(examples)("$name", ({ method, part, revisions, within = (value) => value }) => {
    const newest = frozen(within(revisions["2025-11-25"]))
    const row = parts.find((row) => row.method === method && row.part === part)
    let last: unknown = revisions["2025-11-25"]
    const inAll = Revision.supported.toReversed().map((revision) => {
      last = revisions[revision] ?? last
      return [revision, within(last)] as const
    })

    it.each(inAll)("[INIT-12] [INIT-13] in %s", (revision, value) => {
      const projected = Differences.project(method, part, revision, newest)
      assert.deepStrictEqual(projected, value)
      assert.strictEqual(Differences.project(method, part, revision, projected), projected)
      if (row === undefined || !Revision.isAtLeast(revision, row.since)) return
      assert.deepStrictEqual(unknownTo(revision, method, part, projected), [])
      assertAccepted(method, part, projected)
    })
  })
}
