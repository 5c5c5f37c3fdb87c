/** More scripts of fleets than `fleets.test.ts` has. */
import { describe, it } from "@effect/vitest"
import { keepTheirFleets } from "../support/keepTheirFleets.ts"

describe("the sessions of a fleet", () => {
  it.live("keep their laws (part 3)", () => keepTheirFleets(3, 350), { timeout: 120_000 })
})
