import { JsonRpc } from "@effect-mcp/protocol"
import type { EventStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { GuardedEventStore } from "../../../../../src/internal/http/server/GuardedEventStore.ts"
import { StreamableHttpServerConnection } from "../../../../../src/internal/http/server/streamable/StreamableHttpServerConnection.ts"
import * as StreamWatchdog from "../../../../../src/internal/http/server/StreamWatchdog.ts"

const open = Effect.fnUntraced(function*(store?: EventStore.EventStore["Service"]) {
  const options = { keepAliveMillis: 1000, stallMillis: 1000, detachedMillis: 1000 }
  const watchdog = yield* StreamWatchdog.make(options)
  return new StreamableHttpServerConnection("session", {
    watchdog,
    mode: "adaptive",
    store,
    capacity: 1000,
    retryMillis: 1000,
    detachedMillis: 1000
  })
})

describe("the connection of a session over HTTP", () => {
  it.effect("answers what came before its session read, and what comes when that has ended", () =>
    Effect.gen(function*() {
      const connection = yield* open()
      const early = connection.post(JsonRpc.request(1, "ping", undefined), 10, undefined)
      assert.isUndefined(early.answer)
      connection.close()
      const late = connection.post(JsonRpc.request(2, "ping", undefined), 10, undefined)
      const told = connection.post(JsonRpc.notification("x", undefined), 10, undefined)
      const statuses = [early, late].map(({ answer }) => answer?._tag === "Reply" ? answer.status : answer?._tag)
      assert.deepStrictEqual(statuses, [503, 503])
      assert.strictEqual(told.answer?._tag, "Nothing")
    }))

  it.effect("gives up what nobody waits for, though its session never read it", () =>
    Effect.gen(function*() {
      const connection = yield* open()
      const exchange = connection.post(JsonRpc.request(1, "ping", undefined), 10, undefined)
      exchange.leave()
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(exchange.answer?._tag, "Nothing")
    }))

  it.effect("ends what is read also where the store takes for ever", () =>
    Effect.gen(function*() {
      const hanging = {
        append: () => Effect.never,
        replay: () => Effect.never,
        end: () => Effect.never,
        drop: () => Effect.never
      }
      const connection = yield* open(new GuardedEventStore(hanging, 5000, yield* Clock.Clock))
      connection.onHandshake({ revision: "2025-11-25", capabilities: {}, info: undefined })
      const exchange = connection.post(JsonRpc.request(1, "ping", undefined), 10, undefined)
      exchange.begin()
      const { answer } = exchange
      assert.strictEqual(answer?._tag, "Events")
      if (answer?._tag !== "Events") return
      const reading = yield* Effect.forkChild(Stream.mkString(Stream.decodeText(answer.reader.body)), {
        startImmediately: true
      })
      connection.end()
      connection.close()
      const settled = yield* Effect.forkChild(connection.settled(), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.isDefined(settled.pollUnsafe())
      const text = yield* Fiber.join(reading)
      assert.include(text, "\"id\":1,\"error\"")
    }).pipe(Effect.provide(Logger.layer([]))))
})
