import { assert, describe, it } from "@effect/vitest"
import * as Report from "../src/ReportElement.ts"

const report: Report.Report = [
  Report.text("A sentence."),
  Report.costs([["µs", ""], ["one", "1"]]),
  Report.table([["ratio", "a|b"], ["one", "2"]]),
  Report.chart("file", "title", "<svg/>")
]

describe("a report", () => {
  it("has texts and tables in the terminal", () => {
    assert.strictEqual(Report.toText(report), "A sentence.\n\nµs\none   1\n\nratio   a|b\none       2")
  })

  it("has texts, tables of ratios and charts on the page", () => {
    assert.strictEqual(
      Report.toMarkdown(report, "charts"),
      "A sentence.\n\n| ratio | a\\|b |\n| --- | --- |\n| one | 2 |\n\n![title](charts/file.svg)"
    )
  })
})
