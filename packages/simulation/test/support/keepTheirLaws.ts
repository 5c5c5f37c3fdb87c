/** A search among simulated conversations, which finds nothing if each keeps its laws. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Search from "../../src/conversations/Search.ts"

/** Searches a portion of 500 conversations. It starts with short ones and continues with longer ones. */
export const keepTheirLaws = Effect.fnUntraced(function*(portion: number) {
  const found = yield* Search.run({ runs: 500, seed: `tests ${portion - 1}` })
  assert.isUndefined(found, found === undefined ? "" : Search.describe(found))
})
