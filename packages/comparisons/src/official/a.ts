/** A stdio server of tasks, written with the official SDK. */
import { completable, McpServer, ResourceNotFoundError, ResourceTemplate } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import * as z from "zod/v4"

const Task = z.object({ id: z.int(), title: z.string(), done: z.boolean() })
const styles = z.enum(["bullet list", "haiku", "table"])
const tasks: Array<z.infer<typeof Task>> = [{ id: 1, title: "write report", done: false }]

const toResult = (output: Record<string, unknown>) => ({
  content: [{ type: "text" as const, text: JSON.stringify(output) }],
  structuredContent: output
})
const toContents = (uri: URL, value: unknown) => ({
  contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(value) }]
})

serveStdio(() => {
  const server = new McpServer({ name: "tasks", version: "1.0.0" })
  server.registerTool("add_task", {
    description: "Adds a task",
    inputSchema: z.object({ title: z.string().min(1) }),
    outputSchema: Task
  }, ({ title }) => {
    const task = { id: tasks.length + 1, title, done: false }
    tasks.push(task)
    return toResult(task)
  })
  server.registerTool("complete_task", {
    description: "Marks a task as done",
    inputSchema: z.object({ id: z.int() }),
    outputSchema: Task
  }, ({ id }) => {
    const task = tasks.find((task) => task.id === id)
    if (task === undefined) throw new Error(`There is no task ${id}`)
    task.done = true
    return toResult(task)
  })
  server.registerTool("list_tasks", {
    description: "Lists the tasks",
    inputSchema: z.object({ done: z.boolean().optional() }),
    outputSchema: z.object({ tasks: z.array(Task) })
  }, ({ done }) => toResult({ tasks: tasks.filter((task) => done === undefined || task.done === done) }))
  server.registerResource("all", "tasks://all", { mimeType: "application/json" }, (uri) => toContents(uri, tasks))
  const template = new ResourceTemplate("tasks://{id}", {
    list: undefined,
    complete: { id: (value) => tasks.map(({ id }) => String(id)).filter((id) => id.startsWith(value)) }
  })
  server.registerResource("task", template, { mimeType: "application/json" }, (uri, { id }) => {
    const task = tasks.find((task) => String(task.id) === id)
    if (task === undefined) throw new ResourceNotFoundError(uri.href)
    return toContents(uri, task)
  })
  server.registerPrompt("summarize", {
    description: "Summarizes the tasks",
    argsSchema: z.object({
      style: completable(styles, (value) => styles.options.filter((style) => style.startsWith(value)))
    })
  }, ({ style }) => ({
    messages: [{
      role: "user",
      content: { type: "text", text: `Summarize as ${style}: ${JSON.stringify(tasks)}` }
    }]
  }))
  return server
})
