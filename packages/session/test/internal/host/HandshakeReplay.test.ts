import type { Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HandshakeReplay from "../../../src/internal/host/HandshakeReplay.ts"

describe("the connection of a restored session", () => {
  it.effect("forwards all members of the connection of its transport", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const called = (name: string) => () => void calls.push(name)
      const below: Required<Transport.Connection> = {
        run: () => Effect.never,
        send: () => Effect.sync(called("send")),
        stalled: called("stalled"),
        endExchange: called("endExchange"),
        detachStream: () => Effect.succeed(true),
        movable: () => undefined,
        request: () => Effect.sync(called("request")),
        handshakeOnly: true,
        started: Effect.void,
        halfCloseMillis: 500,
        hideSecrets: (text) => text,
        authenticates: true,
        hasAuthorization: true,
        onHandshake: called("onHandshake"),
        onSessionEnding: called("onSessionEnding"),
        onSessionEnd: called("onSessionEnd")
      }
      const transport = HandshakeReplay.over({ connect: Effect.succeed(below) }, {
        handshakeMessages: [],
        facts: [],
        principal: undefined,
        onDelivered: () => {}
      })
      const above = yield* transport.connect
      above.stalled?.({})
      above.endExchange?.({})
      above.onHandshake?.({ revision: "2025-11-25", capabilities: {}, info: undefined })
      above.onSessionEnd?.({ _tag: "Requested" })
      assert.deepStrictEqual(calls, ["stalled", "endExchange", "onHandshake", "onSessionEnd"])
      assert.sameMembers(Object.keys(above), Object.keys(below))
    }))
})
