/**
 * The laws of every `TaskStore`. Each law is an effect, which any test runner can run. `TaskStoreSuite.suite` of the
 * entry `/vitest` makes a Vitest test of each.
 *
 * @stability unstable
 */
import { StoredTask, type TaskStore } from "@effect-mcp/tasks"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import { choose, oneOf, upTo } from "../internal/arbitrary/generators.ts"
import { likeIds, newId, oddIds } from "../internal/laws/ids.ts"
import { holdsFor, lawOf } from "../internal/laws/Law.ts"
import { byPlace, essence, next, stateOf, TaskModel, taskOf, tidied, unlimited } from "../internal/laws/TaskModel.ts"
import type { Options, StoreLaw } from "./StoreLaw.ts"

type Store = TaskStore.TaskStore["Service"]
type Task = StoredTask.StoredTask
type State = StoredTask.TaskState

/** The time in which an operation ends, and in which a wait ends after a change. */
const operationTimeout = "5 seconds"

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Runs operations at the same time. */
const atOnce = <A, E>(operations: ReadonlyArray<() => Effect.Effect<A, E>>): Effect.Effect<ReadonlyArray<A>, E> =>
  Effect.forEach(operations, (operation) => Effect.suspend(operation), { concurrency: "unbounded" })

/** Runs an operation, which has to end in time and not die. */
const prompt = <A>(operation: () => Effect.Effect<A, TaskStore.TaskStoreError>) =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(Effect.timeoutOption(Effect.suspend(operation), operationTimeout))
    if (Exit.isFailure(exit)) {
      assert.ok(Cause.hasFails(exit.cause), `it died instead of failing with a TaskStoreError: ${exit.cause}`)
      return
    }
    assert.ok(Option.isSome(exit.value), `it did not end within ${operationTimeout}`)
  })

/** Checks the result of an operation. */
const gives = <A, E>(expected: A, operation: Effect.Effect<A, E>, message?: string): Effect.Effect<void, E> =>
  Effect.map(operation, (result) => assert.deepStrictEqual(result, expected, message))

/** Checks that a store has these tasks, unchanged, and their states. */
const has = (store: Store, tasks: Iterable<Task>) =>
  Effect.forEach(
    tasks,
    (task) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(essence(yield* store.load(task.id)), essence(task))
        assert.deepStrictEqual(essence(yield* store.loadState(task.id)), stateOf(task))
      }),
    { discard: true }
  )

/** Returns the tasks with these states. */
const loadAll = (store: Store, states: ReadonlyArray<State>) =>
  Effect.map(
    Effect.forEach(states, ({ id }) => Effect.suspend(() => store.load(id))),
    (tasks) => tasks.filter((task) => task !== undefined)
  )

/** Checks that a store has none of these tasks. */
const lacks = (store: Store, ids: Iterable<string>) =>
  Effect.forEach(
    ids,
    (id) =>
      Effect.suspend(() =>
        Effect.andThen(gives(undefined, store.load(id), id), gives(undefined, store.loadState(id), id))
      ),
    {
      discard: true
    }
  )

/** Creates tasks, which have to fit. */
const createAll = (store: Store, tasks: ReadonlyArray<Task>) =>
  Effect.forEach(tasks, (task) => Effect.suspend(() => gives("Stored", store.create(task, unlimited), task.id)), {
    discard: true
  })

/** Returns the tasks of one page. */
const pageOf = Effect.fnUntraced(
  function*(store: Store, principal: string | undefined, limit: number, after?: string) {
    const listed = yield* store.list(principal, { limit, after })
    assert.ok(listed._tag === "Page", `cursor ${after} is invalid`)
    assert.ok(listed.tasks.length <= limit, `a page of ${listed.tasks.length} tasks, with a limit of ${limit}`)
    return listed
  }
)

/** Returns the states of all tasks of a list, and its cursors. */
const listAll = Effect.fnUntraced(function*(store: Store, principal: string | undefined, limit: number) {
  const tasks: Array<State> = []
  const cursors: Array<string> = []
  let after: string | undefined
  do {
    const page = yield* pageOf(store, principal, limit, after)
    tasks.push(...page.tasks)
    assert.ok(page.next === undefined || page.tasks.length > 0, "an empty page has a next one")
    after = page.next
    if (after === undefined) break
    assert.ok(!cursors.includes(after), `cursor ${after} is that of two pages`)
    cursors.push(after)
  } while (true)
  return { tasks, cursors }
})

const idsOf = (tasks: ReadonlyArray<Pick<Task, "id">>): ReadonlyArray<string> => tasks.map(({ id }) => id)

/** Returns those of these tasks that are due. Others may be due as well. */
const dueOf = (store: Store, tasks: ReadonlyArray<Task>, now: number) =>
  Effect.map(store.due(now, 10_000), (ids) => ids.filter((id) => idsOf(tasks).includes(id)))

/** Checks that an operation takes no longer for a large task than for a small one. */
const takesNoLonger = Effect.fnUntraced(function*<E>(
  ofSmall: () => Effect.Effect<unknown, E>,
  ofLarge: () => Effect.Effect<unknown, E>
) {
  const millisOf = (operation: () => Effect.Effect<unknown, E>) =>
    Effect.suspend(() => {
      // The time of the machine: an operation takes no virtual time.
      const begun = performance.now()
      return Effect.map(operation(), () => performance.now() - begun)
    })
  let [small, large] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  const isLonger = () => large > 2 * small + 5
  // The shortest of many times: other work of the process delays some.
  for (let round = 0; round < 20 || (round < 60 && isLonger()); round++) {
    small = Math.min(small, yield* millisOf(ofSmall))
    large = Math.min(large, yield* millisOf(ofLarge))
  }
  assert.ok(!isLonger(), `it takes ${small.toFixed(1)} ms, and ${large.toFixed(1)} ms if the task is large`)
})

/** Starts to wait for a change of a task. */
const waiting = (store: Store, id: string, version: number) =>
  Effect.forkChild(Effect.suspend(() => store.awaitChange(id, version)), { startImmediately: true })

/** Checks that a wait has not ended, after some time for its first query. */
const stillWaits = (...fibers: ReadonlyArray<Fiber.Fiber<void, unknown>>) =>
  Effect.map(Effect.sleep("20 millis"), () => {
    for (const fiber of fibers) assert.strictEqual(fiber.pollUnsafe(), undefined, "the wait has ended without a change")
  })

/** Checks that a wait ends in time. */
const ends = <E>(fiber: Fiber.Fiber<void, E>) =>
  Effect.map(
    Effect.timeoutOption(Fiber.join(fiber), operationTimeout),
    (result) => assert.ok(Option.isSome(result), `the wait did not end within ${operationTimeout} after the change`)
  )

const oddTexts = ["", "undefined", "null", "a b", "é漢🙂", "'\"\\", "\u0000", "\ud800", "x".repeat(300)] as const

/** Generates a JSON value. */
const json = Arbitrary.map(Arbitrary.schema(Schema.Json), (value): unknown => JSON.parse(JSON.stringify(value)))

const request = Arbitrary.map(json, (value) => ({ method: "tools/call", params: { value } }))

/** Generates values of every member that a client or a handler decides. */
const values: Arbitrary.Arbitrary<Partial<Task>> = Arbitrary.all({
  principal: oneOf<string | undefined>(undefined, ...oddTexts),
  request,
  ttlMillis: oneOf<number | undefined>(undefined, 0, 1.5, 86_400_000),
  message: oneOf<string | undefined>(undefined, ...oddTexts),
  outcome: choose<StoredTask.Outcome | undefined>(
    oneOf<StoredTask.Outcome | undefined>(undefined, { _tag: "Cancelled" }),
    Arbitrary.map(json, (result) => ({ _tag: "Result", result })),
    Arbitrary.map(json, (data) => ({ _tag: "Error", error: { code: -32603, message: "\ud800", data } }))
  ),
  cancelRequested: oneOf(false, true),
  questions: Arbitrary.map(Arbitrary.all([request, json]), ([request, answer]) => [
    { key: "__proto__", request, answer },
    { key: "open", request }
  ]),
  steps: Arbitrary.map(json, (result) => [{ key: "constructor", result }]),
  lease: oneOf<StoredTask.TaskLease | undefined>(undefined, { owner: "é", expiresAt: 1.5 }),
  resumption: oneOf<StoredTask.TaskResumption | undefined>(undefined, {
    profile: { revision: "2025-11-25", capabilities: {}, info: { name: "n", version: "1" } },
    claims: { constructor: "\ud800" },
    runs: 2
  })
})

/** One of three. */
const one = Schema.Literals([0, 1, 2])

const Replace = Schema.TaggedStruct("Replace", {
  task: one,
  by: Schema.Literals([1, 1, 1, 0, 2, -1]),
  outcome: Schema.Literals(["Open", "Open", "Cancelled", "Result"])
})

const Command = Schema.Union([
  Schema.TaggedStruct("Create", { task: one, mark: one, at: one }),
  Replace,
  Schema.TaggedStruct("Remove", { task: one })
])

const commands = Arbitrary.array(
  choose<typeof Command.Type>(Arbitrary.schema(Command), Arbitrary.schema(Replace)),
  { maxLength: 40 }
)

const outcomes: Readonly<Record<(typeof Replace.Type)["outcome"], StoredTask.Outcome | undefined>> = {
  Open: undefined,
  Cancelled: { _tag: "Cancelled" },
  Result: { _tag: "Result", result: { content: [] } }
}

const perform = Effect.fnUntraced(function*(
  store: Store,
  model: TaskModel,
  ids: ReadonlyArray<string>,
  command: typeof Command.Type
) {
  const id = ids[command.task] ?? ""
  switch (command._tag) {
    case "Create": {
      const task = yield* taskOf({ id, principal: `${ids[0]}-${command.mark}`, createdAt: 1 + command.at })
      yield* gives(model.create(task), store.create(task, unlimited), "create")
      break
    }
    case "Replace": {
      const known = model.tasks.get(id) ?? (yield* taskOf({ id }))
      const task = next(known, { version: known.version + command.by, outcome: outcomes[command.outcome] })
      yield* gives(model.replace(task), store.replace(task, unlimited), "replace")
      break
    }
    case "Remove":
      yield* store.remove(id)
      model.remove(id)
  }
  const known = model.tasks.get(id)
  yield* known === undefined ? lacks(store, [id]) : has(store, [known])
})

const forgedCursors = (cursor: string): ReadonlyArray<string> => [
  "",
  " ",
  "0",
  "1",
  "x",
  `${cursor} `,
  ` ${cursor}`,
  `${cursor}0`,
  `${cursor}=`,
  `${cursor}\n`,
  cursor.slice(0, -1),
  cursor.slice(1),
  "\u0000",
  "\ud800",
  "' or 1=1 --",
  "%",
  "__proto__",
  "x".repeat(10_000)
]

/**
 * Returns the laws for a store. Each law uses a store of its own, which ends with it, and tasks that did not exist
 * before. A store must have room for 100 tasks, and must end a wait within five seconds after the change.
 *
 * @example
 * ```ts
 * import { TaskStore } from "@effect-mcp/tasks"
 * import { TaskStoreLaws } from "@effect-mcp/testing/laws"
 * import * as Effect from "effect/Effect"
 *
 * const laws = TaskStoreLaws.laws(TaskStore.makeMemory(), { runs: 10 })
 * export const kept = Effect.as(Effect.forEach(laws, ({ run }) => run), true) // => true
 * ```
 *
 * @category laws
 */
export const laws = (
  make: Effect.Effect<Store, unknown, Scope.Scope>,
  { runs = 100 }: Options = {}
): ReadonlyArray<StoreLaw> => {
  const law = lawOf(tidied(make))
  return [
    ...keeping(law, runs),
    ...changing(law),
    ...limiting(law),
    ...listing(law, runs),
    ...waitingAndDue(law),
    ...failing(law)
  ]
}

type LawOf = ReturnType<typeof lawOf<Store>>

const keeping = (law: LawOf, runs: number): ReadonlyArray<StoreLaw> => [
  law(
    "after any operations, a load returns the task that was stored last and not removed, and each result is right",
    function*(store) {
      yield* holdsFor(
        commands,
        Effect.fnUntraced(function*(commands) {
          const ids = yield* Effect.all([newId, newId, newId])
          const model = new TaskModel()
          for (const command of commands) yield* perform(store, model, ids, command)
          yield* has(store, model.tasks.values())
          for (const mark of one.literals) {
            const { tasks } = yield* listAll(store, `${ids[0]}-${mark}`, 2)
            assert.deepStrictEqual(tasks.map(essence), model.list(`${ids[0]}-${mark}`).map(stateOf))
          }
          for (const id of ids) yield* store.remove(id)
        }),
        runs
      )
    }
  ),

  law("a task is created and replaced unchanged, whatever its values", function*(store) {
    yield* holdsFor(
      Arbitrary.all([values, values]),
      Effect.fnUntraced(function*([first, second]) {
        const task = yield* taskOf(first)
        yield* createAll(store, [task])
        yield* has(store, [task])
        const { principal: _, request: __, ...changes } = second
        const replaced = next(task, { ...changes, outcome: first.outcome ?? second.outcome })
        yield* gives("Stored", store.replace(replaced, unlimited))
        yield* has(store, [replaced])
        yield* store.remove(task.id)
      }),
      runs
    )
  }),

  law("a task of which the caller changes an array is stored as it was", function*(store) {
    const steps = [{ key: "a", result: 1 }]
    const task = yield* taskOf({ steps })
    const kept = JSON.parse(JSON.stringify(task))
    yield* createAll(store, [task])
    steps.push({ key: "b", result: 2 })
    assert.deepStrictEqual(essence(yield* store.load(task.id)), kept)
  }),

  law("a state is loaded and listed in a time that does not grow with the request of its task", function*(store) {
    const small = yield* taskOf()
    // 1.5 MB of JSON, which takes much longer to parse than to read.
    const params = { arguments: { arrays: Array.from({ length: 500_000 }, () => []) } }
    const large = yield* taskOf({ request: { method: "tools/call", params } })
    yield* createAll(store, [small, large])
    yield* takesNoLonger(() => store.loadState(small.id), () => store.loadState(large.id))
    const listed = (principal: string | undefined) => store.list(principal, { limit: 10 })
    yield* takesNoLonger(() => listed(small.principal), () => listed(large.principal))
  }),

  law("a task that was not created is unknown, whatever its id", function*(store) {
    for (const id of [...oddIds, ...oddTexts, ...yield* likeIds]) {
      yield* lacks(store, [id])
      yield* gives("Missing", store.replace(next(yield* taskOf({ id })), unlimited), id)
      yield* store.remove(id)
      yield* prompt(() => store.awaitChange(id, 1))
      yield* lacks(store, [id])
    }
  }),

  law("tasks with similar ids are separate", function*(store) {
    const tasks = yield* Effect.forEach(yield* likeIds, (id, index) => taskOf({ id, message: String(index) }))
    yield* createAll(store, tasks)
    yield* has(store, tasks)
    for (const [index, task] of tasks.entries()) {
      yield* gives("Stored", store.replace(next(task, { message: "changed" }), unlimited), task.id)
      yield* store.remove(task.id)
      yield* lacks(store, idsOf(tasks.slice(0, index + 1)))
      yield* has(store, tasks.slice(index + 1))
    }
  }),

  law("an id is taken until its task is removed, for every principal", function*(store) {
    const task = yield* taskOf()
    yield* createAll(store, [task])
    for (const principal of [task.principal, undefined, `${task.principal}-other`]) {
      const other = yield* taskOf({ id: task.id, principal, message: "other" })
      yield* gives("Taken", store.create(other, unlimited))
      yield* gives("Taken", store.create(other, { maxTasks: 1, maxBytes: 1 }))
      yield* gives([], Effect.map(store.list(`${task.principal}-other`, { limit: 10 }), tasksIn))
    }
    yield* has(store, [task])
    yield* store.remove(task.id)
    yield* createAll(store, [next(task, { principal: undefined, version: 1 })])
  }),

  law("of tasks that are created concurrently with one id, one is stored completely", function*(store) {
    const id = yield* newId
    const tasks = yield* Effect.forEach(
      numbers(20),
      (mark) => taskOf({ id, principal: `${id}-${mark}`, message: String(mark) })
    )
    const results = yield* atOnce(tasks.map((task) => () => store.create(task, unlimited)))
    assert.deepStrictEqual(results.toSorted(), ["Stored", ...numbers(19).map(() => "Taken")])
    yield* has(store, tasks.filter((_, index) => results[index] === "Stored"))
    for (const [index, { principal }] of tasks.entries()) {
      const listed = yield* store.list(principal, { limit: 10 })
      assert.strictEqual(tasksIn(listed).length, results[index] === "Stored" ? 1 : 0)
    }
  }),

  law("a removed task is unknown, is in no list, and no replacement restores it", function*(store) {
    const task = yield* taskOf({ ttlMillis: 1, createdAt: 1 })
    yield* createAll(store, [task])
    yield* store.remove(task.id)
    yield* lacks(store, [task.id])
    yield* gives("Missing", store.replace(next(task), unlimited))
    yield* lacks(store, [task.id])
    assert.deepStrictEqual((yield* listAll(store, task.principal, 10)).tasks, [])
    assert.deepStrictEqual(yield* dueOf(store, [task], 2), [])
    yield* store.remove(task.id)
    yield* createAll(store, [task])
    yield* has(store, [task])
  })
]

const tasksIn = (listed: TaskStore.Listed): ReadonlyArray<State> => listed._tag === "Page" ? listed.tasks : []

const changing = (law: LawOf): ReadonlyArray<StoreLaw> => [
  law("a replacement is stored only in place of the preceding version", function*(store) {
    const task = yield* taskOf()
    const second = next(task, { message: "second" })
    yield* createAll(store, [task])
    yield* gives("Stored", store.replace(second, unlimited))
    for (const version of [0, 1, 2, 4, 1.5, Number.MAX_SAFE_INTEGER]) {
      yield* gives("Conflict", store.replace({ ...second, message: "wrong", version }, unlimited), String(version))
      yield* has(store, [second])
    }
    yield* gives("Stored", store.replace(next(second), unlimited))
  }),

  law("of replacements that are stored concurrently for one version, one is stored completely", function*(store) {
    let task = yield* taskOf()
    yield* createAll(store, [task])
    for (const _ of numbers(5)) {
      const before = task
      const candidates = numbers(10).map((mark) => next(before, { message: `${mark}`.repeat(100) }))
      const results = yield* atOnce(candidates.map((candidate) => () => store.replace(candidate, unlimited)))
      assert.deepStrictEqual(results.toSorted(), [...numbers(9).map(() => "Conflict"), "Stored"])
      task = candidates[results.indexOf("Stored")] ?? task
      yield* has(store, [task])
    }
  }),

  law("every increment by concurrent callers that retry after a conflict counts", function*(store) {
    const task = yield* taskOf({ steps: [] })
    yield* createAll(store, [task])
    const increment = (key: string): Effect.Effect<void, TaskStore.TaskStoreError> =>
      Effect.gen(function*() {
        const present = yield* store.load(task.id)
        if (present === undefined) return
        const steps = [...present.steps, { key, result: key }]
        if ((yield* store.replace(next(present, { steps }), unlimited)) === "Conflict") yield* increment(key)
      })
    const keys = numbers(10).map(String)
    yield* atOnce(keys.map((key) => () => increment(key)))
    const stored = yield* store.load(task.id)
    assert.deepStrictEqual(stored?.steps.map(({ key }) => key).toSorted(), keys)
    assert.strictEqual(stored?.version, 11)
  }),

  law("a replacement changes neither the principal of a task nor its request or time of creation", function*(store) {
    const task = yield* taskOf()
    const other = `${task.principal}-other`
    yield* createAll(store, [task])
    const replaced = next(task, { message: "changed" })
    const request = { method: "prompts/get", params: { name: "x".repeat(1000) } }
    yield* gives("Stored", store.replace({ ...replaced, principal: other, request, createdAt: 1 }, unlimited))
    yield* has(store, [replaced])
    assert.deepStrictEqual((yield* listAll(store, task.principal, 10)).tasks.map(essence), [stateOf(replaced)])
    assert.deepStrictEqual((yield* listAll(store, other, 10)).tasks, [])
    // The bytes of the request were not counted.
    const sibling = yield* taskOf({ principal: task.principal })
    const maxBytes = StoredTask.bytesOf(replaced) + StoredTask.bytesOf(sibling)
    yield* gives("Stored", store.create(sibling, { ...unlimited, maxBytes }))
  }),

  law("an outcome never changes, and other members of an ended task may", function*(store) {
    const all: ReadonlyArray<StoredTask.Outcome> = [
      { _tag: "Result", result: { content: [] } },
      { _tag: "Result", result: { content: [], isError: true } },
      { _tag: "Result", result: null },
      { _tag: "Error", error: { code: -32603, message: "" } },
      { _tag: "Error", error: { code: -32603, message: "", data: 0 } },
      { _tag: "Cancelled" }
    ]
    for (const outcome of all) {
      const task = yield* taskOf()
      yield* createAll(store, [task])
      const ended = next(task, { outcome, lease: undefined })
      yield* gives("Stored", store.replace(ended, unlimited))
      for (const other of [undefined, ...all.filter((each) => each !== outcome)]) {
        yield* gives("Conflict", store.replace(next(ended, { outcome: other }), unlimited))
        yield* has(store, [ended])
      }
      const kept = next(ended, { ttlMillis: 1, message: "kept" })
      yield* gives("Stored", store.replace(kept, unlimited))
      yield* has(store, [kept])
    }
  }),

  law("a task that is removed while it is replaced stays removed", function*(store) {
    const tasks = yield* Effect.forEach(numbers(20), () => taskOf())
    yield* createAll(store, tasks)
    yield* atOnce(tasks.flatMap((task) => [
      () => Effect.asVoid(store.replace(next(task), unlimited)),
      () => store.remove(task.id),
      () => Effect.asVoid(store.replace(next(task), unlimited))
    ]))
    yield* lacks(store, idsOf(tasks))
    for (const { principal } of tasks) assert.deepStrictEqual((yield* listAll(store, principal, 10)).tasks, [])
  })
]

/** Returns members that count the bytes of a text. */
const sized = (text: string): Partial<Task> => ({ steps: [{ key: "a", result: text }] })

const limiting = (law: LawOf): ReadonlyArray<StoreLaw> => [
  law("a principal has at most its number of tasks, and no other principal is affected", function*(store) {
    const limits = { ...unlimited, maxTasks: 2 }
    const { principal } = yield* taskOf()
    const own = taskOf({ principal })
    const [first, second, third] = yield* Effect.all([own, own, own])
    yield* gives("Stored", store.create(first, limits))
    yield* gives("Stored", store.create(second, limits))
    yield* gives("TooMany", store.create(third, limits))
    yield* gives("TooMany", store.create(third, { maxTasks: 0, maxBytes: 0 }))
    yield* lacks(store, [third.id])
    assert.strictEqual((yield* listAll(store, principal, 10)).tasks.length, 2)
    for (const other of [`${principal}-`, principal?.toUpperCase(), `"${principal}"`]) {
      yield* gives("Stored", store.create(yield* taskOf({ principal: other }), limits))
    }
    // Ended tasks count as well.
    yield* gives("Stored", store.replace(next(first, { outcome: { _tag: "Cancelled" } }), limits))
    yield* gives("TooMany", store.create(third, limits))
    yield* store.remove(second.id)
    yield* store.remove(second.id)
    yield* gives("Stored", store.create(third, limits))
    yield* gives("TooMany", store.create(second, limits))
  }),

  law("the tasks of a principal have at most its bytes, and a rejected task changes nothing", function*(store) {
    const { principal } = yield* taskOf()
    const first = yield* taskOf({ principal, ...sized("x".repeat(1000)) })
    const second = yield* taskOf({ principal, ...sized("漢".repeat(500)) })
    const both = StoredTask.bytesOf(first) + StoredTask.bytesOf(second)
    yield* gives("TooLarge", store.create(first, { ...unlimited, maxBytes: StoredTask.bytesOf(first) - 1 }))
    yield* gives("Stored", store.create(first, { ...unlimited, maxBytes: StoredTask.bytesOf(first) }))
    yield* gives("TooLarge", store.create(second, { ...unlimited, maxBytes: both - 1 }))
    yield* lacks(store, [second.id])
    const limits = { ...unlimited, maxBytes: both }
    yield* gives("Stored", store.create(second, limits))
    const larger = next(first, sized("x".repeat(1001)))
    yield* gives("TooLarge", store.replace(larger, limits))
    yield* has(store, [first, second])
    // Bytes that a replacement frees, and those of a removed task, are available at once.
    const smaller = next(first, sized("x".repeat(900)))
    yield* gives("Stored", store.replace(smaller, limits))
    yield* gives("Stored", store.replace(next(second, sized("漢".repeat(600))), limits))
    yield* gives("TooLarge", store.replace(next(smaller, sized("x".repeat(901))), limits))
    yield* store.remove(second.id)
    yield* gives("Stored", store.replace(next(smaller, sized("x".repeat(1500))), limits))
  }),

  law("a task at the limits can be leased, cancelled, made smaller, and ended with a short error", function*(store) {
    const task = yield* taskOf({ ...sized("step"), version: 1 })
    const limits = { maxTasks: 1, maxBytes: StoredTask.bytesOf(task) }
    yield* gives("Stored", store.create(task, limits))
    const leased = next(task, { lease: { owner: "x".repeat(100), expiresAt: 1e15 } })
    yield* gives("Stored", store.replace(leased, limits))
    const cancelled = next(leased, { cancelRequested: true })
    yield* gives("Stored", store.replace(cancelled, limits))
    // The limits may be lower than they were.
    const smaller = next(cancelled, sized("s"))
    yield* gives("Stored", store.replace(smaller, { maxTasks: 0, maxBytes: 0 }))
    const error = { code: -32603, message: "x".repeat(500) }
    yield* gives("Stored", store.replace(next(smaller, { outcome: { _tag: "Error", error } }), limits))
  }),

  law("anonymous clients share one allowance, which is not that of any name", function*(store) {
    // Other tests may have left tasks.
    const before = yield* loadAll(store, (yield* listAll(store, undefined, 100)).tasks)
    const first = yield* taskOf({ principal: undefined })
    const second = yield* taskOf({ principal: undefined })
    const limits = { ...unlimited, maxTasks: before.length + 1 }
    yield* gives("Stored", store.create(first, limits))
    yield* gives("TooMany", store.create(second, limits))
    const bytes = [...before, first].reduce((sum, task) => sum + StoredTask.bytesOf(task), 0)
    yield* gives("TooLarge", store.create(second, { ...unlimited, maxBytes: bytes }))
    for (const principal of ["", "undefined", "null"]) {
      const known = (yield* listAll(store, principal, 100)).tasks
      assert.ok(known.every((task) => task.principal === principal))
      const named = yield* taskOf({ principal })
      yield* gives("Stored", store.create(named, { ...unlimited, maxTasks: known.length + 1 }))
    }
  }),

  law("of tasks that are created concurrently, no more are stored than the limits permit", function*(store) {
    for (const by of ["tasks", "bytes"] as const) {
      const { principal } = yield* taskOf()
      const tasks = yield* Effect.forEach(
        numbers(20),
        (mark) => taskOf({ id: `${principal}-${String(mark).padStart(2, "0")}`, principal })
      )
      const bytes = tasks.slice(0, 5).reduce((sum, task) => sum + StoredTask.bytesOf(task), 0)
      const limits = by === "tasks" ? { ...unlimited, maxTasks: 5 } : { ...unlimited, maxBytes: bytes }
      const results = yield* atOnce(tasks.map((task) => () => store.create(task, limits)))
      assert.strictEqual(results.filter((result) => result === "Stored").length, 5)
      const stored = tasks.filter((_, index) => results[index] === "Stored")
      yield* has(store, stored)
      assert.deepStrictEqual(idsOf((yield* listAll(store, principal, 3)).tasks), idsOf(stored.toSorted(byPlace)))
    }
  })
]

const listing = (law: LawOf, runs: number): ReadonlyArray<StoreLaw> => [
  law(
    "the pages of a list have each task of the principal once, in the order of creation, whatever their size",
    function*(store) {
      yield* holdsFor(
        Arbitrary.all([Arbitrary.array(upTo(5), { maxLength: 12 }), oneOf(1, 2, 3, 7, 100)]),
        Effect.fnUntraced(function*([times, limit]) {
          const { principal } = yield* taskOf()
          const tasks = yield* Effect.forEach(
            times,
            (time, index) => taskOf({ id: `${principal}-${(index * 7) % 12}`, principal, createdAt: 1e12 + time / 2 })
          )
          yield* createAll(store, tasks)
          const listed = yield* listAll(store, principal, limit)
          assert.deepStrictEqual(listed.tasks.map(essence), tasks.toSorted(byPlace).map(stateOf))
          assert.strictEqual(listed.cursors.length, Math.max(0, Math.ceil(tasks.length / limit) - 1))
          for (const { id } of tasks) {
            yield* store.remove(id)
          }
        }),
        runs
      )
    }
  ),

  law("a cursor continues at its place after tasks were removed, replaced and created", function*(store) {
    const { principal } = yield* taskOf()
    const at = (time: number) => taskOf({ principal, createdAt: time })
    const [first, second, third, fourth, fifth] = yield* Effect.all([at(1), at(2), at(3), at(4), at(5)])
    yield* createAll(store, [first, second, third, fourth, fifth])
    const { next: cursor, tasks } = yield* pageOf(store, principal, 2)
    assert.deepStrictEqual(idsOf(tasks), idsOf([first, second]))
    for (const { id } of [first, second, third]) yield* store.remove(id)
    yield* gives("Stored", store.replace(next(fifth), unlimited))
    const sixth = yield* at(6)
    yield* createAll(store, [yield* at(0), yield* at(0.5), yield* at(1.5), sixth])
    const later = yield* pageOf(store, principal, 10, cursor)
    assert.deepStrictEqual(idsOf(later.tasks), idsOf([fourth, fifth, sixth]))
    for (const { id } of [fourth, fifth, sixth]) yield* store.remove(id)
    assert.deepStrictEqual(yield* pageOf(store, principal, 10, cursor), { _tag: "Page", tasks: [], next: undefined })
  }),

  law("a cursor that no list returned is invalid, and is no failure", function*(store) {
    const { principal } = yield* taskOf()
    yield* createAll(store, yield* Effect.forEach(numbers(3), () => taskOf({ principal })))
    const { next: cursor = "" } = yield* pageOf(store, principal, 1)
    assert.notStrictEqual(cursor, "")
    for (const after of forgedCursors(cursor)) {
      yield* gives({ _tag: "InvalidCursor" }, store.list(principal, { limit: 1, after }), after)
    }
  }),

  law(
    "a list has no task of another principal, with any cursor of any principal, whatever was done to the tasks",
    function*(store) {
      yield* holdsFor(
        Arbitrary.array(
          Arbitrary.all({
            owner: upTo(5),
            at: upTo(3),
            then: oneOf("nothing", "replace", "steal", "remove")
          }),
          { maxLength: 12 }
        ),
        Effect.fnUntraced(function*(steps) {
          const name = yield* newId
          const principals = [undefined, name, name.toUpperCase(), `${name}%`, `${name}_`, `"${name}"`]
          const all: Array<Task> = []
          const gone = new Set<string>()
          for (const step of steps) {
            const task = yield* taskOf({ principal: principals[step.owner], createdAt: 1e12 + step.at })
            all.push(task)
            yield* createAll(store, [task])
            const principal = step.then === "steal" ? principals[(step.owner + 1) % 6] : task.principal
            if (step.then === "remove") {
              yield* store.remove(task.id)
              gone.add(task.id)
            } else if (step.then !== "nothing") {
              yield* gives("Stored", store.replace(next(task, { principal, message: "changed" }), unlimited))
            }
          }
          const present = all.filter(({ id }) => !gone.has(id))
          const lists = yield* Effect.forEach(principals, (principal) => listAll(store, principal, 1))
          for (const [index, principal] of principals.entries()) {
            const own = present.filter((task) => task.principal === principal).toSorted(byPlace)
            const listed = lists[index]?.tasks ?? []
            assert.ok(listed.every((task) => task.principal === principal))
            // Other tests may have left tasks of anonymous clients.
            assert.deepStrictEqual(idsOf(listed).filter((id) => idsOf(all).includes(id)), idsOf(own))
            for (const after of lists.flatMap(({ cursors }) => cursors.slice(-20))) {
              const page = tasksIn(yield* store.list(principal, { limit: 100, after }))
              assert.ok(page.every((task) => task.principal === principal), `${principal} after ${after}`)
            }
          }
          for (const { id } of all) yield* store.remove(id)
        }),
        runs
      )
    }
  )
]

const waitingAndDue = (law: LawOf): ReadonlyArray<StoreLaw> => [
  law("a wait for a change that has happened ends, and so does one for an unknown task", function*(store) {
    const task = yield* taskOf()
    yield* createAll(store, [task])
    yield* ends(yield* waiting(store, task.id, 0))
    yield* gives("Stored", store.replace(next(task), unlimited))
    yield* ends(yield* waiting(store, task.id, 1))
    yield* store.remove(task.id)
    yield* ends(yield* waiting(store, task.id, 2))
  }),

  law("a wait ends when a later version is stored, and not before", function*(store) {
    const task = yield* taskOf()
    const other = yield* taskOf()
    yield* createAll(store, [task, other])
    const fiber = yield* waiting(store, task.id, 1)
    const later = yield* waiting(store, task.id, 2)
    yield* gives("Conflict", store.replace(task, unlimited))
    yield* gives("Stored", store.replace(next(other), unlimited))
    yield* store.remove(other.id)
    yield* stillWaits(fiber, later)
    yield* gives("Stored", store.replace(next(task), unlimited))
    yield* ends(fiber)
    yield* stillWaits(later)
    yield* gives("Stored", store.replace(next(next(task)), unlimited))
    yield* ends(later)
  }),

  law("a wait ends when the task is removed", function*(store) {
    const task = yield* taskOf()
    yield* createAll(store, [task])
    const fiber = yield* waiting(store, task.id, 1)
    yield* stillWaits(fiber)
    yield* store.remove(task.id)
    yield* ends(fiber)
  }),

  law(
    "all waits for a task end with a change, those for others do not, and interrupted ones affect no other",
    function*(store) {
      const tasks = yield* Effect.forEach(numbers(3), () => taskOf())
      yield* createAll(store, tasks)
      const [first, second] = [tasks[0] ?? (yield* taskOf()), tasks[1] ?? (yield* taskOf())]
      const fibers = yield* Effect.forEach(numbers(20), () => waiting(store, first.id, 1))
      const other = yield* waiting(store, second.id, 1)
      yield* stillWaits(...fibers, other)
      yield* Effect.forEach(fibers.slice(0, 10), Fiber.interrupt)
      yield* stillWaits(...fibers.slice(10), other)
      yield* prompt(() => gives("Stored", store.replace(next(first), unlimited)))
      yield* Effect.forEach(fibers.slice(10), ends)
      yield* stillWaits(other)
      yield* Fiber.interrupt(other)
      const again = yield* waiting(store, second.id, 1)
      yield* stillWaits(again)
      yield* prompt(() => gives("Stored", store.replace(next(second), unlimited)))
      yield* ends(again)
    }
  ),

  law(
    "tasks are due when the lease of an unfinished one expires and when the ttl of any passes, oldest first",
    function*(store) {
      const lease = (expiresAt: number) => ({ owner: "process", expiresAt })
      const ended = { outcome: { _tag: "Cancelled" } } as const
      const tasks = yield* Effect.all({
        unlimited: taskOf({ createdAt: 1, lease: undefined }),
        ended: taskOf({ ...ended, createdAt: 1, lease: lease(2) }),
        leased: taskOf({ createdAt: 1, lease: lease(30) }),
        leasedLonger: taskOf({ createdAt: 2, lease: lease(50), ttlMillis: 200 }),
        passing: taskOf({ createdAt: 10, lease: undefined, ttlMillis: 10 }),
        endedAndPassing: taskOf({ ...ended, createdAt: 20, lease: lease(2), ttlMillis: 20 }),
        passingBeforeItsLease: taskOf({ createdAt: 5, lease: lease(300), ttlMillis: 55 })
      })
      const all = Object.values(tasks)
      yield* createAll(store, all)
      const order = ["passing", "leased", "endedAndPassing", "leasedLonger", "passingBeforeItsLease"] as const
      const at = [20, 30, 40, 50, 60]
      for (const [index, time] of at.entries()) {
        const ids = order.slice(0, index + 1).map((name) => tasks[name].id)
        assert.deepStrictEqual(yield* dueOf(store, all, time - 1), ids.slice(0, -1), `before ${time}`)
        assert.deepStrictEqual(yield* dueOf(store, all, time), ids, `at ${time}`)
      }
      const due = yield* store.due(60, 10_000)
      assert.deepStrictEqual(yield* store.due(60, 2), due.slice(0, 2))
    }
  ),

  law("a lease is renewed without a new version, and wakes no caller that waits", function*(store) {
    const task = yield* taskOf({ createdAt: 1, lease: { owner: "process", expiresAt: 2 }, ttlMillis: 49 })
    yield* createAll(store, [task])
    const waiter = yield* waiting(store, task.id, 1)
    yield* gives(true, store.renew(task.id, { owner: "process", expiresAt: 30 }))
    yield* stillWaits(waiter)
    const renewed = { ...task, lease: { owner: "process", expiresAt: 30 } }
    yield* has(store, [renewed])
    assert.deepStrictEqual((yield* listAll(store, task.principal, 10)).tasks.map(essence), [stateOf(renewed)])
    assert.deepStrictEqual(yield* dueOf(store, [task], 29), [])
    assert.deepStrictEqual(yield* dueOf(store, [task], 30), [task.id])
    // It may be deleted before its lease expires.
    yield* gives(true, store.renew(task.id, { owner: "process", expiresAt: 90 }))
    assert.deepStrictEqual(yield* dueOf(store, [task], 49), [])
    assert.deepStrictEqual(yield* dueOf(store, [task], 50), [task.id])
    // A change keeps what it says of the lease.
    yield* gives("Stored", store.replace(next(renewed, { message: "changed" }), unlimited))
    yield* has(store, [next(renewed, { message: "changed" })])
    yield* Fiber.interrupt(waiter)
  }),

  law(
    "a status message is set as a new version, which wakes callers that wait, and changes nothing else",
    function*(store) {
      const questions = [{ key: "a", request: { method: "elicitation/create", params: { message: "?" } } }]
      const task = yield* taskOf({ questions, lease: { owner: "process", expiresAt: 2 } })
      const limits = { maxTasks: 1, maxBytes: StoredTask.bytesOf(task) }
      yield* gives("Stored", store.create(task, limits))
      yield* gives(true, store.renew(task.id, { owner: "process", expiresAt: 30 }))
      let known = { ...task, lease: { owner: "process", expiresAt: 30 } }
      for (const message of ["x".repeat(1024), ...oddTexts.toReversed()]) {
        const waiter = yield* waiting(store, task.id, known.version)
        yield* stillWaits(waiter)
        const updatedAt = known.updatedAt + 1.5
        yield* gives(true, store.setMessage(task.id, "process", message, updatedAt))
        yield* ends(waiter)
        yield* gives("Conflict", store.replace(next(known), unlimited), "a replacement of the version before")
        known = { ...next(known, { message, updatedAt }), lease: known.lease }
        yield* has(store, [known])
        assert.deepStrictEqual((yield* listAll(store, task.principal, 10)).tasks.map(essence), [stateOf(known)])
        assert.deepStrictEqual(yield* dueOf(store, [task], 29), [])
      }
      yield* gives(true, store.renew(task.id, { owner: "process", expiresAt: 40 }))
      const later = { ...known, lease: { owner: "process", expiresAt: 40 } }
      yield* has(store, [later])
      // The message that was set counts no bytes, and a replacement keeps it or sets another one.
      yield* gives("Stored", store.replace(next(later), limits))
      yield* has(store, [next(later)])
      yield* gives("Stored", store.replace(next(next(later), { message: "other" }), limits))
      yield* has(store, [next(next(later), { message: "other" })])
    }
  ),

  law("only the process that has the lease of an unfinished task sets its status message", function*(store) {
    const lease = { owner: "process", expiresAt: 2 }
    const [leased, unleased, ended, unknown] = yield* Effect.all([
      taskOf({ lease }),
      taskOf({ lease: undefined }),
      taskOf({ lease, outcome: { _tag: "Cancelled" } }),
      taskOf()
    ])
    yield* createAll(store, [leased, unleased, ended])
    yield* gives(false, store.setMessage(leased.id, "Process", "m", 1))
    for (const { id } of [unleased, ended, unknown]) yield* gives(false, store.setMessage(id, "process", "m", 1))
    yield* has(store, [leased, unleased, ended])
    yield* lacks(store, [unknown.id])
  }),

  law("the state of a task follows its questions and its outcome", function*(store) {
    const question = (key: string) => ({ key, request: { method: "elicitation/create", params: { message: key } } })
    const outcomes: ReadonlyArray<StoredTask.Outcome> = [
      { _tag: "Result", result: { content: [] } },
      { _tag: "Result", result: { content: [], isError: true } },
      { _tag: "Error", error: { code: -32603, message: "" } },
      { _tag: "Cancelled" }
    ]
    for (const outcome of outcomes) {
      const task = yield* taskOf()
      yield* createAll(store, [task])
      const asking = next(task, { questions: [question("a"), question("b")] })
      const answered = next(asking, { questions: [{ ...question("a"), answer: {} }, question("b")] })
      for (const task of [asking, answered, next(answered, { outcome })]) {
        yield* gives("Stored", store.replace(task, unlimited))
        yield* has(store, [task])
        assert.deepStrictEqual((yield* listAll(store, task.principal, 10)).tasks.map(essence), [stateOf(task)])
      }
    }
  }),

  law("only the process that has the lease of an unfinished task renews it", function*(store) {
    const lease = { owner: "process", expiresAt: 2 }
    const [leased, unleased, ended, unknown] = yield* Effect.all([
      taskOf({ createdAt: 1, lease }),
      taskOf({ createdAt: 1, lease: undefined }),
      taskOf({ createdAt: 1, lease, outcome: { _tag: "Cancelled" } }),
      taskOf()
    ])
    yield* createAll(store, [leased, unleased, ended])
    const later = { owner: "process", expiresAt: 90 }
    yield* gives(false, store.renew(leased.id, { owner: "Process", expiresAt: 90 }))
    for (const { id } of [unleased, ended, unknown]) yield* gives(false, store.renew(id, later))
    yield* has(store, [leased, unleased, ended])
    yield* lacks(store, [unknown.id])
    assert.deepStrictEqual(yield* dueOf(store, [leased, unleased, ended], 2), [leased.id])
    const other = next(leased, { lease: { owner: "é", expiresAt: 3 } })
    yield* gives("Stored", store.replace(other, unlimited))
    yield* gives(false, store.renew(leased.id, later))
    yield* gives(true, store.renew(leased.id, { owner: "é", expiresAt: 90 }))
    yield* has(store, [{ ...other, lease: { owner: "é", expiresAt: 90 } }])
  }),

  law("a task that is leased again, or has ended, is no longer due, and a removed one neither", function*(store) {
    const old = { createdAt: 1, lease: { owner: "process", expiresAt: 2 } }
    const tasks = yield* Effect.all([taskOf(old), taskOf(old), taskOf(old), taskOf(old)])
    const [leased, ended, removed, handedOver] = tasks
    yield* createAll(store, tasks)
    assert.strictEqual((yield* dueOf(store, tasks, 2)).length, 4)
    yield* gives("Stored", store.replace(next(leased, { lease: { owner: "other", expiresAt: 9 } }), unlimited))
    yield* gives("Stored", store.replace(next(ended, { outcome: { _tag: "Cancelled" } }), unlimited))
    yield* store.remove(removed.id)
    yield* gives("Conflict", store.replace({ ...handedOver, lease: undefined }, unlimited))
    assert.deepStrictEqual(yield* dueOf(store, tasks, 8), [handedOver.id])
    assert.deepStrictEqual(yield* dueOf(store, tasks, 9), [handedOver.id, leased.id])
  })
]

const failing = (law: LawOf): ReadonlyArray<StoreLaw> => [
  law("every operation ends within 5 seconds, for any arguments, and none throws or dies", function*(store) {
    for (const text of [...oddIds, ...oddTexts, "x".repeat(2000)]) {
      const task = yield* taskOf({ id: `${text}-${yield* newId}`, principal: text, message: text })
      yield* prompt(() => store.create(task, unlimited))
      yield* prompt(() => store.load(task.id))
      yield* prompt(() => store.loadState(task.id))
      yield* prompt(() => store.setMessage(task.id, text, text, 1.5))
      yield* prompt(() => store.replace(next(task), unlimited))
      yield* prompt(() => store.list(text, { limit: 1, after: text }))
      yield* prompt(() => store.awaitChange(task.id, 0))
      yield* prompt(() => store.awaitChange(text, 0))
      yield* prompt(() => store.remove(task.id))
      yield* prompt(() => store.load(text))
      yield* prompt(() => store.loadState(text))
      yield* prompt(() => store.setMessage(text, text, text, 0))
      yield* prompt(() => store.remove(text))
    }
    for (const now of [0, -1, 1.5, Number.MAX_SAFE_INTEGER]) yield* prompt(() => store.due(now, 1))
  }),

  law("an interrupted operation blocks no other, and is completed or has no effect", function*(store) {
    for (const turns of numbers(5)) {
      const first = yield* taskOf()
      const { principal } = first
      const added = yield* taskOf({ principal })
      const second = next(first, { message: "second", outcome: { _tag: "Cancelled" } })
      const operations = [
        () => store.create(added, unlimited),
        () => store.replace(second, unlimited),
        () => store.remove(first.id),
        () => store.load(first.id),
        () => store.list(principal, { limit: 10 }),
        () => store.awaitChange(first.id, 1)
      ]
      for (const operation of operations) {
        yield* createAll(store, [first])
        const fiber = yield* Effect.forkChild(Effect.suspend<unknown, unknown, never>(operation), {
          startImmediately: true
        })
        for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
        const loaded = yield* Effect.timeoutOption(
          Effect.suspend(() => listAll(store, principal, 10)),
          operationTimeout
        )
        assert.ok(Option.isSome(loaded), `no list is loaded within ${operationTimeout} after that`)
        const tasks = yield* loadAll(store, loaded.value.tasks)
        for (const task of tasks) {
          const known = [first, second, added].map((each) => JSON.stringify(essence(each)))
          assert.ok(known.includes(JSON.stringify(essence(task))), `stored in part: ${JSON.stringify(task)}`)
        }
        yield* has(store, tasks)
        // The tasks and their bytes were counted as they are stored.
        const more = yield* taskOf({ principal })
        const bytes = [...tasks, more].reduce((sum, task) => sum + StoredTask.bytesOf(task), 0)
        yield* gives("TooMany", store.create(more, { ...unlimited, maxTasks: tasks.length }))
        yield* gives("TooLarge", store.create(more, { ...unlimited, maxBytes: bytes - 1 }))
        yield* gives("Stored", store.create(more, { maxTasks: tasks.length + 1, maxBytes: bytes }))
        for (const { id } of [first, added, more]) yield* store.remove(id)
      }
    }
  })
]
