import { EventStore } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

const key = { session: "s", stream: "a" }

/** Appends one event after another, and gives their ids. */
const appended = (store: EventStore.EventStore["Service"], key: EventStore.StreamKey, ...data: ReadonlyArray<string>) =>
  Effect.forEach(data, (data) => store.append(key, data))

/** What came behind an event; `undefined` where that cannot be said. */
const behind = (store: EventStore.EventStore["Service"], session: string, id: string | undefined) =>
  Effect.map(store.replay(session, id ?? ""), (replay) => replay?.events.map(({ data }) => data))

/** A thousand bytes, as they are counted. */
const kilobyte = (name: string) => name.padEnd((1000 - 64) / 2)

describe("EventStore.makeMemory", () => {
  it.effect("law 12: keeps 1,000 events of a stream", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory()
      const ids = yield* appended(store, key, ...Array.from({ length: 1001 }, (_, index) => String(index)))
      assert.isUndefined(yield* behind(store, "s", ids[0]))
      assert.strictEqual((yield* behind(store, "s", ids[1]))?.length, 999)
      assert.deepStrictEqual(yield* behind(store, "s", ids[999]), ["1000"])
    }))

  it.effect("law 12: the oldest events of a full stream make room, and no other stream's", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerStream: 2500 })
      const other = yield* appended(store, { session: "s", stream: "b" }, "0", "1")
      const ids = yield* appended(store, key, ...["0", "1", "2"].map(kilobyte))
      assert.isUndefined(yield* behind(store, "s", ids[0]))
      assert.deepStrictEqual(yield* behind(store, "s", ids[1]), [kilobyte("2")])
      assert.deepStrictEqual(yield* behind(store, "s", other[0]), ["1"])
    }))

  it.effect("an event that is larger than a stream may be is kept until the next comes", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerStream: 500 })
      const [, large] = yield* appended(store, key, "0", kilobyte("1"))
      assert.deepStrictEqual(yield* behind(store, "s", large), [])
      const [small] = yield* appended(store, key, "2")
      assert.isUndefined(yield* behind(store, "s", large))
      assert.deepStrictEqual(yield* behind(store, "s", small), [])
    }))

  it.effect("law 12: one that is larger than a session may be is not kept", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerSession: 1500 })
      const [large] = yield* appended(store, key, kilobyte("0"))
      assert.isUndefined(yield* behind(store, "s", large))
      const [small] = yield* appended(store, key, "1")
      assert.deepStrictEqual(yield* behind(store, "s", small), [])
    }))

  it.effect("law 12: in a full session, the stream makes room that was not used for longest", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerSession: 5599 })
      const elsewhere = yield* appended(store, { session: "t", stream: "a" }, "0", "1")
      const first = yield* appended(store, { session: "s", stream: "a" }, kilobyte("0"), kilobyte("1"))
      const second = yield* appended(store, { session: "s", stream: "b" }, kilobyte("0"), kilobyte("1"))
      // Whoever comes back to a stream uses it.
      yield* store.replay("s", first[1] ?? "")
      yield* appended(store, { session: "s", stream: "c" }, "")
      assert.deepStrictEqual(yield* behind(store, "s", first[0]), [kilobyte("1")])
      assert.isUndefined(yield* behind(store, "s", second[0]))
      assert.deepStrictEqual(yield* behind(store, "s", second[1]), [])
      assert.deepStrictEqual(yield* behind(store, "t", elsewhere[0]), ["1"])
    }))

  it.effect("law 12: in a full store, the stream makes room that was not used for longest, whosever it is", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytes: 5599 })
      const first = yield* appended(store, { session: "s", stream: "a" }, kilobyte("0"), kilobyte("1"))
      const second = yield* appended(store, { session: "t", stream: "a" }, kilobyte("0"), kilobyte("1"))
      yield* appended(store, { session: "u", stream: "a" }, "")
      assert.isUndefined(yield* behind(store, "s", first[0]))
      assert.deepStrictEqual(yield* behind(store, "s", first[1]), [])
      assert.deepStrictEqual(yield* behind(store, "t", second[0]), [kilobyte("1")])
    }))

  it.effect("law 12: streams of empty events count as well", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxBytesPerSession: 100 * (512 + 64) })
      const ids = yield* Effect.forEach(Array.from({ length: 101 }, (_, index) => String(index)), (stream) =>
        store.append({ session: "s", stream }, ""))
      assert.isUndefined(yield* behind(store, "s", ids[0]))
      assert.deepStrictEqual(yield* behind(store, "s", ids[1]), [])
    }))

  it.effect("a stream that has ended is kept for 60 seconds; others, and what they hold, stay", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory()
      const [open] = yield* appended(store, { session: "s", stream: "open" }, "0", "1")
      const [ended] = yield* appended(store, key, "0", "1")
      yield* store.end(key)
      yield* TestClock.adjust(59_999)
      // To end it once more, or to use it, gives it no more time.
      yield* store.end(key)
      assert.deepStrictEqual(yield* store.replay("s", ended ?? ""), {
        stream: "a",
        events: [{ id: (yield* store.replay("s", ended ?? ""))?.events[0]?.id ?? "", data: "1" }],
        ended: true
      })
      yield* TestClock.adjust(1)
      assert.isUndefined(yield* behind(store, "s", ended))
      yield* TestClock.adjust("10 days")
      assert.deepStrictEqual(yield* behind(store, "s", open), ["1"])
    }))

  it.effect("what is over is not found, also where the timer has not run yet", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ endedStreamTimeout: 0 })
      const [id] = yield* appended(store, key, "0")
      yield* store.end(key)
      assert.isUndefined(yield* behind(store, "s", id))
    }))

  it.effect("with no end to the time that ended streams are kept, there is no timer", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const store = yield* census.count(EventStore.makeMemory({ endedStreamTimeout: "Infinity" }))
      const [id] = yield* appended(store, key, "0")
      yield* store.end(key)
      assert.strictEqual(census.started(), 0)
      yield* TestClock.adjust("1000 days")
      assert.deepStrictEqual(yield* behind(store, "s", id), [])
    }))

  it.effect("law 2: there is one fiber while ended streams are kept, and none otherwise", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const scope = yield* Scope.make()
      const store = yield* census.count(Scope.provide(EventStore.makeMemory({ endedStreamTimeout: "1 minute" }), scope))
      const keys = Array.from({ length: 100 }, (_, index) => ({ session: `s${index}`, stream: "a" }))
      const ids = yield* Effect.forEach(keys, (key) => store.append(key, "0"))
      assert.strictEqual(census.started(), 0)
      for (const key of keys) {
        yield* store.end(key)
        yield* TestClock.adjust(1)
        assert.strictEqual(census.living(), 1)
      }
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(yield* behind(store, "s99", ids[99]), [])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(census.living(), 0)

      yield* appended(store, key, "0")
      yield* store.end(key)
      assert.strictEqual(census.living(), 1)
      yield* Scope.close(scope, Exit.void)
      yield* Effect.yieldNow
      assert.strictEqual(census.living(), 0)
      yield* appended(store, key, "0")
      yield* store.end(key)
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("whatever is dropped or pushed out does not come back when its time is over", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory({ maxEventsPerStream: 10, maxBytesPerSession: 1500 })
      yield* appended(store, key, "0")
      yield* store.end(key)
      yield* store.drop("s")
      const [again] = yield* appended(store, key, "0")
      yield* appended(store, { session: "t", stream: "a" }, "0")
      yield* store.end({ session: "t", stream: "a" })
      // This takes the room of the stream that has ended.
      yield* appended(store, { session: "t", stream: "b" }, kilobyte("0").slice(40))
      const [other] = yield* appended(store, { session: "t", stream: "a" }, "")
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* behind(store, "s", again), [])
      assert.deepStrictEqual(yield* store.replay("t", other ?? ""), { stream: "a", events: [], ended: false })
    }))

  it.effect("an id from a store that was there before names nothing", () =>
    Effect.gen(function*() {
      const before = yield* EventStore.makeMemory()
      const [old] = yield* appended(before, key, "0")
      yield* TestClock.adjust(1)
      const after = yield* EventStore.makeMemory()
      yield* appended(after, key, "0", "1")
      assert.isUndefined(yield* behind(after, "s", old))
    }))

  it.effect("every operation is done when it is called, without a fiber", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory()
      const id = store.append(key, "0")
      assert.deepStrictEqual([id, store.replay("s", "?"), store.end(key), store.drop("s")].map(Exit.isExit), [
        true,
        true,
        true,
        true
      ])
      assert.isUndefined(yield* behind(store, "s", yield* id))
    }))
})

describe("EventStore.layerMemory", () => {
  it.effect("is the store as a service, with its options", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.EventStore
      const ids = yield* appended(store, key, "0", "1", "2")
      assert.isUndefined(yield* behind(store, "s", ids[0]))
      assert.deepStrictEqual(yield* behind(store, "s", ids[1]), ["2"])
    }).pipe(Effect.provide(EventStore.layerMemory({ maxEventsPerStream: 2 }))))
})
