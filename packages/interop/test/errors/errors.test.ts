/** The errors that the pages on troubleshooting explain. Each of them is made with real parts. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { headingOf, headings } from "../../../../scripts/errorHeadings.ts"
import { quarantines } from "../../../../scripts/packages/quarantine.ts"
import { callCases } from "./callCases.ts"
import { connectionCases } from "./connectionCases.ts"
import { hostCases } from "./hostCases.ts"
import { startCases } from "./startCases.ts"

const cases = { ...startCases, ...connectionCases, ...callCases, ...hostCases }

describe("the pages on troubleshooting", () => {
  it("have a case for each heading, and a heading for each case", () => {
    // `pnpm packages` makes the errors of package managers, because they have to be installed first.
    const made = [...Object.keys(cases), ...quarantines.map(({ heading }) => heading)]
    assert.sameMembers([...headings], made)
  })

  it.live.each(Object.entries(cases))("%s", ([heading, made]) =>
    Effect.gen(function*() {
      const text = yield* Effect.scoped(made)
      assert.strictEqual(headingOf(text), heading, text)
    }))
})
