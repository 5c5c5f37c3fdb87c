import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js"
import { throughJson } from "../peers/json.ts"
import { info } from "../peers/tools.ts"
import { inFlight, result, type TaskServer } from "./TaskServer.ts"

const ttl = 3_600_000

/** Works through items with a number of them at a time. */
const each = async <A>(items: ReadonlyArray<A>, work: (item: A) => Promise<void>): Promise<void> => {
  let next = 0
  await Promise.all(Array.from({ length: inFlight }, async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item)
  }))
}

/**
 * Connects a client of the official SDK, version 1, to a server with its experimental tasks. No handler of it runs
 * while a task waits: a program ends its tasks by itself.
 */
export const connect = async (): Promise<TaskServer> => {
  const [near, far] = InMemoryTransport.createLinkedPair()
  ;[near, far].forEach(throughJson)
  const taskStore = new InMemoryTaskStore()
  const server = new McpServer(info, {
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore
  })
  const waiting: Array<() => Promise<void>> = []
  server.experimental.tasks.registerToolTask("wait", { execution: { taskSupport: "required" } }, {
    createTask: async ({ taskStore }) => {
      const task = await taskStore.createTask({ ttl })
      waiting.push(() =>
        taskStore.storeTaskResult(task.taskId, "completed", { content: [{ type: "text", text: result }] })
      )
      return { task }
    },
    getTask: ({ taskId, taskStore }) => taskStore.getTask(taskId),
    getTaskResult: async ({ taskId, taskStore }) => CallToolResultSchema.parse(await taskStore.getTaskResult(taskId))
  })
  const client = new Client(info)
  await Promise.all([server.connect(far), client.connect(near)])
  const ids: Array<string> = []
  return {
    create: (count) =>
      each(Array.from({ length: count }, (_, index) => index), async () => {
        const { task } = await client.request(
          { method: "tools/call", params: { name: "wait", task: { ttl } } },
          CreateTaskResultSchema
        )
        ids.push(task.taskId)
      }),
    finish: () => each(waiting, (finish) => finish()),
    collect: () =>
      each(ids, async (id) => {
        const { content: [first] } = await client.experimental.tasks.getTaskResult(id, CallToolResultSchema)
        if (first?.type !== "text" || first.text !== result) throw new Error(`wrong result of ${id}`)
      }),
    close: async () => {
      await client.close()
      await server.close()
      taskStore.cleanup()
    }
  }
}
