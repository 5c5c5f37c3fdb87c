/** Tasks that run in one process, and in two on one store, in virtual time. */
import { McpError } from "@effect-mcp/protocol"
import { MemoryBudget } from "@effect-mcp/session"
import { type StoredTask, TaskStore } from "@effect-mcp/tasks"
import { FiberCount, VirtualRuntime } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { OwnedTasks } from "../src/internal/runs/OwnedTasks.ts"
import { TaskRuns } from "../src/internal/runs/TaskRuns.ts"

const limits = { maxTasks: 3, maxBytes: 1_000_000 }

const options = {
  pollMillis: 500,
  ttlMillis: { default: 60_000, longest: 3_600_000 },
  leaseMillis: 30_000
}

const request: StoredTask.TaskRequest = { method: "tools/call", params: { name: "report" } }

const ada = { principal: "ada", request, ttlMillis: undefined }

/** Runs a program in virtual time. Nothing of it may be left then. */
const virtually = <A, E>(program: Effect.Effect<A, E, Scope.Scope>): A => {
  const runtime = VirtualRuntime.make({ seed: 1 })
  const fiber = runtime.start(Effect.scoped(program))
  runtime.advance(86_400_000)
  const exit = fiber.pollUnsafe()
  if (exit === undefined) throw new Error("the program does not end")
  if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
  assert.strictEqual(runtime.living(), 0)
  return exit.value
}

const storeInMemory = Effect.map(
  Layer.build(TaskStore.layerMemory()),
  (context) => Context.get(context, TaskStore.TaskStore)
)

/** A process on a store, which can be stopped, or killed: then it stores nothing more. */
const processOn = Effect.fnUntraced(function*(
  store: TaskStore.TaskStore["Service"],
  leaseMillis = options.leaseMillis
) {
  const scope = yield* Scope.make()
  let isKilled = false
  const dead = <A>(): Effect.Effect<A> => Effect.never
  const own: TaskStore.TaskStore["Service"] = {
    ...store,
    replace: (task, limits) => isKilled ? dead() : store.replace(task, limits),
    renew: (id, lease) => isKilled ? dead() : store.renew(id, lease),
    setMessage: (id, owner, message, updatedAt) => isKilled ? dead() : store.setMessage(id, owner, message, updatedAt),
    load: (id) => isKilled ? dead() : store.load(id),
    loadState: (id) => isKilled ? dead() : store.loadState(id)
  }
  const tasks = new OwnedTasks(own, limits)
  const runs = yield* Scope.provide(TaskRuns.make(tasks, { ...options, leaseMillis }), scope)
  const stop = Scope.close(scope, Exit.void)
  yield* Effect.addFinalizer(() => stop)
  /** Returns a task as it is. */
  const found = Effect.fnUntraced(function*(id: string, principal: string | undefined) {
    const state = yield* tasks.load(id, principal)
    return { ...state, outcome: state.ending === undefined ? undefined : yield* tasks.ended(state) }
  })
  /** Waits until a task has ended. */
  const ended = (id: string, principal: string | undefined) =>
    Effect.andThen(tasks.outcome(id, principal), found(id, principal))
  return {
    tasks,
    runs,
    found,
    ended,
    stop,
    kill: Effect.suspend(() => {
      isKilled = true
      return stop
    })
  }
})

const alone = Effect.flatMap(storeInMemory, processOn)

const errorOf = ({ outcome }: Pick<StoredTask.StoredTask, "outcome">) =>
  outcome?._tag === "Error" ? [outcome.error.code, outcome.error.message] : outcome?._tag

describe("a task", () => {
  it("is stored before its id is known, and ends with the result of its run", () =>
    virtually(Effect.gen(function*() {
      const { ended, runs, tasks } = yield* alone
      const task = yield* runs.start({ ...ada, ttlMillis: 120_000 }, () =>
        Effect.as(Effect.sleep("1 minute"), { content: [] }))
      assert.isUndefined((yield* tasks.load(task.id, "ada")).ending)
      assert.strictEqual(runs.size, 1)
      const { outcome, updatedAt, createdAt } = yield* ended(task.id, "ada")
      assert.deepStrictEqual(outcome, { _tag: "Result", result: { content: [] } })
      assert.strictEqual(updatedAt - createdAt, 60_000)
      yield* Effect.sleep(1)
      assert.strictEqual(runs.size, 0)
    })))

  it("has no end of its lifetime if the limit is infinite", () =>
    virtually(Effect.gen(function*() {
      const store = yield* storeInMemory
      const tasks = new OwnedTasks(store, limits)
      const infinite = { default: Number.POSITIVE_INFINITY, longest: Number.POSITIVE_INFINITY }
      const runs = yield* TaskRuns.make(tasks, { ...options, ttlMillis: infinite })
      const { id } = yield* runs.start({ ...ada, ttlMillis: undefined }, () => Effect.succeed({ content: [] }))
      yield* Effect.sleep("1 hour")
      assert.isUndefined((yield* tasks.load(id, "ada")).ttlMillis)
    })))

  it("[TSK-09] that ends while it is being cancelled keeps its outcome", () =>
    virtually(Effect.gen(function*() {
      const store = yield* storeInMemory
      let loads = 0
      const { ended, runs } = yield* processOn({
        ...store,
        // The first one is that of the cancellation: it has read the state before the end of the task.
        load: (id) => loads++ === 0 ? Effect.andThen(Effect.sleep("4 seconds"), store.load(id)) : store.load(id)
      })
      const result = { content: [] }
      const { id } = yield* runs.start(ada, () => Effect.as(Effect.sleep("2 seconds"), result))
      const cancelled = yield* Effect.exit(runs.cancel(id, "ada"))
      assert.isTrue(Exit.isSuccess(cancelled) && !cancelled.value.isNew)
      assert.deepStrictEqual((yield* ended(id, "ada")).outcome, { _tag: "Result", result })
    })))

  it("ends with the error of its run, and with no words of a defect, which is logged", () => {
    const logged: Array<string> = []
    const logger = Logger.make(({ cause, message }) => void logged.push(`${message} ${Cause.pretty(cause)}`))
    virtually(
      Effect.gen(function*() {
        const { ended, runs } = yield* alone
        const fails = yield* runs.start(
          ada,
          () => Effect.fail(new McpError.McpError({ code: 7, message: "no", data: 1 }))
        )
        const dies = yield* runs.start(ada, () => Effect.die(new Error("a secret")))
        assert.deepStrictEqual((yield* ended(fails.id, "ada")).outcome, {
          _tag: "Error",
          error: { code: 7, message: "no", data: 1 }
        })
        const [code, message] = errorOf(yield* ended(dies.id, "ada")) ?? []
        assert.strictEqual(code, -32603)
        assert.notInclude(String(message), "secret")
      }).pipe(Effect.provide(Logger.layer([logger])))
    )
    assert.strictEqual(logged.length, 1)
    assert.match(logged[0] ?? "", /the handler of a task failed .*a secret/)
  })

  it("goes on after its caller was interrupted", () =>
    virtually(Effect.gen(function*() {
      const { ended, runs } = yield* alone
      const ids: Array<string> = []
      const caller = yield* Effect.forkChild(Effect.andThen(
        Effect.map(runs.start(ada, () => Effect.as(Effect.sleep(1_000), {})), ({ id }) => ids.push(id)),
        Effect.never
      ))
      yield* Effect.sleep(10)
      yield* Fiber.interrupt(caller)
      assert.strictEqual((yield* ended(ids[0] ?? "", "ada")).outcome?._tag, "Result")
    })))

  it("is cancelled once, which interrupts it and stays", () =>
    virtually(Effect.gen(function*() {
      const { ended, runs } = yield* alone
      const interrupted = yield* Deferred.make<void>()
      const task = yield* runs.start(ada, () =>
        Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)))
      const waiting = yield* Effect.forkChild(ended(task.id, "ada"), { startImmediately: true })
      assert.strictEqual((yield* runs.cancel(task.id, "ada")).isNew, true)
      yield* Deferred.await(interrupted)
      yield* Effect.sleep(1)
      assert.strictEqual((yield* runs.cancel(task.id, "ada")).isNew, false)
      assert.deepStrictEqual((yield* Fiber.join(waiting)).outcome, { _tag: "Cancelled" })
      assert.strictEqual(runs.size, 0)
    })))

  it("that has ended is not cancelled", () =>
    virtually(Effect.gen(function*() {
      const { ended, runs } = yield* alone
      const task = yield* runs.start(ada, () => Effect.succeed({}))
      yield* ended(task.id, "ada")
      const { isNew, task: found } = yield* runs.cancel(task.id, "ada")
      assert.deepStrictEqual([isNew, found.ending], [false, "Result"])
    })))

  it("is unknown to every other principal, and to those who wait after it has expired", () =>
    virtually(Effect.gen(function*() {
      const { ended, runs, tasks } = yield* alone
      const { id } = yield* runs.start(ada, () => Effect.never)
      const codes = (principal: string | undefined) =>
        Effect.all([
          Effect.flip(tasks.load(id, principal)),
          Effect.flip(runs.cancel(id, principal)),
          Effect.flip(ended(id, principal))
        ])
      const unknown = yield* Effect.flip(tasks.load("none", "ada"))
      for (const principal of ["ben", undefined]) {
        for (const error of yield* codes(principal)) {
          assert.deepStrictEqual([error.code, error.message], [unknown.code, unknown.message])
        }
        assert.deepStrictEqual((yield* tasks.list(principal, undefined)).tasks, [])
      }
      const waiting = yield* Effect.forkChild(Effect.flip(ended(id, "ada")), { startImmediately: true })
      assert.strictEqual((yield* Fiber.join(waiting)).code, -32602)
      yield* Effect.sleep(1)
      // The sweeper has deleted it, and its run has ended.
      assert.strictEqual(runs.size, 0)
    })))

  it("is rejected if its principal has too many, and another principal is not affected", () =>
    virtually(Effect.gen(function*() {
      const { runs } = yield* alone
      for (let count = 0; count < limits.maxTasks; count++) yield* runs.start(ada, () => Effect.never)
      const error = yield* Effect.flip(runs.start(ada, () => Effect.never))
      assert.include(error.message, "There are 3 tasks already")
      yield* runs.start({ ...ada, principal: "ben" }, () => Effect.never)
    })))

  /** Params that take about 56 KB of memory, and 3 KB of text. */
  const large = { ...ada, request: { ...request, params: { arrays: Array.from({ length: 1_000 }, () => []) } } }

  it("is charged to the memory budget until its fiber has ended, and rejected when tasks take a quarter of it", () =>
    virtually(Effect.gen(function*() {
      const store = yield* storeInMemory
      const budget = MemoryBudget.make({ maxBytes: 500_000 })
      const budgeted = Effect.provideService(MemoryBudget.MemoryBudget, budget)
      const [one, other] = yield* Effect.all([budgeted(processOn(store)), budgeted(processOn(store))])
      const release = yield* Deferred.make<void>()
      // An interruption waits for it.
      const stubborn = Effect.onInterrupt(Effect.never, () => Deferred.await(release))
      const held = yield* one.runs.start(large, () => stubborn)
      const charged = budget.usedBytes()
      assert.isAbove(charged, 56_000)
      yield* one.runs.start({ ...large, principal: "ben" }, () => Effect.as(Effect.sleep(5_000), {}))
      // The budget is that of all tasks of the process.
      const error = yield* Effect.flip(other.runs.start(large, () => Effect.void))
      assert.deepStrictEqual([error.code, error.message.slice(0, 50)], [
        -31010,
        "Overloaded: the request cannot become a task, beca"
      ])
      assert.deepStrictEqual((yield* other.tasks.list("ada", undefined)).tasks.map(({ id }) => id), [held.id])
      yield* Effect.sleep(6_000)
      assert.strictEqual(budget.usedBytes(), charged)
      // A task that was cancelled holds its params until its fiber has ended.
      yield* one.runs.cancel(held.id, "ada")
      yield* Effect.sleep(1_000)
      assert.strictEqual(budget.usedBytes(), charged)
      yield* Deferred.succeed(release, undefined)
      yield* Effect.sleep(1)
      assert.strictEqual(budget.usedBytes(), 0)
    })))

  it("releases its memory if it cannot be stored", () =>
    virtually(Effect.gen(function*() {
      const store = yield* storeInMemory
      const budget = MemoryBudget.make({ maxBytes: 1_000_000 })
      const { runs } = yield* Effect.provideService(processOn(store), MemoryBudget.MemoryBudget, budget)
      const tasks = limits.maxTasks
      for (let count = 0; count < tasks; count++) yield* runs.start(ada, () => Effect.as(Effect.sleep(1_000), {}))
      const charged = budget.usedBytes()
      yield* Effect.flip(runs.start(large, () => Effect.void))
      assert.strictEqual(budget.usedBytes(), charged)
      yield* Effect.sleep(1_001)
      assert.strictEqual(budget.usedBytes(), 0)
    })))

  it("has the lifetime that its client wishes, up to the longest one", () =>
    virtually(Effect.gen(function*() {
      const { runs } = yield* alone
      const lifetimes = yield* Effect.forEach([undefined, 1_000, 86_400_000], (ttlMillis) =>
        Effect.map(runs.start({ ...ada, ttlMillis }, () => Effect.never), (task) => task.ttlMillis))
      assert.deepStrictEqual(lifetimes, [60_000, 1_000, 3_600_000])
    })))
})

describe("a process", () => {
  it("[law 2] has after the end of all its tasks the fibers that it had at its start, however old it is", () =>
    virtually(Effect.gen(function*() {
      const fibers = FiberCount.make()
      const { ended, runs } = yield* fibers.count(alone)
      const atStart = fibers.living()
      const { id } = yield* fibers.count(runs.start(ada, () => Effect.delay(Effect.succeed({}), "30 seconds")))
      yield* ended(id, "ada")
      // The task has expired, and the process waits for its next round.
      yield* Effect.sleep("125 seconds")
      assert.strictEqual(fibers.living(), atStart)
      const started = fibers.started()
      yield* Effect.sleep("1 hour")
      assert.deepStrictEqual([fibers.living(), fibers.started()], [atStart, started])
    })))
})

describe("two processes on one store", () => {
  it("wait for the tasks of each other, and cancel them", () =>
    virtually(Effect.gen(function*() {
      const store = yield* storeInMemory
      const [one, other] = [yield* processOn(store), yield* processOn(store)]
      const quick = yield* one.runs.start(ada, () => Effect.as(Effect.sleep(1_000), { content: [] }))
      assert.strictEqual((yield* other.ended(quick.id, "ada")).outcome?._tag, "Result")
      const interrupted = yield* Deferred.make<void>()
      const slow = yield* one.runs.start(ada, () =>
        Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)))
      yield* other.runs.cancel(slow.id, "ada")
      yield* Deferred.await(interrupted)
    })))

  /** The time of a test with hundreds of tasks on a busy machine, in milliseconds. */
  const timeout = 120_000

  /** Runs tasks, some of which the store then fails. Returns the errors of all tasks after 3 minutes. */
  const errorsAfter = (
    count: number,
    leaseMillis: number,
    broken: (
      store: TaskStore.TaskStore["Service"],
      isBroken: (id: string) => boolean
    ) => TaskStore.TaskStore["Service"],
    brokenTasks = 1
  ) => {
    const messages = new Set<string>()
    const logger = Logger.make(({ message }) => void messages.add(String(message).split(",")[0] ?? ""))
    const errors = virtually(
      Effect.gen(function*() {
        const store = yield* storeInMemory
        const brokenIds = new Set<string>()
        const one = yield* processOn(broken(store, (id) => brokenIds.has(id)), leaseMillis)
        const other = yield* processOn(store, leaseMillis)
        const principals = Array.from({ length: count }, (_, index) => `person ${index}`)
        const tasks = yield* Effect.forEach(
          principals,
          (principal) => one.runs.start({ principal, request, ttlMillis: 3_600_000 }, () => Effect.never)
        )
        for (const { id } of tasks.slice(0, brokenTasks)) brokenIds.add(id)
        yield* Effect.sleep("3 minutes")
        return yield* Effect.forEach(
          tasks,
          ({ id, principal }) => Effect.map(other.found(id, principal), errorOf)
        )
      }).pipe(Effect.provide(Logger.layer([logger])))
    )
    return { errors, messages: [...messages] }
  }

  const lapsed = [-32603, "The process that ran the task has ended"]

  for (
    const [how, leaseMillis, broken] of [
      ["fails", 30_000, () => Effect.fail(new TaskStore.TaskStoreError({ cause: "broken" }))],
      ["is interrupted", 30_000, () => Effect.interrupt],
      ["hangs", 30_000, () => Effect.never],
      ["hangs longer than a lease", 6_000, () => Effect.never]
    ] as const
  ) {
    it(`keep the leases of all tasks but one for which the store ${how}, and log that`, () => {
      const { errors, messages } = errorsAfter(3, leaseMillis, (store, isBroken) => ({
        ...store,
        renew: (id, lease) => isBroken(id) ? broken() : store.renew(id, lease)
      }))
      assert.deepStrictEqual(errors, [lapsed, undefined, undefined])
      assert.include(messages, "renewing leases failed for 1 tasks")
    })
  }

  it("keep the leases of all tasks, also of one that another process seems to change all the time", () => {
    const { errors } = errorsAfter(3, 30_000, (store, isBroken) => ({
      ...store,
      replace: (task, limits) =>
        isBroken(task.id) ? Effect.delay(Effect.succeed("Conflict"), "2 seconds") : store.replace(task, limits)
    }))
    assert.deepStrictEqual(errors, [undefined, undefined, undefined])
  })

  it("keep the lease of a task when the store hangs for hundreds of others", () => {
    const { errors } = errorsAfter(300, 30_000, (store, isBroken) => ({
      ...store,
      renew: (id, lease) => isBroken(id) ? Effect.never : store.renew(id, lease)
    }), 299)
    assert.isUndefined(errors.at(-1))
  }, timeout)

  it("keep the leases of hundreds of tasks in a slow store", () => {
    const { errors } = errorsAfter(340, 30_000, (store, isBroken) => ({
      ...store,
      renew: (id, lease) => Effect.delay(Effect.suspend(() => store.renew(id, lease)), isBroken(id) ? "2 seconds" : 0)
    }), 340)
    assert.deepStrictEqual(errors.filter((error) => error !== undefined), [])
  }, timeout)

  it("keep the leases of all tasks in a store that renews half of them in the time of a round", () => {
    const { errors } = errorsAfter(100, 3_000, (store) => {
      const connection = Semaphore.makeUnsafe(1)
      const renew: typeof store.renew = (id, lease) =>
        connection.withPermits(1)(Effect.delay(Effect.suspend(() => store.renew(id, lease)), "9 millis"))
      return { ...store, renew }
    })
    assert.deepStrictEqual(errors.filter((error) => error !== undefined), [])
  }, timeout)

  it("try each expired task once in a round if the store does not delete it", () => {
    let removals = 0
    virtually(
      Effect.gen(function*() {
        const store = yield* storeInMemory
        const { runs } = yield* processOn({
          ...store,
          remove: () => {
            removals++
            return Effect.fail(new TaskStore.TaskStoreError({ cause: "broken" }))
          }
        })
        yield* Effect.forEach(
          Array.from({ length: 100 }, (_, index) => `person ${index}`),
          (principal) => runs.start({ principal, request, ttlMillis: 0 }, () => Effect.void)
        )
        yield* Effect.sleep(options.leaseMillis / 3 + 1)
      }).pipe(Effect.provide(Logger.layer([])))
    )
    assert.strictEqual(removals, 100)
  })

  it("delete thousands of tasks that have expired in one go", () =>
    virtually(Effect.gen(function*() {
      const store = yield* storeInMemory
      const { runs } = yield* processOn(store)
      yield* Effect.forEach(
        Array.from({ length: 3_000 }, (_, index) => `person ${index}`),
        (principal) => runs.start({ principal, request, ttlMillis: 0 }, () => Effect.void)
      )
      yield* Effect.sleep(options.leaseMillis / 3 + 1)
      assert.deepStrictEqual(yield* store.due(Number.MAX_VALUE, 10), [])
    })))

  it("end the tasks of one that has stopped, or that was killed, and no others", () =>
    virtually(Effect.gen(function*() {
      const store = yield* storeInMemory
      const long = { ...ada, ttlMillis: 3_600_000 }
      const [one, killed, other] = [yield* processOn(store), yield* processOn(store), yield* processOn(store)]
      const stopped = yield* one.runs.start(long, () => Effect.never)
      const lost = yield* killed.runs.start(long, () => Effect.never)
      const own = yield* other.runs.start(long, () => Effect.never)
      yield* one.stop
      assert.deepStrictEqual(errorOf(yield* other.ended(stopped.id, "ada")), [-32603, "The server has stopped"])
      yield* killed.kill
      const since = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      assert.deepStrictEqual(errorOf(yield* other.ended(lost.id, "ada")), [
        -32603,
        "The process that ran the task has ended"
      ])
      const waited = (yield* Effect.clockWith((clock) => clock.currentTimeMillis)) - since
      assert.isAtMost(waited, options.leaseMillis + options.leaseMillis / 3)
      yield* Effect.sleep("10 minutes")
      assert.isUndefined((yield* other.tasks.load(own.id, "ada")).ending)
    })))
})
