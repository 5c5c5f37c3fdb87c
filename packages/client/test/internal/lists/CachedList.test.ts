/** A list that is kept, and read again. */
import { McpClient, McpTarget } from "@effect-mcp/client"
import { ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as CachedList from "../../../src/internal/lists/CachedList.ts"

const info = { name: "host", version: "1.0.0" }

/** Makes a list whose readings have their numbers as elements, and end when the test ends them. */
const numbered = Effect.gen(function*() {
  const target = McpTarget.transport(ServerSession.layerMemory({}, { info }))
  const client = yield* McpClient.make(target, { info, healthCheck: false })
  const session = yield* client.session
  const readings: Array<Deferred.Deferred<void>> = []
  const list = new CachedList.CachedList<number>({
    send: (read) => read(session),
    pages: () => {
      const reading = Deferred.makeUnsafe<void>()
      const number = readings.push(reading)
      return Stream.fromEffect(Effect.as(Deferred.await(reading), number))
    },
    bounds: { maxMembers: 10, maxCharacters: 1_000, listTimeout: "1 minute" },
    cut: () => Effect.void,
    isSteady: () => true,
    fork: Effect.runFork
  })
  /** Asks for the list in the background, and returns the number of readings so far. */
  const ask = Effect.fnUntraced(function*(asked: typeof list.all) {
    const fiber = yield* Effect.forkChild(asked, { startImmediately: true })
    yield* Effect.yieldNow
    return { fiber, readings: readings.length }
  })
  const end = (number: number) => Effect.sync(() => Deferred.doneUnsafe(readings[number - 1] ?? never, Effect.void))
  return { ask, end, list }
})

const never = Deferred.makeUnsafe<void>()

describe("a fresh list", () => {
  it.effect("is read although one is kept, which other callers get until then", () =>
    Effect.gen(function*() {
      const { ask, end, list } = yield* numbered
      const first = yield* ask(list.all)
      yield* end(1)
      assert.deepStrictEqual(yield* Fiber.join(first.fiber), [1])
      const second = yield* ask(list.fresh)
      assert.strictEqual(second.readings, 2)
      assert.deepStrictEqual(yield* list.all, [1])
      yield* end(2)
      assert.deepStrictEqual(yield* Fiber.join(second.fiber), [2])
      assert.deepStrictEqual(yield* list.all, [2])
    }))

  it.effect("is not one whose reading began before", () =>
    Effect.gen(function*() {
      const { ask, end, list } = yield* numbered
      const before = yield* ask(list.all)
      const fresh = yield* ask(list.fresh)
      const other = yield* ask(list.fresh)
      assert.strictEqual(other.readings, 1)
      yield* end(1)
      assert.deepStrictEqual(yield* Fiber.join(before.fiber), [1])
      yield* Effect.yieldNow
      yield* end(2)
      assert.deepStrictEqual(yield* Fiber.join(fresh.fiber), [2])
      assert.deepStrictEqual(yield* Fiber.join(other.fiber), [2])
    }))
})

describe("a list beyond its bounds", () => {
  it.effect("is cut, and each problem is reported once, however often the list is read", () =>
    Effect.gen(function*() {
      const target = McpTarget.transport(ServerSession.layerMemory({}, { info }))
      const session = yield* (yield* McpClient.make(target, { info, healthCheck: false })).session
      const reports: Array<string> = []
      let members = 5
      const list = new CachedList.CachedList<number>({
        send: (read) => read(session),
        pages: () => Stream.range(1, members),
        bounds: { maxMembers: 3, maxCharacters: 1_000, listTimeout: "1 minute" },
        cut: (count, problem) => Effect.sync(() => reports.push(`${count}: ${problem}`)),
        isSteady: () => true,
        fork: Effect.runFork
      })
      const report = "3: it has more than 3 members; set maxMembers to read more"
      const expected: ReadonlyArray<readonly [members: number, reports: ReadonlyArray<string>]> = [
        [5, [report]],
        [7, [report]],
        [2, [report]],
        [5, [report, report]]
      ]
      for (const [count, reported] of expected) {
        members = count
        list.invalidate()
        assert.lengthOf(yield* list.all, Math.min(count, 3))
        assert.deepStrictEqual(reports, reported)
      }
    }))
})
