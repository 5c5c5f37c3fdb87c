/** Mistakes in the use of clients and servers. One run of the compiler reports those of both. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as path from "node:path"
import { standsFor, typeHeadings } from "../../../scripts/errorHeadings.ts"
import * as Mistakes from "../../../scripts/mistakes.ts"

const modules = ["client", "server"] as const

const comparisons = new Map<string, Mistakes.Comparison>()

beforeAll(async () => {
  const files = modules.map((name) => path.join(import.meta.dirname, `../../${name}/test/fixtures/mistakes.ts.txt`))
  for (const [index, comparison] of (await Mistakes.compare(files)).entries()) {
    comparisons.set(modules[index] ?? "", comparison)
  }
}, 120_000)

describe("each mistake is a compile error that names its cause, at its own line", () => {
  it.for(modules)("in a program of %s", (name) => {
    const { expected = [], reports = new Map<number, string>() } = comparisons.get(name) ?? {}
    assert.isAbove(expected.length, 5)
    assert.deepStrictEqual([...reports.keys()], expected.map(({ line }) => line), [...reports.values()].join("\n"))
    for (const { line, message } of expected) assert.include(reports.get(line), message)
  })
})

describe("the page on errors of types", () => {
  it.for(typeHeadings)("has the words of the compiler: %s", (heading) => {
    const lines = [...comparisons.get("server")?.reports.values() ?? []].flatMap((report) => report.split("\n"))
    const texts = lines.map((line) => line.replace(/^.*?: error TS\d+: /, "").trim())
    assert.isTrue(texts.some((text) => standsFor(heading, text)), "no mistake of server/test/fixtures has this error")
  })
})
