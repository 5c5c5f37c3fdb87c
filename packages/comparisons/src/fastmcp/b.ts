/** An HTTP server with sessions and a task list per user, written with FastMCP. */
import { FastMCP, UserError } from "fastmcp"
import { DatabaseSync } from "node:sqlite"
import * as z from "zod/v4"

const port = Number(process.env["PORT"] ?? 3460)
const users = new Set(["ada", "bob"])

const Task = z.object({ id: z.int(), title: z.string(), done: z.boolean() })

const db = new DatabaseSync(":memory:")
db.exec("create table tasks (id integer primary key, owner text, title text, done integer default 0)")
const insert = db.prepare("insert into tasks (owner, title) values (?, ?) returning *")
const update = db.prepare("update tasks set done = 1 where id = ? and owner = ? returning *")
const select = db.prepare("select * from tasks where owner = ?")
const toTask = (row: Record<string, unknown> | undefined) => Task.parse({ ...row, done: row?.["done"] === 1 })
const tasksOf = (owner: string) => select.all(owner).map(toTask)

const server = new FastMCP({
  name: "tasks",
  version: "1.0.0",
  authenticate: async ({ headers }) => {
    const token = /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1]
    if (token === undefined || !users.has(token)) {
      const challenge = { "www-authenticate": "Bearer realm=\"tasks\"" }
      throw new Response(null, { status: 401, statusText: "Unauthorized", headers: challenge })
    }
    return { owner: token }
  }
})

const ownerOf = (session: { readonly owner: string } | undefined) => {
  if (session === undefined) throw new UserError("There is no user")
  return session.owner
}

server.addTool({
  name: "add_task",
  description: "Adds a task",
  parameters: z.object({ title: z.string().min(1) }),
  outputSchema: Task,
  execute: async ({ title }, { session }) => toTask(insert.get(ownerOf(session), title))
})

server.addTool({
  name: "complete_task",
  description: "Marks a task as done",
  parameters: z.object({ id: z.int() }),
  outputSchema: Task,
  execute: async ({ id }, { session }) => {
    const row = update.get(id, ownerOf(session))
    if (row === undefined) throw new UserError(`There is no task ${id}`)
    return toTask(row)
  }
})

server.addTool({
  name: "list_tasks",
  description: "Lists the tasks",
  outputSchema: z.object({ tasks: z.array(Task) }),
  execute: async (_, { session }) => ({ tasks: tasksOf(ownerOf(session)) })
})

server.addResource({
  uri: "tasks://all",
  name: "all",
  mimeType: "application/json",
  load: async (session) => ({ text: JSON.stringify(tasksOf(ownerOf(session))) })
})

server.getApp().get("/health", (context) => context.json({ ok: true }))

await server.start({ transportType: "httpStream", httpStream: { port, host: "127.0.0.1" } })
