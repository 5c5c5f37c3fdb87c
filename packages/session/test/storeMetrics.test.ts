import { Metrics, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as TestClock from "effect/testing/TestClock"
import { handshakeMessages, makeHost, openOperating, withStore } from "./support/hosts.ts"
import { settled, start } from "./support/sessions.ts"

/** Returns the series of a metric, by its labels. */
const seriesOf = (id: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all.filter((one) => one.id === id).map(({ attributes, state }) => {
      const { unit: _, ...labels } = { ...attributes }
      return { labels, count: "count" in state ? Number(state.count) : undefined }
    }))

/** Runs an effect with its own registry of metrics. */
const withRegistry = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(effect, Metric.MetricRegistry, new Map()))

describe("the metrics of a session store", () => {
  it.effect("have the duration of each operation, its error, and the writes that were superseded", () =>
    Effect.gen(function*() {
      const memory = yield* SessionStore.makeMemory()
      const service: typeof memory = {
        ...memory,
        create: (session) => Effect.delay(memory.create(session), "20 millis"),
        remove: (id, epoch) => Effect.delay(memory.remove(id, epoch), "20 millis")
      }
      const host = yield* makeHost().pipe(withStore(service))
      const { hosted } = yield* openOperating(host, { id: "s" })
      yield* start(host.remember(hosted, handshakeMessages))
      yield* TestClock.adjust(20)
      // Another process has the session.
      const stored = yield* memory.load("s")
      if (stored !== undefined) yield* memory.save({ ...stored, epoch: 5 })
      yield* start(hosted.close({ _tag: "Requested" }))
      yield* TestClock.adjust(20)
      yield* settled
      const store = { "mcp.store.name": "SessionStore" }
      assert.deepStrictEqual(yield* seriesOf(Metrics.serverStoreDuration.id), [
        { labels: { ...store, "mcp.store.operation": "save" }, count: 1 },
        { labels: { ...store, "mcp.store.operation": "remove", "error.type": "SupersededError" }, count: 1 }
      ])
      assert.deepStrictEqual(yield* seriesOf(Metrics.serverWritesSuperseded.id), [{ labels: store, count: 1 }])
    }).pipe(withRegistry))

  it.effect("do not exist without a store", () =>
    Effect.gen(function*() {
      const host = yield* makeHost()
      const { hosted } = yield* openOperating(host, { id: "s" })
      yield* host.remember(hosted, handshakeMessages)
      yield* hosted.close({ _tag: "Requested" })
      assert.deepStrictEqual(yield* seriesOf(Metrics.serverStoreDuration.id), [])
      assert.deepStrictEqual(yield* seriesOf(Metrics.serverSessionsOwned.id), [])
    }).pipe(withRegistry))
})
