import { assert, describe, it } from "@effect/vitest"
import * as ProcessGroup from "../../../src/internal/stdio/ProcessGroup.ts"

describe("the status of a process", () => {
  for (
    const [line, expected] of [
      ["17 (node) S 1 17 17 0 -1", { group: 17, hasEnded: false }],
      ["18 (sleep) Z 1 17 17 0 -1", { group: 17, hasEnded: true }],
      ["19 (a) b) R (c) X 1 5 17 0 -1", { group: 5, hasEnded: true }],
      ["20 (x) Z 1 1 Z) D 1 9 9 0 -1", { group: 9, hasEnded: false }]
    ] as const
  ) {
    it(`is read from the text after the program name: ${line}`, () => {
      assert.deepStrictEqual(ProcessGroup.statusOf(line), expected)
    })
  }
})
