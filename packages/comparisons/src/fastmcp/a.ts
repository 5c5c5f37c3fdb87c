/** A stdio server of tasks, written with FastMCP. */
import { FastMCP, UserError } from "fastmcp"
import * as z from "zod/v4"

const Task = z.object({ id: z.int(), title: z.string(), done: z.boolean() })
const tasks: Array<z.infer<typeof Task>> = [{ id: 1, title: "write report", done: false }]

const server = new FastMCP({ name: "tasks", version: "1.0.0" })

server.addTool({
  name: "add_task",
  description: "Adds a task",
  parameters: z.object({ title: z.string().min(1) }),
  outputSchema: Task,
  execute: async ({ title }) => {
    const task = { id: tasks.length + 1, title, done: false }
    tasks.push(task)
    return task
  }
})

server.addTool({
  name: "complete_task",
  description: "Marks a task as done",
  parameters: z.object({ id: z.int() }),
  outputSchema: Task,
  execute: async ({ id }) => {
    const task = tasks.find((task) => task.id === id)
    if (task === undefined) throw new UserError(`There is no task ${id}`)
    task.done = true
    return task
  }
})

server.addTool({
  name: "list_tasks",
  description: "Lists the tasks",
  parameters: z.object({ done: z.boolean().optional() }),
  outputSchema: z.object({ tasks: z.array(Task) }),
  execute: async ({ done }) => ({ tasks: tasks.filter((task) => done === undefined || task.done === done) })
})

server.addResource({
  uri: "tasks://all",
  name: "all",
  mimeType: "application/json",
  load: async () => ({ text: JSON.stringify(tasks) })
})

server.addResourceTemplate({
  uriTemplate: "tasks://{id}",
  name: "task",
  mimeType: "application/json",
  arguments: [{
    name: "id",
    required: true,
    complete: async (value) => ({ values: tasks.map(({ id }) => String(id)).filter((id) => id.startsWith(value)) })
  }],
  load: async ({ id }) => {
    const task = tasks.find((task) => String(task.id) === id)
    if (task === undefined) throw new UserError(`There is no task ${id}`)
    return { text: JSON.stringify(task) }
  }
})

server.addPrompt({
  name: "summarize",
  description: "Summarizes the tasks",
  arguments: [{ name: "style", required: true, enum: ["bullet list", "haiku", "table"] }],
  load: async ({ style }) => `Summarize as ${style}: ${JSON.stringify(tasks)}`
})

await server.start({ transportType: "stdio" })
