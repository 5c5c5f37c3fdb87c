import { assert, describe, it } from "@effect/vitest"
import { UsageError } from "../../../scripts/commandLine.ts"
import * as Part from "../src/Part.ts"
import { parse } from "../src/settings.ts"

const part = (name: string, servers: ReadonlyArray<string>): Part.Part =>
  Part.make({ name, measures: name, servers, measure: async () => 0, report: () => [] })

const parts = [
  part("memory", []),
  part("http-calls", ["official v1", "ours"]),
  part("http-idle", ["ours"]),
  part("httpd", ["other"])
]

const chosen = (...args: ReadonlyArray<string>): ReadonlyArray<string> =>
  parse(args, parts).parts.map(({ name }) => name)

describe("pnpm bench", () => {
  it("measures all parts without a name, and otherwise those with a name in their own order", () => {
    assert.deepStrictEqual(chosen(), ["memory", "http-calls", "http-idle", "httpd"])
    assert.deepStrictEqual(chosen("http-idle", "memory"), ["memory", "http-idle"])
  })

  it("measures all parts that continue a name after a hyphen", () => {
    assert.deepStrictEqual(chosen("http"), ["http-calls", "http-idle"])
  })

  it("leaves out parts without a server of --servers", () => {
    const { leftOut, parts: found } = parse(["--servers", "official"], parts)
    assert.deepStrictEqual(found.map(({ name }) => name), ["http-calls"])
    assert.deepStrictEqual(leftOut.map(({ name }) => name), ["memory", "http-idle", "httpd"])
    assert.throws(() => parse(["http-idle", "--servers", "official"], parts), UsageError)
  })
})
