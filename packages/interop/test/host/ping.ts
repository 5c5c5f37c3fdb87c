import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Conditions } from "./conditions.ts"
import { serverRequest } from "./results.ts"

export const ping = ({ it }: Conditions) => {
  it.effect("[PING-01] sends and answers ping", () =>
    Effect.gen(function*() {
      const { ping } = yield* ClientSession.ClientSession
      yield* ping()
      assert.deepStrictEqual(yield* serverRequest("ping"), { result: {} })
    }))
}
