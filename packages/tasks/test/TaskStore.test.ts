import { StoredTask, TaskStore } from "@effect-mcp/tasks"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { heapInUse } from "../../session/test/support/heapInUse.ts"
import { storedTask } from "./support/storedTask.ts"

const task = (id: string, changes: Partial<StoredTask.StoredTask> = {}) => storedTask(id, { principal: id, ...changes })

const unlimited = { maxTasks: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }

describe("TaskStore.makeMemory", () => {
  it.effect("law 12: a store with maxTasks accepts no more tasks, and drops none, ended ones included", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory({ maxTasks: 2 })
      yield* store.create(task("a"), unlimited)
      yield* store.create(task("b", { ttlMillis: 1 }), unlimited)
      yield* store.replace(task("b", { version: 2, outcome: { _tag: "Cancelled" } }), unlimited)
      assert.strictEqual(yield* store.create(task("c"), unlimited), "TooMany")
      assert.strictEqual((yield* store.load("a"))?.id, "a")
      assert.strictEqual((yield* store.load("b"))?.id, "b")
      yield* store.remove("b")
      assert.strictEqual(yield* store.create(task("c"), unlimited), "Stored")
    }))

  it.effect("law 12: limits the bytes of the tasks of all principals, and takes what makes a task no larger", () =>
    Effect.gen(function*() {
      const bytes = StoredTask.bytesOf(task("a"))
      const store = yield* TaskStore.makeMemory({ maxBytes: 2 * bytes })
      assert.strictEqual(yield* store.create(task("a"), unlimited), "Stored")
      assert.strictEqual(yield* store.create(task("b", { ttlMillis: 1 }), unlimited), "TooLarge")
      assert.strictEqual(yield* store.create(task("b"), unlimited), "Stored")
      assert.strictEqual(yield* store.replace(task("a", { version: 2, ttlMillis: 1 }), unlimited), "TooLarge")
      const outcome = { _tag: "Error", error: { code: -32603, message: "the result is too large" } } as const
      assert.strictEqual(yield* store.replace(task("a", { version: 2, outcome }), unlimited), "Stored")
    }))

  it.effect("stores 10,000 tasks by default", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory({ maxBytes: Number.POSITIVE_INFINITY })
      for (let index = 0; index < 10_000; index++) yield* store.create(task(String(index)), unlimited)
      assert.strictEqual(yield* store.create(task("more"), unlimited), "TooMany")
    }))

  it.effect("every operation but a wait completes synchronously, without a fiber", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const operations = [
        store.create(task("a"), unlimited),
        store.load("a"),
        store.loadState("a"),
        store.setMessage("a", "other", "m", 1),
        store.replace(task("a", { version: 2 }), unlimited),
        store.awaitChange("a", 1),
        store.list("a", { limit: 1 }),
        store.list("a", { limit: 1, after: "x" }),
        store.due(1, 1),
        store.remove("a"),
        store.awaitChange("a", 2)
      ]
      assert.isTrue(operations.every(Exit.isExit))
    }))

  it.effect("a wait ends in the turn of the change", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      yield* store.create(task("a"), unlimited)
      const fiber = yield* Effect.forkChild(store.awaitChange("a", 1), { startImmediately: true })
      yield* store.replace(task("a", { version: 2 }), unlimited)
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
    }))

  it.live(
    "10,000 tasks that were created, awaited, ended and removed leave no bytes and no fibers",
    () =>
      Effect.gen(function*() {
        const store = yield* TaskStore.makeMemory()
        const fibers = FiberCount.make()
        const round = Effect.gen(function*() {
          for (let index = 0; index < 10_000; index++) {
            const id = `task-${index}`
            yield* store.create(task(id, { ttlMillis: 1000, lease: { owner: "a", expiresAt: 2000 } }), unlimited)
            const ended = yield* Effect.forkChild(store.awaitChange(id, 1), { startImmediately: true })
            const interrupted = yield* Effect.forkChild(store.awaitChange(id, 2), { startImmediately: true })
            const outcome = { _tag: "Result", result: { content: ["x".repeat(1000)] } } as const
            yield* store.replace(task(id, { version: 2, ttlMillis: 1000, outcome }), unlimited)
            yield* Fiber.join(ended)
            yield* Fiber.interrupt(interrupted)
          }
          const before = yield* store.due(2000, 20_000)
          assert.strictEqual(before.length, 10_000)
          for (const id of before) yield* store.remove(id)
        })
        yield* fibers.count(round)
        const before = heapInUse()
        yield* fibers.count(round)
        const left = heapInUse() - before
        assert.isBelow(left, 2 * 1024 * 1024)
        assert.strictEqual(fibers.living(), 0)
        assert.deepStrictEqual(yield* store.list("task-0", { limit: 1 }), { _tag: "Page", tasks: [], next: undefined })
      }),
    60_000
  )
})

describe("TaskStore.layerMemory", () => {
  it.effect("provides the store with its options", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.TaskStore
      assert.strictEqual(yield* store.create(task("a"), unlimited), "Stored")
      assert.strictEqual(yield* store.create(task("b"), unlimited), "TooMany")
    }).pipe(Effect.provide(TaskStore.layerMemory({ maxTasks: 1 }))))
})
