/** An HTTP server with sessions and a task list per user, written with the official SDK. */
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node"
import {
  type AuthInfo,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  requireBearerAuth,
  WebStandardStreamableHTTPServerTransport
} from "@modelcontextprotocol/server"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { DatabaseSync } from "node:sqlite"
import * as z from "zod/v4"

const port = Number(process.env["PORT"] ?? 3460)
const idleMillis = Number(process.env["SESSION_IDLE_MILLIS"] ?? 30 * 60_000)
const maxSessions = 100
const users = new Set(["ada", "bob"])

const Task = z.object({ id: z.int(), title: z.string(), done: z.boolean() })

const db = new DatabaseSync(":memory:")
db.exec("create table tasks (id integer primary key, owner text, title text, done integer default 0)")
const insert = db.prepare("insert into tasks (owner, title) values (?, ?) returning *")
const update = db.prepare("update tasks set done = 1 where id = ? and owner = ? returning *")
const select = db.prepare("select * from tasks where owner = ?")
const toTask = (row: Record<string, unknown> | undefined) => Task.parse({ ...row, done: row?.["done"] === 1 })
const tasksOf = (owner: string) => select.all(owner).map(toTask)

const toResult = (output: Record<string, unknown>) => ({
  content: [{ type: "text" as const, text: JSON.stringify(output) }],
  structuredContent: output
})

const makeServer = (owner: string) => {
  const server = new McpServer({ name: "tasks", version: "1.0.0" })
  server.registerTool("add_task", {
    description: "Adds a task",
    inputSchema: z.object({ title: z.string().min(1) }),
    outputSchema: Task
  }, ({ title }) => toResult(toTask(insert.get(owner, title))))
  server.registerTool("complete_task", {
    description: "Marks a task as done",
    inputSchema: z.object({ id: z.int() }),
    outputSchema: Task
  }, ({ id }) => {
    const row = update.get(id, owner)
    if (row === undefined) throw new Error(`There is no task ${id}`)
    return toResult(toTask(row))
  })
  server.registerTool("list_tasks", {
    description: "Lists the tasks",
    outputSchema: z.object({ tasks: z.array(Task) })
  }, () => toResult({ tasks: tasksOf(owner) }))
  server.registerResource("all", "tasks://all", { mimeType: "application/json" }, ({ href }) => ({
    contents: [{ uri: href, mimeType: "application/json", text: JSON.stringify(tasksOf(owner)) }]
  }))
  return server
}

const verifyAccessToken = async (token: string): Promise<AuthInfo> => {
  if (!users.has(token)) throw new OAuthError(OAuthErrorCode.InvalidToken, "Unknown token")
  return { token, clientId: token, scopes: [], expiresAt: Date.now() / 1000 + 3600 }
}
const authenticate = requireBearerAuth({ verifier: { verifyAccessToken } })

interface Session {
  readonly owner: string
  readonly transport: WebStandardStreamableHTTPServerTransport
  lastUsed: number
}
const sessions = new Map<string, Session>()

setInterval(() => {
  for (const [id, { lastUsed, transport }] of sessions) {
    if (Date.now() - lastUsed < idleMillis) continue
    sessions.delete(id)
    void transport.close()
  }
}, idleMillis / 4)

const toError = (status: number, message: string) =>
  Response.json({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }, { status })

const openSession = async (request: Request, authInfo: AuthInfo) => {
  if (sessions.size >= maxSessions) return toError(503, "Too many sessions")
  const id = randomUUID()
  const owner = authInfo.clientId
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => id,
    onsessionclosed: () => {
      sessions.delete(id)
    }
  })
  sessions.set(id, { owner, transport, lastUsed: Date.now() })
  await makeServer(owner).connect(transport)
  const response = await transport.handleRequest(request, { authInfo })
  // The request was not a handshake.
  if (transport.sessionId === undefined) sessions.delete(id)
  return response
}

const mcp = async (request: Request): Promise<Response> => {
  const authInfo = await authenticate(request)
  if (authInfo instanceof Response) return authInfo
  const id = request.headers.get("mcp-session-id")
  if (id === null) return openSession(request, authInfo)
  const session = sessions.get(id)
  if (session?.owner !== authInfo.clientId) return toError(404, "Session not found")
  session.lastUsed = Date.now()
  return session.transport.handleRequest(request, { authInfo })
}

const handler = toNodeHandler({
  fetch: async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === "/health") return Response.json({ ok: true })
    return pathname === "/mcp" ? mcp(request) : new Response("Not found", { status: 404 })
  }
})
const validateHost = localhostHostValidation()
const validateOrigin = localhostOriginValidation()

createServer((request, response) => {
  if (!validateHost(request, response) || !validateOrigin(request, response)) return
  const { method = "GET", url = "/" } = request
  void handler(Object.assign(request, { method, url }), response)
}).listen(port, "127.0.0.1")
