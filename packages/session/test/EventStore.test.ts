import { EventStore } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

/** Returns a stream as its only writer names it. */
const written = (session: string, stream: string): EventStore.WrittenStream => ({
  session,
  stream,
  epoch: 1,
  requests: []
})

const key = written("s", "a")

/** Appends events, and returns their ids. */
const append = (
  store: EventStore.EventStore["Service"],
  key: EventStore.WrittenStream,
  ...data: ReadonlyArray<string>
) => Effect.forEach(data, (data) => store.append(key, data))

/** Returns the data of the events after an event; `undefined` if the store cannot replay them. */
const replayedAfter = (store: EventStore.EventStore["Service"], session: string, id: string | undefined) =>
  Effect.map(store.replay(session, id ?? ""), (replay) => replay?.events.map(({ data }) => data))

/** Returns data that counts 1,000 bytes as an event. */
const kilobyte = (name: string) => name.padEnd((1000 - 64) / 2)

describe("EventStore.makeMemory", () => {
  it.effect("law 12: stores 1,000 events of a stream", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory()
      const ids = yield* append(store, key, ...Array.from({ length: 1001 }, (_, index) => String(index)))
      assert.isUndefined(yield* replayedAfter(store, "s", ids[0]))
      assert.strictEqual((yield* replayedAfter(store, "s", ids[1]))?.length, 999)
      assert.deepStrictEqual(yield* replayedAfter(store, "s", ids[999]), ["1000"])
    }))

  it.effect("law 12: a full stream drops its oldest events, and other streams drop none", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerStream: 2500 })
      const other = yield* append(store, written("s", "b"), "0", "1")
      const ids = yield* append(store, key, ...["0", "1", "2"].map(kilobyte))
      assert.isUndefined(yield* replayedAfter(store, "s", ids[0]))
      assert.deepStrictEqual(yield* replayedAfter(store, "s", ids[1]), [kilobyte("2")])
      assert.deepStrictEqual(yield* replayedAfter(store, "s", other[0]), ["1"])
    }))

  it.effect("an event larger than the limit of a stream is stored until the next event", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerStream: 500 })
      const [, large] = yield* append(store, key, "0", kilobyte("1"))
      assert.deepStrictEqual(yield* replayedAfter(store, "s", large), [])
      const [small] = yield* append(store, key, "2")
      assert.isUndefined(yield* replayedAfter(store, "s", large))
      assert.deepStrictEqual(yield* replayedAfter(store, "s", small), [])
    }))

  it.effect("law 12: an event larger than the limit of a session is not stored", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerSession: 1500 })
      const [large] = yield* append(store, key, kilobyte("0"))
      assert.isUndefined(yield* replayedAfter(store, "s", large))
      const [small] = yield* append(store, key, "1")
      assert.deepStrictEqual(yield* replayedAfter(store, "s", small), [])
    }))

  it.effect("law 12: a full session drops its least recently used stream", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerSession: 5599 })
      const otherSession = yield* append(store, written("t", "a"), "0", "1")
      const first = yield* append(store, written("s", "a"), kilobyte("0"), kilobyte("1"))
      const second = yield* append(store, written("s", "b"), kilobyte("0"), kilobyte("1"))
      // Replaying a stream counts as use.
      yield* store.replay("s", first[1] ?? "")
      yield* append(store, written("s", "c"), "")
      assert.deepStrictEqual(yield* replayedAfter(store, "s", first[0]), [kilobyte("1")])
      assert.isUndefined(yield* replayedAfter(store, "s", second[0]))
      assert.deepStrictEqual(yield* replayedAfter(store, "s", second[1]), [])
      assert.deepStrictEqual(yield* replayedAfter(store, "t", otherSession[0]), ["1"])
    }))

  it.effect("law 12: a full store drops the least recently used stream of all sessions", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytes: 5599 })
      const first = yield* append(store, written("s", "a"), kilobyte("0"), kilobyte("1"))
      const second = yield* append(store, written("t", "a"), kilobyte("0"), kilobyte("1"))
      yield* append(store, written("u", "a"), "")
      assert.isUndefined(yield* replayedAfter(store, "s", first[0]))
      assert.deepStrictEqual(yield* replayedAfter(store, "s", first[1]), [])
      assert.deepStrictEqual(yield* replayedAfter(store, "t", second[0]), [kilobyte("1")])
    }))

  it.effect("law 12: streams of empty events count, too", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerSession: 100 * (512 + 64) })
      const ids = yield* Effect.forEach(Array.from({ length: 101 }, (_, index) => String(index)), (stream) =>
        store.append(written("s", stream), ""))
      assert.isUndefined(yield* replayedAfter(store, "s", ids[0]))
      assert.deepStrictEqual(yield* replayedAfter(store, "s", ids[1]), [])
    }))

  it.effect("an ended stream is stored for 60 seconds, and other streams stay", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory()
      const [open] = yield* append(store, written("s", "open"), "0", "1")
      const [ended] = yield* append(store, key, "0", "1")
      yield* store.end(key)
      yield* TestClock.adjust(59_999)
      // Ending it again or replaying it does not extend this time.
      yield* store.end(key)
      assert.deepStrictEqual(yield* store.replay("s", ended ?? ""), {
        stream: "a",
        events: [{ id: (yield* store.replay("s", ended ?? ""))?.events[0]?.id ?? "", data: "1" }],
        ended: true
      })
      yield* TestClock.adjust(1)
      assert.isUndefined(yield* replayedAfter(store, "s", ended))
      yield* TestClock.adjust("10 days")
      assert.deepStrictEqual(yield* replayedAfter(store, "s", open), ["1"])
    }))

  it.effect("an expired stream is not found even before the timer runs", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ endedStreamTimeout: 0 })
      const [id] = yield* append(store, key, "0")
      yield* store.end(key)
      assert.isUndefined(yield* replayedAfter(store, "s", id))
    }))

  it.effect("there is no timer if endedStreamTimeout is Infinity", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const store = yield* census.count(EventStore.makeMemory({ endedStreamTimeout: "Infinity" }))
      const [id] = yield* append(store, key, "0")
      yield* store.end(key)
      assert.strictEqual(census.started(), 0)
      yield* TestClock.adjust("1000 days")
      assert.deepStrictEqual(yield* replayedAfter(store, "s", id), [])
    }))

  it.effect("law 2: one fiber exists while ended streams are stored, and none otherwise", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const scope = yield* Scope.make()
      const store = yield* census.count(Scope.provide(EventStore.makeMemory({ endedStreamTimeout: "1 minute" }), scope))
      const keys = Array.from({ length: 100 }, (_, index) => written(`s${index}`, "a"))
      const ids = yield* Effect.forEach(keys, (key) => store.append(key, "0"))
      assert.strictEqual(census.started(), 0)
      for (const key of keys) {
        yield* store.end(key)
        yield* TestClock.adjust(1)
        assert.strictEqual(census.living(), 1)
      }
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(yield* replayedAfter(store, "s99", ids[99]), [])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(census.living(), 0)

      yield* append(store, key, "0")
      yield* store.end(key)
      assert.strictEqual(census.living(), 1)
      yield* Scope.close(scope, Exit.void)
      yield* Effect.yieldNow
      assert.strictEqual(census.living(), 0)
      yield* append(store, key, "0")
      yield* store.end(key)
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("the timer does not delete a new stream with the name of an ended one", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxEventsPerStream: 10, maxBytesPerSession: 1500 })
      yield* append(store, key, "0")
      yield* store.end(key)
      yield* store.drop("s", 1)
      const [again] = yield* append(store, key, "0")
      yield* append(store, written("t", "a"), "0")
      yield* store.end(written("t", "a"))
      // This event takes the room of the ended stream.
      yield* append(store, written("t", "b"), kilobyte("0").slice(40))
      const [other] = yield* append(store, written("t", "a"), "")
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* replayedAfter(store, "s", again), [])
      assert.deepStrictEqual(yield* store.replay("t", other ?? ""), { stream: "a", events: [], ended: false })
    }))

  it.effect("an id of an earlier store is not found", () =>
    Effect.gen(function*() {
      const before = yield* EventStore.makeMemory()
      const [old] = yield* append(before, key, "0")
      yield* TestClock.adjust(1)
      const after = yield* EventStore.makeMemory()
      yield* append(after, key, "0", "1")
      assert.isUndefined(yield* replayedAfter(after, "s", old))
    }))

  it.effect("every operation completes synchronously, without a fiber", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory()
      const id = store.append(key, "0")
      assert.deepStrictEqual([id, store.replay("s", "?"), store.end(key), store.drop("s", 1)].map(Exit.isExit), [
        true,
        true,
        true,
        true
      ])
      assert.isUndefined(yield* replayedAfter(store, "s", yield* id))
    }))
})

describe("EventStore.layerMemory", () => {
  it.effect("provides the store with its options", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.EventStore
      const ids = yield* append(store, key, "0", "1", "2")
      assert.isUndefined(yield* replayedAfter(store, "s", ids[0]))
      assert.deepStrictEqual(yield* replayedAfter(store, "s", ids[1]), ["2"])
    }).pipe(Effect.provide(EventStore.layerMemory({ maxEventsPerStream: 2 }))))
})
