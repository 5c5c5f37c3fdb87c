import { JsonRpc, McpError, RequestId } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { performHandshake, settled, withRawClient } from "./support/sessions.ts"

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

describe("the ids of a server's requests", () => {
  it.effect("[MSG-03] [MSG-04] [MSG-05] no request id is used twice, whatever the outcome of its request", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const answered = yield* start(session.ping())
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(answered)
      const rejected = yield* start(Effect.flip(session.ping()))
      yield* raw.send(JsonRpc.failure(2, McpError.invalidRequest("no")))
      yield* Fiber.join(rejected)
      yield* Fiber.interrupt(yield* start(session.ping()))
      const late = yield* start(Effect.flip(session.ping({ timeout: 10 })))
      yield* TestClock.adjust(10)
      yield* Fiber.join(late)
      // A request that is built and not sent uses an id as well.
      const built = session.buildCreateMessage({ messages: [], maxTokens: 1 })
      yield* start(session.ping())
      yield* settled
      const ids = (yield* raw.pending).flatMap((message) => JsonRpc.isRequest(message) ? [message.id] : [])
      assert.deepStrictEqual([ids, built.id], [[1, 2, 3, 4, 6], 5])
      assert.isTrue(ids.every(RequestId.isRequestId))
    }))
})
