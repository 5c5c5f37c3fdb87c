import { ClientSession, MemoryTransport, SessionHost, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { info, text, tools } from "./support/sessions.ts"

describe("a host", () => {
  it.effect("keeps a session until nobody has used it for half an hour", () =>
    Effect.gen(function*() {
      const host = yield* SessionHost.make(tools({ x: Effect.succeed(text("x")) }), { info })
      const pair = yield* MemoryTransport.make()
      const hosted = yield* host.open(pair.server, { kind: "memory" })
      const client = yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
      assert.strictEqual((yield* host.sessions).length, 1)
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual(yield* hosted.session.closed, { _tag: "Expired", afterMillis: 1_800_000, of: "idle" })
      assert.isUndefined(host.find(hosted.id))
      assert.strictEqual((yield* host.health).sessions, 0)
    }))
})
