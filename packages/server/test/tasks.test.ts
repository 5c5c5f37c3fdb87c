/** Tools of groups whose calls become tasks. */
import { TaskExtension } from "@effect-mcp/protocol"
import { McpGroup, McpMount, McpTool } from "@effect-mcp/server"
import { RequestContext } from "@effect-mcp/session"
import { RemoteTasks, type ServerTasks, type StoredTask, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { connect, handshake } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

const Reports = McpGroup.make(
  "reports",
  Tool.make("report", {
    parameters: Schema.Struct({ year: Schema.Int }),
    success: Schema.Struct({ pages: Schema.Int })
  })
    .annotate(McpTool.Task, "optional"),
  Tool.make("archive", { success: Schema.String }).annotate(McpTool.Task, { support: "required", begins: "atOnce" }),
  Tool.make("count", { success: Schema.Int })
)

const ReportsLive = Reports.toLayer((handlers) =>
  handlers
    .tool("report", ({ year }) =>
      Effect.gen(function*() {
        yield* RequestContext.progress({ progress: 1, total: 2, message: "collecting" })
        yield* Effect.sleep("1 minute")
        return { pages: year }
      }))
    .tool("archive", () => Effect.succeed("done"))
    .tool("count", () => Effect.succeed(1))
)

const legacy = { client: handshake }

/** Runs the other fibers until each of them waits. */
const settled = Effect.repeat(Effect.yieldNow, { times: 50 })

describe("a tool with the annotation Task", () => {
  it.effect("runs as a task, with the result of the plain call", () =>
    Effect.gen(function*() {
      const session = yield* connect(ReportsLive, legacy)
      const { tools } = yield* session.listTools()
      assert.deepStrictEqual(
        Object.fromEntries(tools.map(({ execution, name }) => [name, execution?.taskSupport])),
        { report: "optional", archive: "required", count: undefined }
      )
      const task = yield* RemoteTasks.of(session).call("report", { year: 26 })
      yield* settled
      const { status, statusMessage } = yield* task.state
      assert.deepStrictEqual([status, statusMessage], ["working", "collecting"])
      const results = yield* Effect.forkChild(
        Effect.all([task.result, session.callTool("report", { year: 26 })], { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      yield* settled
      yield* TestClock.adjust("1 minute")
      const [ofTask, plain] = yield* Fiber.join(results)
      assert.deepStrictEqual(ofTask, {
        ...plain,
        _meta: { "io.modelcontextprotocol/related-task": { taskId: task.id } }
      })
      assert.deepStrictEqual(ofTask.structuredContent, { pages: 26 })
      const archive = yield* RemoteTasks.of(session).call("archive")
      assert.deepStrictEqual((yield* archive.result).structuredContent, undefined)
      assert.strictEqual((yield* Effect.flip(RemoteTasks.of(session).call("count"))).reason._tag, "InvalidParams")
      assert.strictEqual((yield* Effect.flip(session.callTool("archive"))).reason._tag, "InvalidParams")
    }))

  it.effect("keeps it under a mount", () =>
    Effect.gen(function*() {
      const session = yield* connect(McpMount.prefixed("work", ReportsLive), legacy)
      const task = yield* RemoteTasks.of(session).call("work_archive")
      assert.isDefined(yield* task.result)
    }))

  it.effect("has the options of the server, and the store that is provided to it", () =>
    Effect.gen(function*() {
      const stored: Array<StoredTask.StoredTask> = []
      const memory = yield* TaskStore.makeMemory()
      const store: TaskStore.TaskStore["Service"] = {
        ...memory,
        create: (task, limits) => {
          stored.push(task)
          return memory.create(task, limits)
        }
      }
      const session = yield* Effect.provideService(
        connect(ReportsLive, {
          ...legacy,
          server: { tasks: { ttl: "5 minutes", pollInterval: "3 seconds", maxTasks: 1 } }
        }),
        TaskStore.TaskStore,
        store
      )
      yield* RemoteTasks.of(session).call("report", { year: 1 })
      const { pollMillis, request, ttlMillis } = stored[0] ?? {}
      assert.deepStrictEqual([pollMillis, ttlMillis, request?.params?.["name"]], [3_000, 300_000, "report"])
      const full = yield* Effect.flip(RemoteTasks.of(session).call("report", { year: 1 }))
      assert.include(full.message, "There are 1 tasks already")
    }))

  it.effect("declares no tasks on a server without such a tool", () =>
    Effect.gen(function*() {
      const Plain = McpGroup.make("plain", Tool.make("count", { success: Schema.Int }))
      const session = yield* connect(
        Plain.toLayer((handlers) => handlers.tool("count", () => Effect.succeed(1))),
        legacy
      )
      assert.isUndefined(session.profile.capabilities.tasks)
    }))
})

const withTasks = { capabilities: { extensions: { [TaskExtension.name]: {} } } }

describeForBothEras("the annotation Task of a tool", ({ connect, isModern }) => {
  it.effect("with wrong arguments fails as its plain call does", () =>
    Effect.gen(function*() {
      const session = yield* connect(ReportsLive, { client: withTasks })
      const task = yield* RemoteTasks.of(session).call("report", { year: "x" })
      const failed = yield* task.result
      assert.isTrue(failed.isError)
      // Without a handshake, a task that ended with the result of an error is completed.
      assert.strictEqual((yield* task.state).status, isModern ? "completed" : "failed")
      assert.deepStrictEqual(failed.content, (yield* session.callTool("report", { year: "x" })).content)
    }))

  it.effect("with a time that is none is a defect of the Layer", () =>
    Effect.gen(function*() {
      const Wrong = McpGroup.make(
        "wrong",
        Tool.make("slow").annotate(McpTool.Task, { support: "optional", begins: -1 })
      )
      const WrongLive = Wrong.toLayer((handlers) => handlers.tool("slow", () => Effect.void))
      const exit = yield* Effect.exit(connect(WrongLive))
      assert.include(
        String(exit),
        "McpTool.Task of the tool \"slow\": begins must be a duration of at least 0, not -1"
      )
    }))
})

/** The annotation takes these. */
export const annotations: ReadonlyArray<ServerTasks.TaskSupport | ServerTasks.ToolTasks> = [
  "forbidden",
  { support: "optional", begins: "5 seconds" },
  { support: "optional", begins: "explicitly" }
]
