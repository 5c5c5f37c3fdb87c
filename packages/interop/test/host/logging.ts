import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import type { Logging } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Conditions } from "./conditions.ts"
import { callForText } from "./results.ts"

export const logging = ({ it }: Conditions) => {
  it.effect("[LOG-01] [LOG-02] receives log messages at or above its level", () =>
    Effect.gen(function*() {
      const { setLogLevel } = yield* ClientSession.ClientSession
      const nextMessage = Effect.map(Notifications.next("notifications/message"), ({ params }) => params)
      const message = (level: Logging.Level): Logging.LogMessageParams => ({
        level,
        logger: "abacus",
        data: { beads: level }
      })
      yield* setLogLevel("warning")
      yield* callForText("log")
      assert.deepStrictEqual([yield* nextMessage, yield* nextMessage], [message("warning"), message("error")])
      yield* setLogLevel("debug")
      yield* callForText("log")
      assert.deepStrictEqual(
        [yield* nextMessage, yield* nextMessage, yield* nextMessage, yield* nextMessage],
        (["debug", "info", "warning", "error"] as const).map(message)
      )
    }))
}
