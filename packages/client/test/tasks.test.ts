/** The tasks of a supervised client, over restarts of its server and of itself. */
import { McpClient, McpTarget, TaskIds } from "@effect-mcp/client/node"
import * as TaskIdsKeyValue from "@effect-mcp/client/TaskIdsKeyValue"
import { McpError, TaskExtension, type Tool } from "@effect-mcp/protocol"
import { type Handlers, ServerSession } from "@effect-mcp/session"
import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as References from "effect/References"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as path from "node:path"
import { leavingNothing } from "./support/leavingNothing.ts"
import { compiled, joinedFixture, temporaryDirectory } from "./support/places.ts"
import { until } from "./support/until.ts"

const info = { name: "host", version: "1.0.0" }

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((part) => part.type === "text" ? part.text : part.type).join()

/** Creates a client of the server with this database, and returns its child process' lines on standard error. */
const clientOf = Effect.fnUntraced(function*(database: string, revision: "2025-11-25" | "2026-07-28") {
  const stderr: Array<string> = []
  const asked: Array<string> = []
  const fixture = yield* joinedFixture("taskServer.ts")
  const client = yield* McpClient.make(
    McpTarget.command(process.execPath, [fixture, database], { env: compiled, stderr: (line) => stderr.push(line) }),
    {
      name: "trips",
      info,
      revisions: [revision],
      capabilities: { extensions: { [TaskExtension.name]: {} } },
      reconnect: Schedule.spaced("50 millis"),
      waitTimeout: "1 minute",
      handlers: {
        "elicitation/create": ({ message }) =>
          Effect.sync(() => {
            asked.push(message)
            return { action: "accept" as const, content: { name: "Ada" } }
          })
      }
    }
  )
  return { asked, client, stderr }
})

/** The time of a test, in milliseconds. It starts processes, and a busy machine starts them slowly. */
const timeout = 120_000

for (const revision of ["2025-11-25", "2026-07-28"] as const) {
  describe(`a supervised client with tasks, in ${revision}`, () => {
    it.live(
      "has the result of a task whose server was killed, without a second question",
      () =>
        Effect.gen(function*() {
          const directory = yield* temporaryDirectory
          yield* leavingNothing(Effect.gen(function*() {
            const { asked, client, stderr } = yield* clientOf(path.join(directory, "tasks.db"), revision)
            const pid = Number(textOf(yield* client.callTool("pid")))
            const task = yield* client.tasks.call("book", {}, { ttl: "1 hour" })
            assert.deepStrictEqual((yield* client.tasks.started).map(({ id, tool }) => [id, tool]), [[task.id, "book"]])
            const states = yield* Effect.forkChild(Stream.runCollect(task.states), { startImmediately: true })
            const result = yield* Effect.forkChild(task.result, { startImmediately: true })
            yield* until(() => stderr.includes("asked"))
            process.kill(pid, "SIGKILL")
            assert.strictEqual(textOf(yield* Fiber.join(result)), `reserved by ${pid} for Ada`)
            assert.strictEqual((yield* Fiber.join(states)).at(-1)?.status, "completed")
            assert.deepStrictEqual(asked, ["Who are you?"])
            assert.deepStrictEqual(yield* client.tasks.started, [])
          }))
        }).pipe(Effect.scoped),
      timeout
    )

    it.live("finds its task again after its own restart", () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const database = path.join(directory, "tasks.db")
        const ids = TaskIdsKeyValue.layer.pipe(
          Layer.provide(KeyValueStore.layerFileSystem(path.join(directory, "ids"))),
          Layer.provide([NodeFileSystem.layer, NodePath.layer])
        )
        const restarted = <A, E>(use: (client: McpClient.McpClientShape) => Effect.Effect<A, E>) =>
          leavingNothing(
            Effect.flatMap(clientOf(database, revision), ({ client }) => use(client)).pipe(
              Effect.provide(Layer.fresh(ids))
            )
          )
        yield* restarted((client) => client.tasks.call("report", {}, { ttl: "1 hour" }))
        yield* restarted((client) =>
          Effect.gen(function*() {
            const [started] = yield* client.tasks.started
            assert.strictEqual(started?.tool, "report")
            const { result } = client.tasks.of(started?.id ?? "", { tool: "report" })
            assert.strictEqual(textOf(yield* result), "the report")
          })
        )
        yield* restarted((client) => Effect.map(client.tasks.started, (started) => assert.deepStrictEqual(started, [])))
      }).pipe(Effect.scoped), timeout)
  })
}

/** Creates a client of a server in this process, whose tool `work` runs as a task. */
const connected = Effect.fnUntraced(function*(
  work: Effect.Effect<Tool.CallToolResult, McpError.McpError>,
  ids?: TaskIds.TaskIds["Service"],
  plan: ServerTasks.ToolTasks = { support: "required" },
  options: {
    readonly store?: TaskStore.TaskStore["Service"]
    readonly revision?: "2025-11-25" | "2026-07-28"
    readonly ttl?: number
  } = {}
) {
  const handlers: Handlers.Handlers<"client"> = {
    "tools/list": () =>
      Effect.succeed({
        tools: [{ name: "work", inputSchema: { type: "object" }, execution: { taskSupport: "optional" } }]
      }),
    "tools/call": () => work
  }
  const { revision = "2026-07-28", store = yield* TaskStore.makeMemory(), ttl = 60_000 } = options
  const limits = { ttl, pollInterval: "100 millis", lease: "300 millis" } as const
  const tasks = yield* Effect.provideService(
    ServerTasks.make({ tools: { work: plan }, ...limits }),
    TaskStore.TaskStore,
    store
  )
  const client = McpClient.make(McpTarget.transport(ServerSession.layerMemory(handlers, { info, tasks })), {
    info,
    name: "work",
    healthCheck: false,
    revisions: [revision],
    capabilities: { extensions: { [TaskExtension.name]: {} } }
  })
  return yield* ids === undefined ? client : Effect.provideService(client, TaskIds.TaskIds, ids)
})

const done: Tool.CallToolResult = { content: [{ type: "text", text: "done" }] }

describe("the tasks of a supervised client", () => {
  it.live("are forgotten after their results, their failures and their cancellation", () =>
    Effect.gen(function*() {
      let outcome: Effect.Effect<Tool.CallToolResult, McpError.McpError> = Effect.succeed(done)
      const client = yield* connected(Effect.suspend(() => outcome))
      const count = Effect.map(client.tasks.started, ({ length }) => length)
      const collected = yield* client.tasks.call("work")
      assert.strictEqual(yield* count, 1)
      assert.strictEqual(textOf(yield* collected.result), "done")
      assert.strictEqual(yield* count, 0)
      outcome = Effect.fail(McpError.invalidParams("no"))
      const failed = yield* client.tasks.call("work")
      yield* Effect.flip(failed.result)
      assert.strictEqual(yield* count, 0)
      outcome = Effect.never
      const cancelled = yield* client.tasks.call("work")
      assert.strictEqual((yield* cancelled.state).status, "working")
      assert.strictEqual((yield* cancelled.cancel).status, "cancelled")
      assert.strictEqual(yield* count, 0)
      assert.strictEqual((yield* Stream.runCollect(client.tasks.of(cancelled.id ?? "").states)).length, 1)
    }))

  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    it.live(`${revision}: are kept if the server fails while they run`, () =>
      Effect.gen(function*() {
        const memory = yield* TaskStore.makeMemory()
        let isBroken = false
        const loadState: TaskStore.TaskStore["Service"]["loadState"] = (id) =>
          Effect.suspend(() =>
            isBroken ? Effect.fail(new TaskStore.TaskStoreError({ cause: "down" })) : memory.loadState(id)
          )
        const client = yield* connected(Effect.never, undefined, { support: "required" }, {
          revision,
          store: { ...memory, loadState }
        })
        const task = yield* client.tasks.call("work")
        isBroken = true
        yield* Effect.flip(task.result)
        isBroken = false
        assert.strictEqual((yield* client.tasks.started).length, 1)
      }).pipe(Effect.provideService(References.MinimumLogLevel, "None")))
  }

  it.live("that have expired do not keep others from being collected", () =>
    Effect.gen(function*() {
      const client = yield* connected(Effect.succeed(done), undefined, { support: "required" }, { ttl: 300 })
      yield* client.tasks.call("work")
      yield* Effect.sleep("1 second")
      const collect = Effect.gen(function*() {
        for (const { id } of yield* client.tasks.started) yield* Stream.runDrain(client.tasks.of(id).states)
      })
      assert.strictEqual((yield* Effect.flip(collect))._tag, "RequestError")
      yield* collect
    }))

  it.effect("of which none was made are results", () =>
    Effect.gen(function*() {
      const client = yield* connected(Effect.succeed(done), undefined, { support: "optional", begins: "1 minute" })
      const answered = yield* client.tasks.call("work")
      assert.isUndefined(answered.id)
      assert.strictEqual(textOf(yield* answered.result), "done")
      assert.deepStrictEqual(yield* client.tasks.started, [])
    }))

  it.effect("go on if the store of ids fails or hangs, which is logged", () =>
    Effect.gen(function*() {
      const broken = Effect.fail(new TaskIds.TaskIdsError({ cause: "disk full" }))
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(String(message)))
      const client = yield* connected(Effect.succeed(done), {
        add: () => Effect.never,
        remove: () => Effect.die(new Error("a defect")),
        list: () => broken
      })
      yield* Effect.gen(function*() {
        const calling = yield* Effect.forkChild(client.tasks.call("work"), { startImmediately: true })
        yield* Effect.yieldNow
        yield* TestClock.adjust("10 seconds")
        const task = yield* Fiber.join(calling)
        const result = yield* Effect.forkChild(task.result, { startImmediately: true })
        yield* TestClock.adjust("1 second")
        assert.strictEqual(textOf(yield* Fiber.join(result)), "done")
        assert.strictEqual((yield* Effect.flip(client.tasks.started))._tag, "TaskIdsError")
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.deepStrictEqual(logged.map((line) => line.split(";")[0]), ["TaskIds.add failed", "TaskIds.remove failed"])
    }))
})

describe("a store of ids", () => {
  const stores = {
    "in memory": TaskIds.layerMemory,
    "over KeyValueStore": TaskIdsKeyValue.layer.pipe(Layer.provide(KeyValueStore.layerMemory))
  }
  for (const [name, store] of Object.entries(stores)) {
    it.effect(`${name} keeps the newest 1,000 of each server`, () =>
      Effect.gen(function*() {
        const ids = yield* TaskIds.TaskIds
        const task = (id: string) => ({ id, tool: "report", startedAt: 1 })
        yield* ids.add("b/ü", task("x"))
        yield* ids.add("constructor", task("a"))
        yield* ids.add("constructor", task("b"))
        yield* ids.add("constructor", task("a"))
        yield* ids.remove("constructor", "unknown")
        assert.deepStrictEqual((yield* ids.list("constructor")).map(({ id }) => id), ["b", "a"])
        yield* Effect.forEach(Array.from({ length: 1_000 }), (_, index) => ids.add("constructor", task(String(index))))
        const kept = yield* ids.list("constructor")
        assert.deepStrictEqual([kept.length, kept[0]?.id, kept.at(-1)?.id], [1_000, "0", "999"])
        assert.deepStrictEqual(yield* ids.list("b/ü"), [task("x")])
        assert.deepStrictEqual(yield* ids.list("toString"), [])
        yield* ids.remove("b/ü", "x")
        assert.deepStrictEqual(yield* ids.list("b/ü"), [])
      }).pipe(Effect.provide(store)))
  }

  it.effect("over KeyValueStore loses no change of several at once, and overwrites nothing else", () =>
    Effect.gen(function*() {
      const store = yield* KeyValueStore.KeyValueStore
      const ids = yield* TaskIds.TaskIds
      const all = Array.from({ length: 50 }, (_, index) => ({ id: String(index), tool: "report", startedAt: 1 }))
      yield* Effect.forEach(all, (task) => ids.add("s", task), { concurrency: "unbounded" })
      assert.strictEqual((yield* ids.list("s")).length, 50)
      yield* store.set("mcp-tasks-s", "{ no json")
      assert.strictEqual((yield* Effect.flip(ids.add("s", { id: "x", tool: "t", startedAt: 1 })))._tag, "TaskIdsError")
      assert.strictEqual(yield* store.get("mcp-tasks-s"), "{ no json")
      // A process that dies in a write may leave an empty value, which has no ids to lose.
      yield* store.set("mcp-tasks-s", "")
      assert.deepStrictEqual(yield* ids.list("s"), [])
    }).pipe(Effect.provide(Layer.provideMerge(TaskIdsKeyValue.layer, KeyValueStore.layerMemory))))
})
