/** More simulated conversations than `sessions.test.ts` has. */
import { describe, it } from "@effect/vitest"
import { keepTheirLaws } from "../support/keepTheirLaws.ts"

describe("simulated conversations", () => {
  for (const portion of [3, 4, 5]) {
    it.effect(`keep laws 1 to 8, 10 and 12 (part ${portion})`, () => keepTheirLaws(portion), { timeout: 60_000 })
  }
})
