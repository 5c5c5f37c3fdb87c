/** The memory that tasks of each kind hold until their handlers have ended. */
import { MemoryBudget } from "@effect-mcp/session"
import { ClientTasks, RemoteTasks, ServerTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { connected, settled, text, tools } from "../../session/test/support/sessions.ts"
import { processOn, type Work } from "./support/resumableWork.ts"
import { extensionClient } from "./support/taskClients.ts"
import { at, form, reason, serverWithTasks } from "./support/taskServers.ts"

/** Arguments that take about 56 KB of memory, and 3 KB of text. */
const large = { arrays: Array.from({ length: 1_000 }, () => []) }

const heldBytes = 56_000

const budgeted = (maxBytes: number) => {
  const budget = MemoryBudget.make({ maxBytes })
  return { budget, within: Effect.provideService(MemoryBudget.MemoryBudget, budget) }
}

const works = Effect.as(Effect.sleep("1 minute"), text("done"))

describe("the memory budget is charged", () => {
  it.effect("for a call that becomes a task while its handler runs, and the call goes on without room for it", () =>
    Effect.gen(function*() {
      const { budget, within } = budgeted(6 * heldBytes)
      const store = yield* TaskStore.makeMemory()
      const tasks = yield* ServerTasks.make({ tools: () => ({ support: "optional", begins: 1_000 }) }).pipe(
        Effect.provideService(TaskStore.TaskStore, store),
        within
      )
      const client = yield* extensionClient(yield* within(serverWithTasks(tools({ works }), { tasks })))
      const calls = yield* Effect.forkChild(
        Effect.forEach([1, 2], () => client.result("tools/call", { name: "works", arguments: large }), {
          concurrency: 2
        }),
        { startImmediately: true }
      )
      yield* settled
      yield* TestClock.adjust("1 second")
      yield* settled
      assert.strictEqual(yield* tasks.running, 1)
      assert.isAbove(budget.usedBytes(), heldBytes)
      yield* TestClock.adjust("1 minute")
      const results = yield* Fiber.join(calls)
      assert.deepStrictEqual(results.map((result) => at(result, "resultType")).toSorted(), ["complete", "task"])
      yield* settled
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("for the next run of a task, which waits until there is room for it", () =>
    Effect.gen(function*() {
      const { budget, within } = budgeted(6 * heldBytes)
      const store = yield* TaskStore.makeMemory()
      let runs = 0
      const work: Work = Effect.andThen(Effect.sync(() => runs++), works)
      const one = yield* processOn(store, work)
      const call = RemoteTasks.of(yield* one.client())
      yield* call.call("work", large, { ttl: "1 hour" })
      yield* call.call("work", large, { ttl: "1 hour" })
      yield* one.stop
      runs = 0
      const other = yield* within(processOn(store, work))
      yield* TestClock.adjust("10 seconds")
      yield* settled
      assert.deepStrictEqual([runs, yield* other.running], [1, 1])
      yield* TestClock.adjust("1 minute")
      yield* settled
      assert.strictEqual(runs, 2)
      yield* TestClock.adjust("1 minute")
      yield* settled
      assert.deepStrictEqual([yield* other.running, budget.usedBytes()], [0, 0])
    }))

  it.effect("for the tasks of a client, whose server gets the rejection", () =>
    Effect.gen(function*() {
      const { budget, within } = budgeted(6 * heldBytes)
      const store = yield* TaskStore.makeMemory()
      const tasks = yield* within(Effect.provideService(ClientTasks.make(), TaskStore.TaskStore, store))
      const { server } = yield* connected({
        handlers: {},
        client: {
          handlers: { "elicitation/create": () => Effect.as(Effect.sleep("1 minute"), { action: "decline" }) },
          tasks
        },
        server: { limits: { gracefulTimeout: 0 } }
      })
      const question = { message: "?".repeat(heldBytes / 2), requestedSchema: form }
      yield* RemoteTasks.of(server).elicit(question)
      assert.isAbove(budget.usedBytes(), heldBytes)
      const rejected = yield* reason(RemoteTasks.of(server).elicit(question))
      assert.deepStrictEqual([rejected._tag, at(rejected, "error", "code")], ["ErrorResponse", -31010])
      yield* TestClock.adjust("1 minute")
      yield* settled
      assert.strictEqual(budget.usedBytes(), 0)
    }))
})
