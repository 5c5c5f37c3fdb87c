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
import {
  StreamableHttpServerConnection
} from "../../../../../src/internal/http/server/streamable/StreamableHttpServerConnection.ts"
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

const post = (connection: StreamableHttpServerConnection, message: JsonRpc.Message) =>
  connection.post({ frame: message, bytes: 10, principal: undefined }, JsonRpc.classify(message))

describe("the connection of a session over Streamable HTTP", () => {
  it.effect("responds with 503 to requests that arrived before its session runs, and to those after its end", () =>
    Effect.gen(function*() {
      const connection = yield* open()
      const early = post(connection, JsonRpc.request(1, "ping", undefined))
      assert.isUndefined(early.outcome)
      connection.close()
      const late = post(connection, JsonRpc.request(2, "ping", undefined))
      const notified = post(connection, JsonRpc.notification("x", undefined))
      const statuses = [early, late].map(({ outcome }) => outcome?._tag === "Json" ? outcome.status : outcome?._tag)
      assert.deepStrictEqual(statuses, [503, 503])
      assert.strictEqual(notified.outcome?._tag, "Accepted")
    }))

  it.effect("ends an exchange without a client after detachedMillis, though its session never runs", () =>
    Effect.gen(function*() {
      const connection = yield* open()
      const exchange = post(connection, JsonRpc.request(1, "ping", undefined))
      exchange.disconnect()
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(exchange.outcome?._tag, "Accepted")
    }))

  it.effect("ends its streams although the store never returns", () =>
    Effect.gen(function*() {
      const hanging = {
        append: () => Effect.never,
        replay: () => Effect.never,
        end: () => Effect.never,
        takeOver: () => Effect.never,
        drop: () => Effect.never
      }
      const connection = yield* open(new GuardedEventStore(hanging, 5000, yield* Clock.Clock))
      connection.onHandshake({ revision: "2025-11-25", capabilities: {}, info: undefined })
      const exchange = post(connection, JsonRpc.request(1, "ping", undefined))
      exchange.startStream()
      const { outcome } = exchange
      assert.strictEqual(outcome?._tag, "EventStream")
      if (outcome?._tag !== "EventStream") return
      const reading = yield* Effect.forkChild(Stream.mkString(Stream.decodeText(outcome.body.stream)), {
        startImmediately: true
      })
      connection.endByClient()
      connection.close()
      const settled = yield* Effect.forkChild(connection.settled(), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.isDefined(settled.pollUnsafe())
      const text = yield* Fiber.join(reading)
      assert.include(text, "\"id\":1,\"error\"")
    }).pipe(Effect.provide(Logger.layer([]))))
})
