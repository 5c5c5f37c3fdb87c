/** A schema that becomes tens of megabytes of code. The hostile schemas of the suite have one like it. */
import { AjvValidator } from "@effect-mcp/json-schema"
import { assert, it } from "@effect/vitest"
import * as Result from "effect/Result"

it("[MSG-35] a schema whose compilation needs too many steps is rejected: a long name on every path", () => {
  const allOf = Array.from({ length: 1000 }, () => ({ type: "string" }))
  const schema = { properties: { ["a".repeat(30_000)]: { allOf } } }
  const { reason } = Result.getOrThrow(Result.flip(AjvValidator.make().compile(schema)))
  assert.deepStrictEqual(reason, { _tag: "Rejected", problem: "compiling it needs more than 10000000 steps" })
})
