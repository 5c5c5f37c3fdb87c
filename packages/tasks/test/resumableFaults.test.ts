/** Resumable tasks when stores fail, processes hang, connections are lost, and clients are several. */
import type { Profile } from "@effect-mcp/protocol"
import { ClientSession, RequestContext, Transport } from "@effect-mcp/session"
import { ClientTasks, RemoteTasks, type StoredTask, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { info, settled, start, text } from "../../session/test/support/sessions.ts"
import { ada, ask, askingTask, processOn, type Work } from "./support/resumableWork.ts"
import { contentOf, form, openedFor } from "./support/taskServers.ts"

const profile: Profile.ClientProfile = { revision: "2025-11-25", capabilities: {}, info }

/** The limits of a principal that no test reaches. */
const limits = { maxTasks: 1_000, maxBytes: 1_000_000_000 }

/** Returns a stored task whose process has ended. */
const lapsed = (id: string, tool: string, expiresAt: number): StoredTask.StoredTask => ({
  id,
  principal: "ada",
  request: { method: "tools/call", params: { name: tool } },
  createdAt: 0,
  updatedAt: 0,
  ttlMillis: 86_400_000,
  pollMillis: 500,
  cancelRequested: false,
  questions: [],
  steps: [],
  lease: { owner: "gone", expiresAt },
  resumption: { profile, runs: 1 },
  version: 1
})

/** A tool that counts how often it runs. */
const counting = () => {
  const counts = { runs: 0 }
  const work: Work = Effect.sync(() => {
    counts.runs++
    return text("done")
  })
  return { counts, work }
}

describe("a resumable task", () => {
  it.effect("keeps its open question when its process stops", () =>
    Effect.gen(function*() {
      const { store, one, id } = yield* askingTask
      yield* one.stop
      const stored = yield* store.load(id)
      assert.deepStrictEqual(stored?.questions.map(({ failure }) => failure?._tag), [undefined])
    }))

  it.effect("has the step that ends while its call becomes the task", () =>
    Effect.gen(function*() {
      const memory = yield* TaskStore.makeMemory()
      const store: TaskStore.TaskStore["Service"] = {
        ...memory,
        create: (task, limits) => Effect.delay(Effect.suspend(() => memory.create(task, limits)), 100)
      }
      let reserved = 0
      const work: Work = Effect.gen(function*() {
        // Ends 50 ms after the timer (5 s) has begun to make the call a task.
        const seat = yield* RequestContext.once(
          "reserve",
          { success: Schema.Int },
          Effect.delay(Effect.sync(() => ++reserved), 5_050)
        )
        yield* Effect.sleep("10 minutes")
        return text(`${seat}`)
      })
      const one = yield* processOn(store, work)
      const client = yield* one.client(undefined, "2026-07-28")
      const called = yield* start(RemoteTasks.of(client).call("work"))
      yield* settled
      yield* TestClock.adjust(5_000)
      yield* TestClock.adjust(50)
      yield* TestClock.adjust(50)
      yield* TestClock.adjust(1000)
      const task = yield* Fiber.join(called)
      assert.strictEqual(reserved, 1)
      const stored = yield* memory.load(task.id ?? "")
      yield* one.kill
      yield* processOn(memory, work)
      yield* TestClock.adjust("40 seconds")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([stored?.steps.map(({ key }) => key), reserved], [["reserve"], 1])
    }))

  it.effect("keeps its question when a process that has lost it withdraws from it", () =>
    Effect.gen(function*() {
      const { store, work, one, id } = yield* askingTask
      yield* one.hang
      const other = yield* processOn(store, work)
      yield* TestClock.adjust("45 seconds")
      yield* one.wake
      yield* TestClock.adjust("10 seconds")
      const stored = yield* store.load(id)
      assert.strictEqual(yield* other.running, 1)
      assert.deepStrictEqual(stored?.questions.map(({ failure }) => failure?._tag), [undefined])
    }))

  it.effect("lets its process stop while a step in acquireRelease cannot be stored", () =>
    Effect.gen(function*() {
      const memory = yield* TaskStore.makeMemory()
      let broken = false
      const store: TaskStore.TaskStore["Service"] = {
        ...memory,
        replace: (task, limits) =>
          Effect.suspend((): Effect.Effect<TaskStore.Replaced, TaskStore.TaskStoreError> =>
            broken ? Effect.fail(new TaskStore.TaskStoreError({ cause: "down" })) : memory.replace(task, limits)
          )
      }
      const work: Work = Effect.scoped(Effect.gen(function*() {
        broken = true
        yield* Effect.acquireRelease(RequestContext.once("reserve", { success: Schema.Int }, Effect.succeed(1)), () =>
          Effect.void)
        return text("done")
      }))
      const one = yield* processOn(store, work)
      yield* RemoteTasks.of(yield* one.client()).call("work", {}, { ttl: "1 hour" })
      yield* settled
      const stopping = yield* start(one.stop)
      yield* TestClock.adjust("1 hour")
      const ended = stopping.pollUnsafe() !== undefined
      broken = false
      yield* TestClock.adjust("1 hour")
      assert.isTrue(ended)
    }))

  it.effect("does not run again because of one failure of the store at its end", () =>
    Effect.gen(function*() {
      const memory = yield* TaskStore.makeMemory()
      let failures = 0
      const store: TaskStore.TaskStore["Service"] = {
        ...memory,
        replace: (task, limits) =>
          Effect.suspend((): Effect.Effect<TaskStore.Replaced, TaskStore.TaskStoreError> =>
            task.outcome !== undefined && failures++ === 0
              ? Effect.fail(new TaskStore.TaskStoreError({ cause: "down" }))
              : memory.replace(task, limits)
          )
      }
      let runs = 0
      const work: Work = Effect.suspend(() => {
        runs++
        return Effect.succeed(text("sent a letter"))
      })
      const one = yield* processOn(store, work)
      yield* RemoteTasks.of(yield* one.client()).call("work", {}, { ttl: "1 hour" })
      yield* settled
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([failures > 0, runs], [true, 1])
    }))

  it.effect("runs in one process while an uninterruptible part keeps that from stopping", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      let active = 0, most = 0
      const work: Work = Effect.uninterruptible(Effect.gen(function*() {
        most = Math.max(most, ++active)
        yield* Effect.sleep("2 minutes")
        active--
        return text("done")
      }))
      const one = yield* processOn(store, work)
      yield* RemoteTasks.of(yield* one.client()).call("work", {}, { ttl: "1 hour" })
      yield* settled
      yield* processOn(store, work)
      const stopping = yield* start(one.stop)
      yield* TestClock.adjust("1 minute")
      yield* TestClock.adjust("5 minutes")
      yield* Fiber.join(stopping)
      assert.strictEqual(most, 1)
    }))

  it.effect("has the answers of the client's tasks in its next run", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const work: Work = Effect.gen(function*() {
        const asked = yield* Effect.orDie(RemoteTasks.elicit({ message: "Who?", requestedSchema: form }))
        const { content } = yield* Effect.orDie(asked.result)
        yield* Effect.sleep("1 minute")
        return text(String(content?.["name"]))
      })
      const answers = yield* Effect.provideService(
        ClientTasks.make(),
        TaskStore.TaskStore,
        yield* TaskStore.makeMemory()
      )
      const elicit = () => Effect.succeed({ action: "accept" as const, content: { name: "Ada" } })
      const one = yield* processOn(store, work)
      const task = yield* RemoteTasks.of(yield* one.client(elicit, "2025-11-25", answers)).call("work", {}, {
        ttl: "1 hour"
      })
      yield* start(Effect.ignore(task.result))
      yield* settled
      assert.strictEqual((yield* store.load(task.id ?? ""))?.questions.length, 2)
      yield* one.kill
      const other = yield* processOn(store, work)
      const later = yield* other.client(elicit, "2025-11-25", answers)
      const result = yield* start(Effect.result(RemoteTasks.of(later).of(task.id ?? "").result))
      yield* settled
      yield* TestClock.adjust("40 seconds")
      yield* TestClock.adjust("2 minutes")
      const got = yield* Fiber.join(result)
      assert.deepStrictEqual(got._tag === "Success" ? contentOf(got.success) : got.failure.message, text("Ada").content)
    }))

  it.effect("has the result of a client's task, although another client was asked for it", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const work: Work = Effect.gen(function*() {
        const asked = yield* Effect.orDie(RemoteTasks.elicit({ message: "Who?", requestedSchema: form }))
        const { content } = yield* Effect.orDie(asked.result)
        return text(String(content?.["name"]))
      })
      const make = Effect.flatMap(
        TaskStore.makeMemory(),
        (own) => Effect.provideService(ClientTasks.make(), TaskStore.TaskStore, own)
      )
      const elicit = () => Effect.as(Effect.sleep("1 minute"), { action: "accept" as const, content: { name: "Ada" } })
      const one = yield* processOn(store, work)
      const desk = yield* one.client(elicit, "2025-11-25", yield* make)
      const task = yield* RemoteTasks.of(desk).call("work", {}, { ttl: "1 hour" })
      const result = yield* start(Effect.result(task.result))
      yield* settled
      // Another client of the same person waits for the same task.
      const phone = yield* one.client(elicit, "2025-11-25", yield* make)
      yield* start(Effect.ignore(RemoteTasks.of(phone).of(task.id ?? "").result))
      yield* settled
      yield* TestClock.adjust("2 minutes")
      const got = yield* Fiber.join(result)
      assert.deepStrictEqual(got._tag === "Success" ? contentOf(got.success) : got.failure.message, text("Ada").content)
    }))

  it.effect("cancels a client's task after the session of the call was lost", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const seen: Array<unknown> = []
      const work: Work = Effect.gen(function*() {
        const asked = yield* Effect.orDie(RemoteTasks.elicit({ message: "Who?", requestedSchema: form }))
        yield* Effect.sleep("1 minute")
        seen.push(yield* Effect.match(asked.cancel, { onFailure: (e) => e.message, onSuccess: ({ status }) => status }))
        return text("done")
      })
      const answers = yield* Effect.provideService(
        ClientTasks.make(),
        TaskStore.TaskStore,
        yield* TaskStore.makeMemory()
      )
      const one = yield* processOn(store, work)
      const first = yield* one.client(() => Effect.never, "2025-11-25", answers)
      const task = yield* RemoteTasks.of(first).call("work", {}, { ttl: "1 hour" })
      yield* first.close
      const second = yield* one.client(() => Effect.never, "2025-11-25", answers)
      yield* start(Effect.ignore(RemoteTasks.of(second).of(task.id ?? "").result))
      yield* settled
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(seen, ["cancelled"])
    }))

  it.effect("asks a client for one task, however often that asks for the result", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      let pending = 0
      const work: Work = Effect.as(
        Effect.orDie(RemoteTasks.elicit({ message: "Who?", requestedSchema: form }, { timeout: "1 minute" })),
        text("x")
      )
      const one = yield* processOn(store, work)
      const transport = yield* openedFor(one.host, ada)
      const client = yield* ClientSession.make({
        info,
        revisions: ["2025-11-25"],
        capabilities: { tasks: { requests: { elicitation: { create: {} } } } },
        handlers: {
          "elicitation/create": () =>
            Effect.onExit(
              Effect.andThen(Effect.sync(() => pending++), Effect.never),
              () => Effect.sync(() => pending--)
            )
        },
        limits: { gracefulTimeout: 0 }
      }).pipe(Effect.provideService(Transport.Transport, transport))
      const task = yield* RemoteTasks.of(client).call("work", {}, { ttl: "1 hour" })
      for (let i = 0; i < 40; i++) {
        const waiting = yield* start(Effect.ignore(task.result))
        yield* settled
        yield* Fiber.interrupt(waiting)
      }
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(pending, 1)
    }))

  it.effect("does not give a later answer to a question that has timed out", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const seen: Array<string> = []
      const once = (message: string) =>
        RequestContext.elicit({ message, requestedSchema: form }, { timeout: "1 minute" }).pipe(
          Effect.map(({ content }) => String(content?.["name"])),
          Effect.orElseSucceed(() => "timed out")
        )
      const work: Work = Effect.gen(function*() {
        seen.push(yield* once("Continue?"))
        seen.push(yield* once("Continue?"))
        return yield* Effect.never
      })
      const one = yield* processOn(store, work)
      let asked = 0
      const elicit = () =>
        ++asked === 1 ? Effect.never : Effect.succeed({ action: "accept" as const, content: { name: "yes" } })
      const client = yield* one.client(elicit)
      const task = yield* RemoteTasks.of(client).call("work", {}, { ttl: "1 hour" })
      yield* start(Effect.ignore(task.result))
      yield* settled
      yield* TestClock.adjust("61 seconds")
      yield* settled
      assert.deepStrictEqual(seen, ["timed out", "yes"])
      yield* one.kill
      const other = yield* processOn(store, work)
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual(yield* other.running, 1)
      assert.notStrictEqual(seen[2], "yes")
    }))

  it.effect("survives any number of stops, which are no failures of its run", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const work: Work = Effect.map(ask("Who?"), text)
      let { id } = yield* RemoteTasks.of(yield* (yield* processOn(store, work)).client()).call("work", {}, {
        ttl: "1 day"
      })
      for (let stops = 0; stops < 10; stops++) {
        const next = yield* processOn(store, work)
        yield* TestClock.adjust("40 seconds")
        yield* next.stop
      }
      id ??= ""
      assert.isUndefined((yield* store.load(id))?.outcome)
    }))

  it.effect("is handed on by a stop, although its lease is being renewed", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const one = yield* processOn(store, Effect.never)
      const { id = "" } = yield* RemoteTasks.of(yield* one.client()).call("work", {}, { ttl: "1 hour" })
      yield* settled
      const owner = (yield* store.load(id))?.lease?.owner ?? ""
      yield* one.stop
      assert.isFalse(yield* store.renew(id, { owner, expiresAt: 30_000 }))
      assert.deepStrictEqual(yield* store.due(0, 1), [id])
    }))

  it.effect("has no claims in the store after its end", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const one = yield* processOn(store, Effect.as(Effect.sleep("1 minute"), text("done")))
      const client = yield* one.client()
      const ended = yield* RemoteTasks.of(client).call("work", {}, { ttl: "1 hour" })
      const cancelled = yield* RemoteTasks.of(client).call("work", {}, { ttl: "1 hour" })
      assert.deepStrictEqual((yield* store.load(ended.id ?? ""))?.resumption?.claims, ada.claims)
      yield* cancelled.cancel
      yield* TestClock.adjust("1 minute")
      for (const { id } of [ended, cancelled]) {
        const task = yield* store.load(id ?? "")
        assert.isDefined(task?.outcome)
        assert.isUndefined(task?.resumption)
      }
    }))

  it.effect("does not wait for the tasks of a tool that is not served", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      for (let index = 0; index < 100; index++) {
        yield* store.create(lapsed(`other ${index}`, "other", 0), limits)
      }
      yield* store.create(lapsed("own", "work", 1), limits)
      const { counts, work } = counting()
      yield* processOn(store, work, {}, limits)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(counts.runs, 1)
    }))

  it.effect("does not wait for a stored task that is malformed", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const malformed: StoredTask.StoredTask = JSON.parse(
        JSON.stringify({ ...lapsed("malformed", "work", 0), resumption: { runs: 1 } })
      )
      yield* store.create(malformed, limits)
      yield* store.create(lapsed("own", "work", 1), limits)
      const { counts, work } = counting()
      yield* processOn(store, work, {}, limits)
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(counts.runs, 1)
    }))
})
