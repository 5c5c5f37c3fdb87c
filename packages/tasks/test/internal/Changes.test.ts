import { ChangeBus } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Changes from "../../src/internal/store/Changes.ts"

/** Returns waits for the rows of a table, and the keys of each query. */
const tableOf = (
  rows: ReadonlyMap<string, number>,
  pollMillis = 500,
  shared?: { readonly bus: ChangeBus.ChangeBusShape; readonly scope: string }
) => {
  const queries: Array<ReadonlyArray<string>> = []
  const changes = Changes.make({
    pollMillis,
    shared,
    versions: (keys) =>
      Effect.sync(() => {
        queries.push(keys)
        return new Map([...rows].filter(([key]) => keys.includes(key)))
      })
  })
  return { changes, queries }
}

const wait = (changes: Changes.Changes<never>, key: string, version: number) =>
  Effect.forkChild(changes.await(key, version), { startImmediately: true })

describe("the changes of a table", () => {
  it.effect("all waits have one query for each interval", () =>
    Effect.gen(function*() {
      const rows = new Map([["a", 1], ["b", 1]])
      const { changes: make, queries } = tableOf(rows)
      const changes = yield* make
      const fibers = yield* Effect.forEach(["a", "a", "a", "b"], (key) => wait(changes, key, 1))
      assert.deepStrictEqual(queries.splice(0), [["a"], ["a"], ["a"], ["b"]])
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(queries.splice(0), [["a", "b"], ["a", "b"]])
      rows.set("a", 2)
      rows.delete("b")
      yield* TestClock.adjust(499)
      assert.isTrue(fibers.every((fiber) => fiber.pollUnsafe() === undefined))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.await), fibers.map(() => Exit.void))
      assert.strictEqual(queries.length, 1)
    }))

  it.effect("a query has at most 1,000 keys", () =>
    Effect.gen(function*() {
      const keys = Array.from({ length: 2001 }, (_, index) => String(index))
      const { changes: make, queries } = tableOf(new Map(keys.map((key) => [key, 1])))
      const changes = yield* make
      yield* Effect.forEach(keys, (key) => wait(changes, key, 1))
      queries.splice(0)
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(queries.map(({ length }) => length), [1000, 1000, 1])
    }))

  it.effect("without waits there is no query and no fiber, also after the waits were interrupted", () =>
    Effect.gen(function*() {
      const fibers = FiberCount.make()
      const { changes: make, queries } = tableOf(new Map([["a", 1]]))
      yield* fibers.count(Effect.gen(function*() {
        const changes = yield* make
        yield* TestClock.adjust(5000)
        assert.strictEqual(fibers.living(), 0)
        for (const _ of [1, 2]) {
          const waits = yield* Effect.forEach(["a", "a"], (key) => wait(changes, key, 1))
          yield* TestClock.adjust(500)
          yield* Effect.forEach(waits, Fiber.interrupt)
        }
        assert.strictEqual(fibers.living(), 0)
        queries.splice(0)
        yield* TestClock.adjust(5000)
        assert.deepStrictEqual(queries, [])
      }))
    }))

  it.effect("an announced change ends the waits for it at once, and no others", () =>
    Effect.gen(function*() {
      const { changes: make } = tableOf(new Map([["a", 1], ["b", 1]]), Number.POSITIVE_INFINITY)
      const changes = yield* make
      const fibers = yield* Effect.all([wait(changes, "a", 1), wait(changes, "a", 2), wait(changes, "b", 1)])
      yield* changes.announce("a", 2)
      assert.deepStrictEqual(yield* Fiber.await(fibers[0]), Exit.void)
      assert.deepStrictEqual(fibers.slice(1).map((fiber) => fiber.pollUnsafe()), [undefined, undefined])
    }))

  it.effect("a query that fails ends the present waits with its error, and later ones are served", () =>
    Effect.gen(function*() {
      let isDown = false
      const changes = yield* Changes.make({
        pollMillis: 500,
        versions: () => isDown ? Effect.fail("down") : Effect.succeed(new Map([["a", 1]]))
      })
      const fiber = yield* Effect.forkChild(Effect.flip(changes.await("a", 1)), { startImmediately: true })
      isDown = true
      yield* TestClock.adjust(500)
      assert.strictEqual(yield* Fiber.join(fiber), "down")
      isDown = false
      yield* changes.await("a", 0)
    }))

  it.effect("the end of the scope ends the waits", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const changes = yield* Scope.provide(tableOf(new Map([["a", 1]])).changes, scope)
      const fiber = yield* Effect.forkChild(Effect.flip(changes.await("a", 1)), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(fiber)).message, "the store was closed during the wait")
    }))
})

describe("the changes of a table that processes share by a bus", () => {
  const scope = "tasks"

  /** A store with a table of its own process, and the bus of another process. */
  const shared = (rows: ReadonlyMap<string, number>) =>
    Effect.gen(function*() {
      const { connection, interrupt } = yield* ChangeBus.makeMemory
      const [bus, other] = [yield* ChangeBus.make(connection), yield* ChangeBus.make(connection)]
      const { changes: make, queries } = tableOf(rows, 500, { bus, scope })
      const changes = yield* make
      return { changes, queries, bus, other, interrupt }
    })

  it.effect("a reported change ends the waits for it at once, by one query of the rows that are waited for", () =>
    Effect.gen(function*() {
      const rows = new Map([["a", 1], ["b", 1], ["c", 1]])
      const { changes, other, queries } = yield* shared(rows)
      const fibers = yield* Effect.forEach(["a", "a", "b"], (key) => wait(changes, key, 1))
      queries.splice(0)
      rows.set("a", 2)
      for (const key of ["a", "c", "a", "drop table"]) yield* other.publish({ scope, kind: "row", key })
      yield* other.publish({ scope, kind: "other", key: "b" })
      yield* other.publish({ scope: "others", kind: "row", key: "b" })
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(queries, [["a"]])
      for (const fiber of fibers.slice(0, 2)) assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.void)
      assert.isUndefined(fibers[2]?.pollUnsafe())
    }))

  it.effect("while the bus is connected there is one query in 10 seconds, and otherwise one for each interval", () =>
    Effect.gen(function*() {
      const { changes, interrupt, queries } = yield* shared(new Map([["a", 1]]))
      yield* wait(changes, "a", 1)
      queries.splice(0)
      yield* TestClock.adjust(9_999)
      assert.deepStrictEqual(queries, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(queries.splice(0), [["a"]])
      yield* interrupt
      // A gap is reported when the bus is connected again.
      yield* TestClock.adjust(499)
      assert.deepStrictEqual(queries.splice(0), [["a"]])
      yield* TestClock.adjust(9_000)
      assert.deepStrictEqual(queries, [])
    }))

  it.effect("while the bus is not connected there is one query for each interval", () =>
    Effect.gen(function*() {
      const bus: ChangeBus.ChangeBusShape = {
        publish: () => Effect.void,
        subscribe: () => Effect.void,
        isConnected: Effect.succeed(false)
      }
      const { changes: make, queries } = tableOf(new Map([["a", 1]]), 500, { bus, scope })
      yield* wait(yield* make, "a", 1)
      queries.splice(0)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(queries, [["a"], ["a"]])
    }))

  it.effect("a change is published to the other processes, and announced to other stores of this process", () =>
    Effect.gen(function*() {
      const { bus, changes, other } = yield* shared(new Map([["a", 1]]))
      const published: Array<ChangeBus.Change> = []
      yield* other.subscribe({ scope, onChange: (change) => void published.push(change), onGap: () => {} })
      const { changes: make } = tableOf(new Map([["a", 1]]), Number.POSITIVE_INFINITY, { bus, scope })
      const { changes: makeOther } = tableOf(new Map([["a", 1]]), Number.POSITIVE_INFINITY, { bus, scope: "others" })
      const fiber = yield* wait(yield* make, "a", 1)
      const unrelated = yield* wait(yield* makeOther, "a", 1)
      yield* changes.announce("a", 2)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.void)
      assert.isUndefined(unrelated.pollUnsafe())
      assert.deepStrictEqual(published, [{ scope, kind: "row", key: "a" }])
    }))

  it.effect("a query after a report that fails ends the waits for that row with its error", () =>
    Effect.gen(function*() {
      const { connection } = yield* ChangeBus.makeMemory
      const [bus, other] = [yield* ChangeBus.make(connection), yield* ChangeBus.make(connection)]
      let isDown = false
      const changes = yield* Changes.make({
        pollMillis: 500,
        shared: { bus, scope },
        versions: () => isDown ? Effect.fail("down") : Effect.succeed(new Map([["a", 1], ["b", 1]]))
      })
      const fiber = yield* Effect.forkChild(Effect.flip(changes.await("a", 1)), { startImmediately: true })
      const unaffected = yield* Effect.forkChild(Effect.flip(changes.await("b", 1)), { startImmediately: true })
      isDown = true
      yield* other.publish({ scope, kind: "row", key: "a" })
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Fiber.join(fiber), "down")
      assert.isUndefined(unaffected.pollUnsafe())
    }))
})
