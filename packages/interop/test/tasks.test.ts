/** Tasks of revision 2025-11-25 with the official SDK, version 1, in both directions. */
import type { Tool } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { ClientTasks, RemoteTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it, layer } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks"
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"

const info = { name: "effect-mcp", version: "0.1.0" }

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : "").join()

describe("a client and the task server of official v1", () => {
  const sessionWith = (tasks: ClientTasks.ClientTasksShape) =>
    ClientSession.layer({
      info,
      handlers: {
        "elicitation/create": ({ message }) =>
          message === "Publish?"
            ? Effect.delay(Effect.succeed({ action: "decline" as const }), "300 millis")
            : Effect.succeed({ action: "accept" as const, content: { name: "Ada" } })
      },
      capabilities: { elicitation: { form: {} } },
      tasks
    }).pipe(Layer.provide(Child.server(Child.file("taskServerV1.ts")).transport))

  const session = Layer.unwrap(Effect.map(ClientTasks.make({ pollInterval: "100 millis" }), sessionWith)).pipe(
    Layer.provide(TaskStore.layerMemory())
  )

  layer(session, { excludeTestServices: true })((it) => {
    it.effect("[TSK-13] [TSK-15] follows a task to its end, and collects its result", () =>
      Effect.gen(function*() {
        const tasks = RemoteTasks.of(yield* ClientSession.ClientSession)
        const task = yield* tasks.call("report", {}, { ttl: "1 minute" })
        const states = yield* Stream.runCollect(task.states)
        assert.deepStrictEqual([states[0]?.status, states[0]?.ttl, states.at(-1)?.status], [
          "working",
          60_000,
          "completed"
        ])
        assert.strictEqual(textOf(yield* task.result), "the report")
        assert.strictEqual(textOf(yield* tasks.of(task.id ?? "").result), "the report")
        assert.include((yield* Stream.runCollect(tasks.list)).map(({ taskId }) => taskId), task.id)
      }))

    it.effect("[TSK-20] answers the question of a task while it waits for the result", () =>
      Effect.gen(function*() {
        const tasks = RemoteTasks.of(yield* ClientSession.ClientSession)
        const task = yield* tasks.call("greet")
        assert.strictEqual(textOf(yield* task.result), "hello Ada")
      }))

    it.effect("[TSK-14] answers a question as a task, which the server polls", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const words = textOf(yield* callTool("consent")).split(" ")
        assert.deepStrictEqual([words[0], words[1], ...words.slice(-2)], [
          "taskCreated",
          "working",
          "result",
          "decline"
        ])
      }))

    it.effect("[TSK-24] receives a failure, and the error of a task that it has cancelled", () =>
      Effect.gen(function*() {
        const tasks = RemoteTasks.of(yield* ClientSession.ClientSession)
        const broken = yield* tasks.call("broken")
        const failed = yield* broken.result
        assert.deepStrictEqual([failed.isError, textOf(failed)], [true, "Error: a defect"])
        assert.strictEqual((yield* broken.state).status, "failed")
        const endless = yield* tasks.call("endless")
        assert.strictEqual((yield* endless.cancel).status, "cancelled")
        const { reason } = yield* Effect.flip(endless.result)
        assert.strictEqual(reason._tag, "ErrorResponse")
      }))
  })
})

const taskServer = await joinedProgram(Child.file("taskServer.ts"))

/** Connects a client of official v1 with a server whose tools run as tasks. */
const official = Effect.acquireRelease(
  Effect.promise(async () => {
    const client = new Client({ name: "official", version: "1.0.0" }, {
      capabilities: { elicitation: {}, tasks: { cancel: {}, requests: { elicitation: { create: {} } } } },
      taskStore: new InMemoryTaskStore()
    })
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { taskStore }) => {
      if (params.message !== "Publish?" || taskStore === undefined) {
        return { action: "accept", content: { name: "Ada" } }
      }
      const task = await taskStore.createTask({ ttl: params.task?.ttl ?? null, pollInterval: 100 })
      setTimeout(() => void taskStore.storeTaskResult(task.taskId, "completed", { action: "decline" }), 300)
      return { task }
    })
    await client.connect(new StdioClientTransport({ command: "node", args: [taskServer] }))
    await client.listTools()
    return client
  }),
  (client) => Effect.promise(() => client.close())
)

/** Calls a tool as a task. Returns the types and statuses of what the client reports, and the last of it. */
const streamed = (client: Client, name: string) =>
  Effect.promise(async () => {
    const seen: Array<string> = []
    let last: unknown
    for await (
      const message of client.experimental.tasks.callToolStream({ name }, CallToolResultSchema, { task: {} })
    ) {
      seen.push(message.type === "taskStatus" ? message.task.status : message.type)
      last = message
    }
    return { seen, last }
  })

describe("a server and the task client of official v1", () => {
  it.live("[TSK-14] [TSK-15] runs a tool that requires it as a task", () =>
    Effect.gen(function*() {
      const client = yield* official
      const { last, seen } = yield* streamed(client, "report")
      assert.deepStrictEqual([seen[0], seen[1], seen.at(-1)], ["taskCreated", "working", "result"])
      assert.deepInclude(Object(last).result, { content: [{ type: "text", text: "the report" }] })
      const { tasks } = yield* Effect.promise(() => client.experimental.tasks.listTasks())
      assert.deepStrictEqual(tasks.map(({ status }) => status), ["completed"])
    }))

  it.live("[TSK-20] asks its user when the client collects the result", () =>
    Effect.gen(function*() {
      const { last, seen } = yield* streamed(yield* official, "greet")
      assert.include(seen, "input_required")
      assert.deepInclude(Object(last).result, { content: [{ type: "text", text: "hello Ada" }] })
    }))

  it.live("[TSK-13] [TSK-14] asks its user as a task of the client, and polls it", () =>
    Effect.gen(function*() {
      const client = yield* official
      const { content } = yield* Effect.promise(() => client.callTool({ name: "consent" }))
      assert.deepStrictEqual(content, [{ type: "text", text: "completed: decline" }])
    }))

  it.live("[TSK-24] [TSK-29] reports a failure, and cancels", () =>
    Effect.gen(function*() {
      const client = yield* official
      const { seen } = yield* streamed(client, "broken")
      assert.deepStrictEqual([seen.at(-2), seen.at(-1)], ["failed", "error"])
      const cancelled = yield* Effect.promise(async () => {
        const stream = client.experimental.tasks.callToolStream({ name: "endless" }, CallToolResultSchema, { task: {} })
        let status = ""
        for await (const message of stream) {
          if (message.type === "taskCreated") await client.experimental.tasks.cancelTask(message.task.taskId)
          if (message.type === "taskStatus") status = message.task.status
        }
        return status
      })
      assert.strictEqual(cancelled, "cancelled")
    }))
})
