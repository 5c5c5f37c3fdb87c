import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import type { Logging } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Conditions } from "./conditions.ts"
import { said } from "./results.ts"

export const logging = ({ it }: Conditions) => {
  it.effect("[LOG-01] [LOG-02] hears what it wants to hear", () =>
    Effect.gen(function*() {
      const { setLogLevel } = yield* ClientSession.ClientSession
      const heard = Effect.map(Notifications.next("notifications/message"), ({ params }) => params)
      const message = (level: Logging.Level): Logging.LogMessageParams => ({
        level,
        logger: "abacus",
        data: { beads: level }
      })
      yield* setLogLevel("warning")
      yield* said("log")
      assert.deepStrictEqual([yield* heard, yield* heard], [message("warning"), message("error")])
      yield* setLogLevel("debug")
      yield* said("log")
      assert.deepStrictEqual(
        [yield* heard, yield* heard, yield* heard, yield* heard],
        (["debug", "info", "warning", "error"] as const).map(message)
      )
    }))
}
