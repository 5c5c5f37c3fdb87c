import { assert, describe, it } from "@effect/vitest"
import * as Parts from "../packages/parts.ts"

const part = (name: string, run: Parts.Part["run"] = async () => name): Parts.Part => ({ name, run })

const parts = [part("npm"), part("yarn pnp"), part("yarn 1"), part("typescript 5.8")]

const selected = (...only: ReadonlyArray<string>): ReadonlyArray<string> =>
  Parts.select(parts, only).map(({ name }) => name)

describe("the parts of a check", () => {
  it("are all selected without --only, and otherwise those whose names begin with a value, in their own order", () => {
    assert.deepStrictEqual(Parts.select(parts, undefined), parts)
    assert.deepStrictEqual(selected("typescript", "yarn"), ["yarn pnp", "yarn 1", "typescript 5.8"])
    assert.deepStrictEqual(selected("pnp"), [])
  })

  it("run to the last one when one fails, and the table has the first line of its failure", async () => {
    const shown: Array<unknown> = []
    const failure = new Error("deno 2.9.6 cannot be installed\nits output")
    const results = await Parts.runAll(
      [part("bun", async () => "answers\nwith 2 entries"), part("deno", () => Promise.reject(failure)), part("npm")],
      { begin: (name) => shown.push(name), fail: (reason) => shown.push(reason) }
    )
    assert.deepStrictEqual(shown, ["bun", "deno", failure, "npm"])
    assert.deepStrictEqual(Parts.table(results).split("\n"), [
      "bun   passes     0 s  answers",
      "                      with 2 entries",
      "deno  FAILS      0 s  deno 2.9.6 cannot be installed",
      "npm   passes     0 s  npm"
    ])
  })
})
