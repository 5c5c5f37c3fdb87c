import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
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
  it.each([
    [["speed", "memory"], /^no part is named "speed"; the parts are startup, stdio, .*; .*\n$/],
    [["http-calls", "--servers", "nothing"], /^--servers takes a part of one of these names: .*, not "nothing"\n$/],
    [["memory", "--servers", "official"], /^--servers selects no servers of memory, which measure all of theirs\n$/]
  ])("prints one line and exits with status 2 for %j", { timeout: 60_000 }, async (args, message) => {
    const program = fileURLToPath(new URL("../src/main.ts", import.meta.url))
    const [status, stdout, stderr] = await new Promise<readonly [number | null, string, string]>((resolve) => {
      const child = execFile(process.execPath, [program, ...args], (_, stdout, stderr) => {
        resolve([child.exitCode, stdout, stderr])
      })
    })
    assert.match(stderr, message)
    assert.deepStrictEqual([status, stdout], [2, ""])
  })

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
