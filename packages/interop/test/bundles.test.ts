/** The programs for pages and workers, bundled from the sources: a sample of `pnpm packages --only bundles`. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import * as Bundles from "../../../scripts/packages/bundles.ts"

const folder = fs.mkdtempSync(path.join(tmpdir(), "bundles-"))
afterAll(() => fs.rmSync(folder, { recursive: true }))

const fileOf = (name: string): string => path.join(folder, `${name}.mjs`)

describe("the programs for pages and workers", () => {
  it("contain no module of Node, import nothing, and call each other", async () => {
    for (const name of Bundles.names) {
      const input = path.join(Bundles.programs, `${name}.ts`)
      const { imported, modules } = await Bundles.byRolldown(input, fileOf(name), ["browser", "import", "default"])
      assert.deepStrictEqual([...imported, ...modules.filter(Bundles.isForeign)], [], name)
      // Without these modules, the patterns match nothing.
      assert.isTrue(modules.some((module) => module.includes("/packages/session/src/")), name)
    }
    await Bundles.call(fileOf)
  })
})
