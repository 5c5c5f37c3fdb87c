import * as Workspace from "@effect-mcp/examples/src/host/workspace.ts"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Conditions } from "./conditions.ts"
import { asked, told } from "./results.ts"

export const roots = ({ it }: Conditions) => {
  it.effect("[ROOT-01] [ROOT-02] [ROOT-03] says where the server may work, and when that changes", () =>
    Effect.gen(function*() {
      const home = { uri: "file:///home/ada", name: "home" }
      assert.deepStrictEqual(yield* asked("roots/list"), { answer: { roots: [home] } })
      const { rootsChanged } = yield* told("seen")
      yield* Workspace.setRoots({ uri: "file:///tmp/%C3%A4" }, home)
      assert.deepInclude(yield* told("seen"), { rootsChanged: Number(rootsChanged) + 1 })
      assert.deepStrictEqual(yield* asked("roots/list"), { answer: { roots: [{ uri: "file:///tmp/%C3%A4" }, home] } })
      yield* Workspace.setRoots(home)
    }))
}
