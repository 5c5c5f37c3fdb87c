import { assert, describe, it } from "@effect/vitest"
import * as Archives from "../packages/archives.ts"
import { publicPackages } from "../workspace.ts"

describe("the archives", () => {
  it("are published once each, after those that they depend on", () => {
    const names = Archives.ordered.map(({ manifest }) => manifest.name)
    assert.deepStrictEqual(names.toSorted(), publicPackages.map(({ manifest }) => manifest.name).toSorted())
    for (const [index, { manifest }] of Archives.ordered.entries()) {
      const own = Object.keys(manifest.dependencies ?? {}).filter((name) => names.includes(name))
      assert.deepStrictEqual(own.filter((name) => names.indexOf(name) >= index), [], manifest.name)
    }
  })
})
