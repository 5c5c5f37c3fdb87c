/** Tasks that another process runs again, after the process that ran them has ended. */
import type { Elicitation } from "@effect-mcp/protocol"
import { RequestContext, SessionHost } from "@effect-mcp/session"
import { RemoteTasks, ServerTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { info, settled, start, text, tools } from "../../session/test/support/sessions.ts"
import { ada, ask, askingTask, type Caller, processOn, type Work } from "./support/resumableWork.ts"
import { contentOf, reason } from "./support/taskServers.ts"

/** The answers of a client, one after the other. */
const answers = (...names: ReadonlyArray<string>) => {
  const asked: Array<string> = []
  const elicit = ({ message }: Elicitation.ElicitParams) => {
    const name = names[asked.push(message) - 1]
    return name === undefined ? Effect.never : Effect.succeed({ action: "accept" as const, content: { name } })
  }
  return { asked, elicit }
}

/** A step that counts how often it was run. */
const counted = () => {
  const counts = { reserve: 0, runs: 0 }
  const reserve = RequestContext.once(
    "reserve",
    { success: Schema.Int },
    Effect.sync(() => ++counts.reserve)
  )
  const begin = Effect.sync(() => ++counts.runs)
  return { begin, counts, reserve }
}

describe("a task of a resumable tool", () => {
  for (const end of ["kill", "stop"] as const) {
    it.effect(`runs again after the ${end} of its process, with its answers and steps`, () =>
      Effect.gen(function*() {
        const store = yield* TaskStore.makeMemory()
        const { begin, counts, reserve } = counted()
        const seen: Array<unknown> = []
        const work: Work = Effect.gen(function*() {
          yield* begin
          const { principal, profile, session } = yield* RequestContext.RequestContext
          seen.push([principal, profile.revision, session === undefined])
          const seat = yield* reserve
          const first = yield* ask("Who?")
          const second = yield* ask("Who?")
          yield* Effect.sleep("1 minute")
          return text(`${seat} ${first} ${second}`)
        })
        const one = yield* processOn(store, work)
        const { asked, elicit } = answers("Ada", "Grace")
        const client = yield* one.client(elicit)
        const task = yield* RemoteTasks.of(client).call("work", {}, { ttl: "1 hour" })
        yield* start(Effect.ignore(task.result))
        yield* settled
        assert.deepStrictEqual(asked, ["Who?", "Who?"])
        yield* one[end]
        const other = yield* processOn(store, work)
        const later = yield* other.client(elicit)
        const result = yield* start(RemoteTasks.of(later).of(task.id ?? "").result)
        yield* settled
        // The lease, and the next sweep.
        yield* TestClock.adjust(end === "kill" ? "40 seconds" : "10 seconds")
        yield* settled
        assert.strictEqual(counts.runs, 2)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(contentOf(yield* Fiber.join(result)), text("1 Ada Grace").content)
        assert.deepStrictEqual(counts, { reserve: 1, runs: 2 })
        assert.strictEqual(asked.length, 2)
        assert.deepStrictEqual(seen, [[ada, "2025-11-25", false], [ada, "2025-11-25", true]])
      }))
  }

  it.effect("has its open question answered by a client of the next process", () =>
    Effect.gen(function*() {
      const { store, work, one, id } = yield* askingTask
      yield* one.kill
      const other = yield* processOn(store, work)
      const { asked, elicit } = answers("Ada")
      const handle = RemoteTasks.of(yield* other.client(elicit)).of(id)
      // The question waits in the store, for whichever client asks for the result.
      assert.deepStrictEqual((yield* handle.state).status, "input_required")
      const result = yield* start(handle.result)
      yield* settled
      assert.deepStrictEqual(asked, ["Who?"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(contentOf(yield* Fiber.join(result)), text("Ada").content)
      assert.strictEqual(asked.length, 1)
    }))

  it.effect("of revision 2026-07-28 keeps what it asked and did before it became a task", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const { begin, counts, reserve } = counted()
      const work: Work = Effect.gen(function*() {
        yield* begin
        const seat = yield* reserve
        const first = yield* ask("Who?")
        yield* RequestContext.becomeTask
        const second = yield* ask("Who?")
        yield* Effect.sleep("1 minute")
        return text(`${seat} ${first} ${second}`)
      })
      const plan = { begins: "explicitly" } as const
      const one = yield* processOn(store, work, plan)
      const { asked, elicit } = answers("Ada", "Grace")
      const client = yield* one.client(elicit, "2026-07-28")
      const task = yield* RemoteTasks.of(client).call("work")
      yield* start(Effect.ignore(task.result))
      yield* settled
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(asked, ["Who?", "Who?"])
      yield* one.kill
      const other = yield* processOn(store, work, plan)
      const later = yield* other.client(elicit, "2026-07-28")
      const result = yield* start(RemoteTasks.of(later).of(task.id ?? "").result)
      yield* TestClock.adjust("40 seconds")
      yield* TestClock.adjust("1 minute")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(contentOf(yield* Fiber.join(result)), text("1 Ada Grace").content)
      // The first question cut the first run.
      assert.deepStrictEqual(counts, { reserve: 1, runs: 3 })
      assert.strictEqual(asked.length, 2)
    }))

  it.effect("ends as failed when it has ended its process five times", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const { begin, counts } = counted()
      const work: Work = Effect.andThen(begin, Effect.never)
      const first = yield* processOn(store, work)
      const task = yield* RemoteTasks.of(yield* first.client()).call("work", {}, { ttl: "1 day" })
      yield* settled
      yield* first.kill
      for (let killed = 1; killed < 5; killed++) {
        const next = yield* processOn(store, work)
        yield* TestClock.adjust("40 seconds")
        assert.strictEqual(counts.runs, killed + 1)
        yield* next.kill
      }
      const last = yield* processOn(store, work)
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual(counts.runs, 5)
      const { message } = yield* Effect.flip(RemoteTasks.of(yield* last.client()).of(task.id ?? "").result)
      assert.include(message, "The process that ran the task has ended, for the 5th time")
    }))

  it.effect("runs in one process: one that hung for longer than its lease stops, and stores no outcome", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const interrupted: Array<string> = []
      const workIn = (name: string): Work =>
        Effect.onInterrupt(
          Effect.as(Effect.sleep("5 minutes"), text(name)),
          () => Effect.sync(() => interrupted.push(name))
        )
      const one = yield* processOn(store, workIn("one"))
      const task = yield* RemoteTasks.of(yield* one.client()).call("work", {}, { ttl: "1 hour" })
      yield* one.hang
      const other = yield* processOn(store, workIn("other"))
      yield* TestClock.adjust("45 seconds")
      yield* one.wake
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(interrupted, ["one"])
      const result = yield* start(RemoteTasks.of(yield* other.client()).of(task.id ?? "").result)
      yield* settled
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(contentOf(yield* Fiber.join(result)), text("other").content)
    }))

  it.effect("whose process hung without another one goes on", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const { begin, counts } = counted()
      const one = yield* processOn(store, Effect.as(Effect.andThen(begin, Effect.sleep("5 minutes")), text("done")))
      const client = yield* one.client()
      const task = yield* RemoteTasks.of(client).call("work", {}, { ttl: "1 hour" })
      yield* one.hang
      yield* TestClock.adjust("2 minutes")
      yield* one.wake
      yield* TestClock.adjust("3 minutes")
      assert.deepStrictEqual(contentOf(yield* task.result), text("done").content)
      assert.strictEqual(counts.runs, 1)
    }))

  it.effect("is cancelled in its second run as in its first", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      let interrupted = 0
      const work: Work = Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      const one = yield* processOn(store, work)
      const task = yield* RemoteTasks.of(yield* one.client()).call("work", {}, { ttl: "1 hour" })
      yield* settled
      yield* one.kill
      const other = yield* processOn(store, work)
      yield* TestClock.adjust("40 seconds")
      const { cancel } = RemoteTasks.of(yield* other.client()).of(task.id ?? "")
      interrupted = 0
      assert.strictEqual((yield* cancel).status, "cancelled")
      yield* settled
      assert.strictEqual(interrupted, 1)
    }))

  it.effect("waits for a process that serves its tool", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const one = yield* processOn(store, Effect.never)
      const client = yield* one.client()
      const first = yield* RemoteTasks.of(client).call("work", {}, { ttl: "1 hour" })
      yield* one.kill
      // A process that does not run the tool again, and then one that does.
      const other = yield* processOn(store, Effect.never, { resumable: false })
      yield* TestClock.adjust("5 minutes")
      const observed = yield* other.client()
      assert.strictEqual((yield* RemoteTasks.of(observed).of(first.id ?? "").state).status, "working")
      const third = yield* processOn(store, Effect.succeed(text("done")))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(contentOf(yield* RemoteTasks.of(observed).of(first.id ?? "").result), text("done").content)
      yield* third.stop
      const second = yield* RemoteTasks.of(yield* (yield* processOn(store, Effect.never)).client()).call("work")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* RemoteTasks.of(observed).of(second.id ?? "").state).status, "working")
    }).pipe(Effect.scoped))

  it.effect("ends as failed if no process has run it again for five minutes", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const one = yield* processOn(store, Effect.never)
      const { id } = yield* RemoteTasks.of(yield* one.client()).call("work", {}, { ttl: "1 hour" })
      yield* one.kill
      const other = yield* processOn(store, Effect.never, { resumable: false })
      yield* TestClock.adjust("6 minutes")
      const { message } = yield* Effect.flip(RemoteTasks.of(yield* other.client()).of(id ?? "").result)
      assert.include(message, "no other one has run the task again")
    }))

  it.effect("fails if a step does not fit into the bytes of its principal", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const work: Work = Effect.as(
        RequestContext.once("text", { success: Schema.String }, Effect.succeed("x".repeat(20_000))),
        text("done")
      )
      const one = yield* processOn(store, work, {}, { maxBytes: 20_000 })
      const { result } = yield* RemoteTasks.of(yield* one.client()).call("work")
      const failure = yield* reason(result)
      assert.strictEqual(failure._tag === "ErrorResponse" ? failure.error.code : failure._tag, -32603)
    }))

  it.effect("does not run again in a server that has been closed", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const { begin, counts } = counted()
      const tasks = yield* Effect.provideService(
        ServerTasks.make({ tools: { work: { support: "optional", resumable: true } } }),
        TaskStore.TaskStore,
        store
      )
      const work: Work = Effect.andThen(begin, Effect.never)
      const one = yield* processOn(store, work)
      yield* RemoteTasks.of(yield* one.client()).call("work", {}, { ttl: "1 hour" })
      yield* settled
      yield* Effect.scoped(SessionHost.make(tools({ work }), { info, tasks }))
      yield* one.kill
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(counts.runs, 1)
    }))

  const callers: ReadonlyArray<readonly [string, Caller, string]> = [
    ["a principal with the scope", { principal: { id: "ada", scopes: ["reports:write"] } }, "written"],
    ["a principal with another scope", { principal: { id: "ada", scopes: ["reports:read"] } }, "lacks the scope"],
    ["a principal without scopes", { principal: { id: "ada" } }, "lacks the scope"],
    ["an anonymous client", { principal: undefined, authenticates: true }, "lacks the scope"],
    ["the owner of the process", { principal: undefined }, "written"]
  ]
  it.effect.each(callers)(
    "has the scopes of its call in each run: %s",
    ([_name, caller, expected]) =>
      Effect.gen(function*() {
        const store = yield* TaskStore.makeMemory()
        const seen: Array<string> = []
        const work: Work = Effect.gen(function*() {
          const isAllowed = yield* RequestContext.hasScopes(["reports:write"])
          seen.push(isAllowed ? "written" : "lacks the scope")
          yield* Effect.sleep("1 minute")
          return text(seen.at(-1) ?? "")
        })
        const one = yield* processOn(store, work)
        const client = yield* one.client(() => Effect.never, "2025-11-25", undefined, caller)
        const { id = "" } = yield* RemoteTasks.of(client).call("work", {}, { ttl: "1 hour" })
        yield* settled
        yield* one.kill
        const other = yield* processOn(store, work)
        yield* TestClock.adjust("40 seconds")
        yield* settled
        // The result belongs to the principal: the scopes of the one who reads it do not matter.
        const { principal } = caller
        const reader = principal === undefined ? caller : { principal: { id: principal.id, scopes: [] } }
        const later = yield* other.client(() => Effect.never, "2025-11-25", undefined, reader)
        const result = yield* start(RemoteTasks.of(later).of(id).result)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(contentOf(yield* Fiber.join(result)), text(expected).content)
        assert.deepStrictEqual(seen, [expected, expected])
      })
  )
})
