import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Conditions } from "./conditions.ts"

export const completions = ({ it }: Conditions) => {
  it.effect("[CMP-01] [CMP-02] completes an argument of a prompt and a variable of a template", () =>
    Effect.gen(function*() {
      const { complete } = yield* ClientSession.ClientSession
      assert.deepStrictEqual(
        yield* complete({ ref: { type: "ref/prompt", name: "add" }, argument: { name: "beads", value: "1" } }),
        { completion: { values: ["ref/prompt.beads=1"], total: 200, hasMore: true } }
      )
      const { completion } = yield* complete({
        ref: { type: "ref/resource", uri: "bead:///{number}" },
        argument: { name: "number", value: "" }
      })
      assert.deepStrictEqual(completion.values, ["ref/resource.number="])
    }))

  it.effect("sends the values of other arguments in every revision", () =>
    Effect.gen(function*() {
      const { complete } = yield* ClientSession.ClientSession
      const { completion } = yield* complete({
        ref: { type: "ref/prompt", name: "add" },
        argument: { name: "more", value: "2" },
        context: { arguments: { beads: "15" } }
      })
      assert.deepStrictEqual(completion.values, ["ref/prompt.more=2", "beads", "15"])
    }))
}
