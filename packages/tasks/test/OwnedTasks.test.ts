/** The tasks of a store, whatever the store and other processes do. */
import { McpError } from "@effect-mcp/protocol"
import { StoredTask, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import { heapInUse } from "../../session/test/support/heapInUse.ts"
import { OwnedTasks } from "../src/internal/runs/OwnedTasks.ts"
import * as StatusNotifications from "../src/internal/runs/StatusNotifications.ts"
import * as TaskListening from "../src/internal/server/TaskListening.ts"
import { storedTask } from "./support/storedTask.ts"

type Store = TaskStore.TaskStore["Service"]

const limits = { maxTasks: 1_000, maxBytes: 1_000_000 }

const inMemory = Effect.map(
  Layer.build(TaskStore.layerMemory()),
  (context) => Context.get(context, TaskStore.TaskStore)
)

const quietly = Effect.provide(Logger.layer([]))

const failures: ReadonlyArray<readonly [name: string, call: () => Effect.Effect<never, TaskStore.TaskStoreError>]> = [
  ["fails", () => Effect.fail(new TaskStore.TaskStoreError({ cause: "the secret" }))],
  ["dies", () => Effect.die(new Error("the secret"))],
  ["hangs", () => Effect.never],
  ["is interrupted", () => Effect.interrupt],
  ["throws", () => {
    throw new Error("the secret")
  }]
]

describe("a store that", () => {
  for (const [name, call] of failures) {
    it.effect(`${name} is an internal error for the client, in time, without a word of the cause`, () =>
      Effect.gen(function*() {
        const broken: Store = {
          create: call,
          load: call,
          loadState: call,
          replace: call,
          renew: call,
          setMessage: call,
          list: call,
          remove: call,
          awaitChange: call,
          due: call
        }
        const tasks = new OwnedTasks(broken, limits)
        const answering = [
          tasks.create(storedTask("t")),
          tasks.load("t", "ada"),
          tasks.list("ada", undefined),
          tasks.outcome("t", "ada")
        ]
        for (const answer of answering) {
          const fiber = yield* Effect.forkChild(Effect.flip(answer), { startImmediately: true })
          yield* TestClock.adjust("5 seconds")
          assert.strictEqual(yield* Fiber.join(fiber), McpError.internalError)
        }
        for (const operation of [tasks.change("t", () => ({})), tasks.find("t"), tasks.remove("t"), tasks.due(0, 1)]) {
          const fiber = yield* Effect.forkChild(Effect.flip(operation), { startImmediately: true })
          yield* TestClock.adjust("5 seconds")
          assert.strictEqual((yield* Fiber.join(fiber))._tag, "TaskStoreError")
        }
      }).pipe(quietly))
  }
})

describe("changes of a task", () => {
  it.effect("of many at once are all made, each once", () =>
    Effect.gen(function*() {
      const store = yield* inMemory
      // Each operation takes a step, so that the changes overlap.
      const slow: Store = {
        ...store,
        load: (id) => Effect.andThen(Effect.yieldNow, Effect.suspend(() => store.load(id))),
        replace: (task, limits) => Effect.andThen(Effect.yieldNow, Effect.suspend(() => store.replace(task, limits)))
      }
      const tasks = new OwnedTasks(slow, limits)
      yield* tasks.create(storedTask("t", { message: "" }))
      yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => String.fromCharCode(97 + index)),
        (letter) => tasks.change("t", ({ message = "" }) => ({ message: `${message}${letter}` })),
        { concurrency: "unbounded" }
      )
      const { message = "", version } = yield* tasks.load("t", "ada")
      assert.strictEqual([...message].toSorted().join(""), "abcdefghijklmnopqrst")
      assert.strictEqual(version, 21)
    }))

  it.effect("that conflict again and again fail, and not for ever", () =>
    Effect.gen(function*() {
      const store = yield* inMemory
      let attempts = 0
      const contended: Store = {
        ...store,
        replace: () => {
          attempts++
          return Effect.succeed("Conflict")
        }
      }
      const tasks = new OwnedTasks(contended, limits)
      yield* tasks.create(storedTask("t"))
      assert.strictEqual((yield* Effect.flip(tasks.change("t", () => ({}))))._tag, "TaskStoreError")
      assert.strictEqual(attempts, 101)
    }))

  it.effect("set the time of the update, unless they keep it, and leave a task that they do not change", () =>
    Effect.gen(function*() {
      const tasks = new OwnedTasks(yield* inMemory, limits)
      yield* tasks.create(storedTask("t"))
      yield* TestClock.adjust("1 second")
      const changed = yield* tasks.change("t", () => ({ message: "half" }))
      assert.deepStrictEqual("task" in changed ? [changed.task.updatedAt, changed.task.version] : [], [1_000, 2])
      yield* TestClock.adjust("1 second")
      const kept = yield* tasks.change("t", ({ updatedAt }) => ({ updatedAt }))
      assert.strictEqual("task" in kept ? kept.task.updatedAt : 0, 1_000)
      assert.strictEqual((yield* tasks.change("t", () => undefined))._tag, "Unchanged")
      assert.strictEqual((yield* tasks.load("t", "ada")).version, 3)
      assert.strictEqual((yield* tasks.change("none", () => ({})))._tag, "Missing")
    }))
})

it.effect("a task is unknown from the end of its lifetime on, also before it is deleted", () =>
  Effect.gen(function*() {
    const tasks = new OwnedTasks(yield* inMemory, limits)
    yield* tasks.create(storedTask("t", { ttlMillis: 1_000 }))
    yield* TestClock.adjust(999)
    assert.strictEqual((yield* tasks.load("t", "ada")).id, "t")
    yield* TestClock.adjust(1)
    assert.strictEqual((yield* Effect.flip(tasks.load("t", "ada"))).code, -32602)
  }))

describe("hundreds of callers that follow one task", () => {
  /** Counts the calls of a store. */
  const counting = Effect.map(inMemory, (store) => {
    const counts = { awaitChange: 0, load: 0, loadState: 0 }
    const slowly = <A, E>(call: Effect.Effect<A, E>) => Effect.andThen(Effect.yieldNow, call)
    const counted: Store = {
      ...store,
      awaitChange: (id, version) =>
        Effect.andThen(Effect.sync(() => counts.awaitChange++), store.awaitChange(id, version)),
      load: (id) =>
        slowly(Effect.suspend(() => {
          counts.load++
          return store.load(id)
        })),
      loadState: (id) =>
        slowly(Effect.suspend(() => {
          counts.loadState++
          return store.loadState(id)
        }))
    }
    return { counts, store, tasks: new OwnedTasks(counted, limits) }
  })

  const lease = { owner: "process", expiresAt: 1_000_000 }

  it.effect("share one wait and one load of each version, and of the outcome", () =>
    Effect.gen(function*() {
      const { counts, store, tasks } = yield* counting
      yield* tasks.create(storedTask("t", { lease }))
      const state = yield* tasks.load("t", "ada")
      const followers = yield* Effect.forEach(
        Array.from({ length: 300 }),
        () => Effect.forkChild(tasks.outcome("t", "ada"), { startImmediately: true })
      )
      yield* TestClock.adjust(1)
      counts.loadState = 0
      assert.strictEqual(counts.awaitChange, 1)
      for (const message of ["one", "two"]) {
        assert.isTrue(yield* store.setMessage("t", "process", message, 5))
        yield* TestClock.adjust(1)
      }
      assert.deepStrictEqual(counts, { awaitChange: 3, load: 0, loadState: 2 })
      const { version } = yield* Effect.fromOption(Option.fromNullishOr(yield* tasks.find("t")))
      assert.strictEqual(version, state.version + 2)
      yield* store.replace(storedTask("t", { version: version + 1, outcome: { _tag: "Result", result: 7 } }), limits)
      for (const follower of followers) {
        assert.deepStrictEqual(yield* Fiber.join(follower), { _tag: "Result", result: 7 })
      }
      assert.deepStrictEqual(counts, { awaitChange: 3, load: 1, loadState: 4 })
    }))

  it.effect("leave no wait when the last of them stops, and do not disturb each other", () =>
    Effect.gen(function*() {
      const { counts, store, tasks } = yield* counting
      yield* tasks.create(storedTask("t", { lease }))
      const { version } = yield* tasks.load("t", "ada")
      const [first, second] = yield* Effect.all([
        Effect.forkChild(tasks.later({ id: "t", version }), { startImmediately: true }),
        Effect.forkChild(tasks.later({ id: "t", version }), { startImmediately: true })
      ])
      yield* Fiber.interrupt(first)
      yield* store.setMessage("t", "process", "one", 5)
      assert.strictEqual((yield* Fiber.join(second))?.message, "one")
      const third = yield* Effect.forkChild(tasks.later({ id: "t", version: version + 1 }), { startImmediately: true })
      yield* Fiber.interrupt(third)
      assert.strictEqual(counts.awaitChange, 2)
      const fourth = yield* Effect.forkChild(tasks.later({ id: "t", version: version + 1 }), { startImmediately: true })
      yield* store.remove("t")
      assert.isUndefined(yield* Fiber.join(fourth))
      assert.strictEqual(counts.awaitChange, 3)
    }))

  const followers: ReadonlyArray<
    readonly [
      name: string,
      follow: (tasks: OwnedTasks, task: StoredTask.StoredTask) => Effect.Effect<unknown, McpError.McpError>
    ]
  > = [
    [
      "a stream",
      (tasks, task) => TaskListening.follow(tasks, { taskChanged: () => Effect.void }, StoredTask.stateOf(task))
    ],
    [
      "a session that is notified",
      (tasks, task) => StatusNotifications.follow(tasks, { closed: Effect.never, send: () => Effect.void }, task)
    ],
    ["a request for the result", (tasks, { id }) => tasks.outcome(id, "ada")]
  ]
  for (const [name, follow] of followers) {
    it.effect(`hold no memory for the versions that they have seen: ${name}`, () =>
      Effect.gen(function*() {
        const store = yield* inMemory
        let seen = 0
        const tasks = new OwnedTasks({
          ...store,
          awaitChange: (id, version) =>
            Effect.andThen(Effect.sync(() => seen = version), store.awaitChange(id, version))
        }, limits)
        const task = storedTask("t", { lease })
        yield* tasks.create(task)
        yield* Effect.forkChild(follow(tasks, task), { startImmediately: true })
        const follows = Effect.fnUntraced(function*(versions: number) {
          for (let count = 0; count < versions; count++) {
            const known = seen
            yield* store.setMessage("t", "process", `step ${known}`, known)
            while (seen === known) yield* Effect.yieldNow
          }
        })
        yield* follows(1_000)
        const before = heapInUse()
        yield* follows(20_000)
        assert.isBelow(heapInUse() - before, 5_000_000)
      }), 30_000)
  }
})

describe("the list of a principal", () => {
  it.effect("has its tasks in pages, without those that have expired, and rejects foreign and invalid cursors", () =>
    Effect.gen(function*() {
      const tasks = new OwnedTasks(yield* inMemory, limits)
      for (let index = 0; index < 120; index++) {
        yield* tasks.create(storedTask(`a${index}`, { createdAt: index, ttlMillis: index % 2 === 0 ? 10 : 1_000_000 }))
        yield* tasks.create(storedTask(`b${index}`, { createdAt: index, principal: "ben" }))
      }
      yield* TestClock.adjust("1 minute")
      const ids: Array<string> = []
      let after: string | undefined
      do {
        const page: Effect.Success<ReturnType<typeof tasks.list>> = yield* tasks.list("ada", after)
        ids.push(...page.tasks.map(({ id }) => id))
        after = page.next
      } while (after !== undefined)
      assert.deepStrictEqual(ids, Array.from({ length: 60 }, (_, index) => `a${2 * index + 1}`))
      assert.strictEqual((yield* Effect.flip(tasks.list("ada", "page 2"))).code, -32602)
      const { next } = yield* tasks.list("ben", undefined)
      const foreign = yield* tasks.list("ada", next)
      assert.isTrue(foreign.tasks.every(({ principal }) => principal === "ada"))
    }))
})
