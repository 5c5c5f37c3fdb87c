/** More scripts of credentials than `scripts.test.ts` has. */
import { describe, it } from "@effect/vitest"
import { keepTheirCredentials } from "../support/keepTheirCredentials.ts"

describe("the credentials of processes", () => {
  for (const portion of [3, 4, 5]) {
    it.live(`keep their laws (part ${portion})`, () => keepTheirCredentials(portion, 350), { timeout: 60_000 })
  }
})
