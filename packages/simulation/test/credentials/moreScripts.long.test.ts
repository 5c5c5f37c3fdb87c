/** More scripts of credentials than `scripts.test.ts` has. */
import { describe, it } from "@effect/vitest"
import { keepTheirCredentials } from "../support/keepTheirCredentials.ts"

describe("the credentials of processes", () => {
  it.live("keep their laws (part 3)", () => keepTheirCredentials(3, 350), { timeout: 60_000 })
})
