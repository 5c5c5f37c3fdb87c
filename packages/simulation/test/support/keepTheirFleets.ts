/** A search among scripts of fleets, which finds nothing if each keeps its laws. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Search from "../../src/processes/Search.ts"

/** Searches a portion of scripts. It starts with short ones and continues with longer ones. */
export const keepTheirFleets = Effect.fnUntraced(function*(portion: number, runs: number) {
  const found = yield* Search.run({ runs, seed: `tests ${portion}` })
  assert.isUndefined(found, found === undefined ? "" : yield* Effect.promise(() => Search.describe(found)))
})
