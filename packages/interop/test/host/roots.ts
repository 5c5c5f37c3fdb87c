import * as Workspace from "@effect-mcp/examples/src/host/workspace.ts"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Conditions } from "./conditions.ts"
import { callForJson, serverRequest } from "./results.ts"

export const roots = ({ it }: Conditions) => {
  it.effect("[ROOT-01] [ROOT-02] [ROOT-03] sends its roots to the server, and a notification when they change", () =>
    Effect.gen(function*() {
      const home = { uri: "file:///home/ada", name: "home" }
      assert.deepStrictEqual(yield* serverRequest("roots/list"), { result: { roots: [home] } })
      const { rootsChanged } = yield* callForJson("observations")
      yield* Workspace.setRoots({ uri: "file:///tmp/%C3%A4" }, home)
      assert.deepInclude(yield* callForJson("observations"), { rootsChanged: Number(rootsChanged) + 1 })
      assert.deepStrictEqual(yield* serverRequest("roots/list"), {
        result: { roots: [{ uri: "file:///tmp/%C3%A4" }, home] }
      })
      yield* Workspace.setRoots(home)
    }))
}
