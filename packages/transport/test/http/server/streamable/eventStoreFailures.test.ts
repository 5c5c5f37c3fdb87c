/** Failures of an event store, which cost only the resumption of streams. */
import { Metrics, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Queue from "effect/Queue"
import { connect, type ReceivedResponse } from "../../../support/httpClient.ts"
import { type Failure, failures, MapEventStore } from "../../../support/mapEventStore.ts"
import { until } from "../../../support/process.ts"
import { serve, type Settings, text, tools } from "../../../support/server.ts"

/** Creates a tool that reports the steps in a queue, until "end". */
const stepping = Effect.gen(function*() {
  const steps = yield* Queue.unbounded<number | "end">()
  const walk = Effect.gen(function*() {
    while (true) {
      const step = yield* Queue.take(steps)
      if (step === "end") return text("done")
      yield* RequestContext.progress({ progress: step })
    }
  })
  return { steps, handlers: tools({ walk, now: Effect.succeed(text("now")), never: Effect.never }) }
})

const stepsOf = ({ messages }: ReceivedResponse) =>
  messages.map(({ id, method, params }) => method === "notifications/progress" ? params?.["progress"] : `reply ${id}`)

/** Runs a server with a store that a test can break, and connects a client. */
const prepared = Effect.fnUntraced(function*(http: Settings["http"] = {}) {
  const store = new MapEventStore()
  const { handlers, steps } = yield* stepping
  const server = yield* serve(handlers, {
    store: store.service,
    http: { eventStoreTimeout: "30 millis", responseMode: "stream", ...http },
    session: { capabilities: { logging: {} } }
  })
  const client = yield* connect(server)
  return { store, steps, server, client }
})

const names = Object.keys(failures).filter((name): name is Failure => name in failures)

describe.concurrent("a store of events", () => {
  it.live("is measured: a call that takes too long by its error", () =>
    Effect.gen(function*() {
      const measured = Effect.map(
        Metric.value(Metric.withAttributes(Metrics.serverStoreDuration, {
          "mcp.store.name": "EventStore",
          "mcp.store.operation": "append",
          "error.type": "TimedOut"
        })),
        ({ count }) => count
      )
      const { client, steps, store } = yield* prepared()
      const call = yield* client.call("w", "walk")
      yield* Queue.offer(steps, 1)
      yield* call.awaitMessages(1)
      store.broken.append = "hangs"
      yield* Queue.offer(steps, 2)
      yield* call.awaitMessages(2)
      assert.strictEqual(yield* measured, 1)
    }).pipe((effect) => Effect.provideService(effect, Metric.MetricRegistry, new Map())))

  for (const failure of names) {
    it.live(`[SHS-09] whose append ${failure} costs a client no event, and its stream cannot be resumed`, () =>
      Effect.gen(function*() {
        const { client, server, steps, store } = yield* prepared()
        const call = yield* client.call("w", "walk")
        yield* Queue.offer(steps, 1)
        yield* call.awaitMessages(1)
        const lastStored = call.lastId
        store.broken.append = failure
        yield* Queue.offerAll(steps, [2, 3])
        yield* call.awaitMessages(3)
        // The later events would hide the gap.
        store.broken.append = undefined
        yield* Queue.offer(steps, 4)
        yield* call.awaitMessages(4)
        assert.strictEqual(call.lastId, lastStored)
        const resumed = yield* client.get(lastStored)
        assert.strictEqual(resumed.status, 400)
        yield* Queue.offer(steps, "end")
        yield* call.awaitEnd
        assert.isTrue(call.ended)
        assert.deepStrictEqual(stepsOf(call), [1, 2, 3, 4, "reply w"])
        assert.strictEqual((yield* client.ping()).status, 200)
        assert.strictEqual(server.logs.length, 1)
        assert.include(server.logs[0], "EventStore.append failed: the stream of this event cannot be resumed")
      }))

    it.live(`[SHS-19] whose replay ${failure} fails one resumption with 503, and the session continues`, () =>
      Effect.gen(function*() {
        const { client, server, steps, store } = yield* prepared()
        const call = yield* client.call("w", "walk")
        yield* Queue.offer(steps, 1)
        yield* call.awaitMessages(1)
        call.disconnect()
        store.broken.replay = failure
        const rejected = yield* client.get(call.lastId)
        assert.strictEqual(rejected.status, 503)
        yield* Effect.repeat(server.host.sessions, { until: ([session]) => session?.held === 0 })
        assert.strictEqual((yield* client.ping()).status, 200)
        store.broken.replay = undefined
        yield* Queue.offerAll(steps, [2, "end"])
        const resume = Effect.tap(
          client.get(call.lastId),
          (response) => response.status === 200 ? response.awaitEnd : Effect.void
        )
        const resumed = yield* Effect.repeat(resume, { until: ({ status }) => status === 200 })
        assert.deepStrictEqual(stepsOf(resumed), [2, "reply w"])
      }))

    it.live(`that ${failure} does not prevent the end of a session, with a reply to every request`, () =>
      Effect.gen(function*() {
        const { client, server, steps, store } = yield* prepared()
        const call = yield* client.call("w", "walk")
        yield* Queue.offer(steps, 1)
        yield* call.awaitMessages(1)
        for (const operation of ["append", "replay", "end", "drop"] as const) store.broken[operation] = failure
        assert.strictEqual((yield* client.delete).status, 204)
        yield* call.awaitEnd
        assert.isTrue(call.ended)
        assert.strictEqual(stepsOf(call).at(-1), "reply w")
        yield* until(() => server.events.some(({ _tag }) => _tag === "Closed"))
        const [closed] = server.events.flatMap((event) => event._tag === "Closed" ? [event.reason._tag] : [])
        assert.strictEqual(closed, "PeerEnded")
        yield* Effect.repeat(server.host.sessions, { until: (sessions) => sessions.length === 0 })
      }))
  }

  it.live("that was away when a response had no client ends the stream as outcome unknown, when it is resumed", () =>
    Effect.gen(function*() {
      const { client, steps, store } = yield* prepared()
      const call = yield* client.call("w", "walk")
      yield* Queue.offer(steps, 1)
      yield* call.awaitMessages(1)
      const after = call.lastId
      store.failing = true
      yield* Queue.offer(steps, 2)
      yield* call.awaitMessages(2)
      call.disconnect()
      yield* until(() => call.isClosed)
      yield* Queue.offerAll(steps, [3, "end"])
      yield* client.ping()
      store.failing = false
      for (const _ of [1, 2]) {
        // Until the reply, the stream cannot be resumed, because it has a gap.
        const resumed = yield* Effect.repeat(client.get(after), { until: ({ status }) => status !== 400 })
        yield* resumed.awaitEnd
        assert.deepStrictEqual(resumed.messages.map(({ error, id }) => [id, error?.code]), [["w", -31013]])
      }
    }))

  it.live("that hangs delays one call for `eventStoreTimeout`, and not each stream", () =>
    Effect.gen(function*() {
      const { client, store } = yield* prepared({ eventStoreTimeout: "1 second" })
      store.broken.append = "hangs"
      const first = yield* client.call(0, "now")
      yield* first.awaitEnd
      const before = store.calls.append
      for (let id = 1; id <= 20; id++) {
        const call = yield* client.call(id, "now")
        yield* call.awaitEnd
        assert.deepStrictEqual(stepsOf(call), [`reply ${id}`])
      }
      assert.isBelow(store.calls.append - before, 20)
      store.broken.append = undefined
      const stored = Effect.tap(client.call("again", "now"), ({ awaitEnd }) => awaitEnd)
      yield* Effect.repeat(stored, { until: ({ lastId }) => lastId !== undefined })
    }))

  it.live("that fails for a while costs a session only the standalone stream of that time", () =>
    Effect.gen(function*() {
      const { client, server, store } = yield* prepared()
      const log = (data: string) => server.host.find(client.id)?.session.log({ level: "info", data }) ?? Effect.void
      const dataOf = ({ messages }: ReceivedResponse) => messages.map(({ params }) => params?.["data"])
      const listening = yield* client.get()
      yield* log("1")
      yield* listening.awaitMessages(1)
      store.broken.append = "fails"
      yield* log("2")
      yield* listening.awaitMessages(2)
      store.broken.append = undefined
      // The old stream cannot be resumed. A new one starts, which can.
      const next = yield* client.get(listening.lastId)
      assert.strictEqual(next.status, 200)
      yield* until(() => next.lastId !== undefined)
      next.disconnect()
      yield* log("3")
      const resumed = yield* client.get(next.lastId)
      yield* resumed.awaitMessages(1)
      assert.deepStrictEqual([listening, next, resumed].map(dataOf), [["1", "2"], [], ["3"]])
    }))
})
