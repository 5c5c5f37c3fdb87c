/** The sentences that a release to the registry of npm makes wrong. */
import { assert, it } from "@effect/vitest"
import * as Claims from "../release/claims.ts"

it("finds each line that says that the packages are not on npm yet, and no other", () => {
  const text = [
    "**The packages are not on npm yet.** Until then, clone it.",
    "A change is not on npm before its release, and not yet in the changelog.",
    "| published on npm      | [not yet](versions.md) | [yes](https://example.com) |",
    "| published on npm      | [yes](versions.md)     | not yet                    |"
  ].join("\n")
  assert.deepStrictEqual(Claims.unpublished([{ file: "README.md", text }]), ["README.md:1", "README.md:3"])
})
