import { assert, it } from "@effect/vitest"
import * as path from "node:path"
import * as Mistakes from "../../../scripts/mistakes.ts"

it("each mistake is a compile error that names its cause, at its own line", async () => {
  const { expected, reports } = await Mistakes.compare(path.join(import.meta.dirname, "fixtures/mistakes.ts.txt"))
  assert.isAbove(expected.length, 5)
  assert.deepStrictEqual([...reports.keys()], expected.map(({ line }) => line), [...reports.values()].join("\n"))
  for (const { line, message } of expected) assert.include(reports.get(line), message)
}, 60_000)
