import { JsonRpc } from "@effect-mcp/protocol"
import type { ClientSession, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/testing/TestClock"
import * as RawServer from "./support/RawServer.ts"
import { performHandshake, settled, withRawClient, withRawServer } from "./support/sessions.ts"

/** Programs that ping their peers at an interval, and close the session if a ping times out. */
const keepAlive = (
  session: ClientSession.ClientSessionShape | ServerSession.ServerSessionShape,
  every: Duration.Input
) =>
  session.ping({ timeout: "5 seconds" }).pipe(
    Effect.repeat(Schedule.spaced(every)),
    Effect.tapError(({ message }) => Effect.logWarning(message)),
    Effect.catch(() => session.close)
  )

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const pings = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.filter((message) => "method" in message && message.method === "ping").length

describe("pings of a program", () => {
  it.effect("a client sends pings only at the interval of its program", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ script: RawServer.replyToPings })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(pings(raw.received), 0)
      const watching = yield* start(keepAlive(session, "30 seconds"))
      yield* settled
      for (let count = 1; count <= 5; count++) {
        assert.strictEqual(pings(raw.received), count)
        yield* TestClock.adjust("30 seconds")
        yield* settled
      }
      assert.isUndefined(watching.pollUnsafe())
      yield* Fiber.interrupt(watching)
    }))

  it.effect("a server sends pings only at the interval of its program", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(pings(yield* raw.pending), 0)
      const watching = yield* start(keepAlive(session, "10 seconds"))
      for (let id = 1; id <= 5; id++) {
        assert.deepStrictEqual(yield* raw.receive, { jsonrpc: "2.0", id, method: "ping" })
        yield* raw.send(JsonRpc.success(id, {}))
        yield* TestClock.adjust("10 seconds")
      }
      assert.isUndefined(watching.pollUnsafe())
      yield* Fiber.interrupt(watching)
    }))

  const logged: Array<unknown> = []
  const logging = Logger.layer([Logger.make(({ message }) => logged.push(message))])

  it.effect("a client whose ping times out can log that and close the session", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawServer()
      const watching = yield* start(keepAlive(session, "30 seconds"))
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(watching)
      assert.include(JSON.stringify(logged.splice(0)), "ping: timed out after 5000 ms")
      assert.deepStrictEqual(yield* session.closed, { _tag: "Requested" })
      assert.isFalse(link.isOpen())
      assert.isTrue(raw.ended())
    }).pipe(Effect.provide(logging)))

  it.effect("a server whose ping times out can log that and close the session", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const watching = yield* start(keepAlive(session, "30 seconds"))
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(watching)
      assert.include(JSON.stringify(logged.splice(0)), "ping: timed out after 5000 ms")
      assert.deepStrictEqual(yield* session.closed, { _tag: "Requested" })
      assert.isFalse(link.isOpen())
    }).pipe(Effect.provide(logging)))
})
