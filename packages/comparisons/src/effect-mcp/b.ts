/** An HTTP server with sessions and a task list per user, written with Effect MCP. */
import { McpError, McpGroup, McpMiddleware, McpRequest, McpResource, McpServer } from "@effect-mcp/server"
import { SessionHost } from "@effect-mcp/session"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import { DatabaseSync } from "node:sqlite"

const port = Number(process.env["PORT"] ?? 3460)
const idleTimeout = Number(process.env["SESSION_IDLE_MILLIS"] ?? 30 * 60_000)
const users = new Set(["ada", "bob"])

class Task extends Schema.Class<Task>("Task")({ id: Schema.Int, title: Schema.String, done: Schema.Boolean }) {}
class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {
  override get message() {
    return `There is no task ${this.id}`
  }
}

class CurrentUser extends Context.Service<CurrentUser, { readonly id: string }>()("CurrentUser") {}
class Authorization extends McpMiddleware.Service<Authorization, { provides: CurrentUser }>()("Authorization") {}

class TaskRepo extends Context.Service<TaskRepo, {
  readonly add: (owner: string, title: string) => Effect.Effect<Task>
  readonly complete: (owner: string, id: number) => Effect.Effect<Task, NoSuchTask>
  readonly all: (owner: string) => Effect.Effect<ReadonlyArray<Task>>
}>()("TaskRepo") {
  static readonly layer = Layer.effect(
    TaskRepo,
    Effect.gen(function*() {
      const db = yield* Effect.acquireRelease(
        Effect.sync(() => new DatabaseSync(":memory:")),
        (db) => Effect.sync(() => db.close())
      )
      db.exec("create table tasks (id integer primary key, owner text, title text, done integer default 0)")
      const insert = db.prepare("insert into tasks (owner, title) values (?, ?) returning *")
      const update = db.prepare("update tasks set done = 1 where id = ? and owner = ? returning *")
      const select = db.prepare("select * from tasks where owner = ?")
      const toTask = (row: Record<string, unknown> | undefined) =>
        Schema.decodeUnknownSync(Task)({ ...row, done: row?.["done"] === 1 })
      return TaskRepo.of({
        add: (owner, title) => Effect.sync(() => toTask(insert.get(owner, title))),
        complete: (owner, id) =>
          Effect.suspend(() => {
            const row = update.get(id, owner)
            return row === undefined ? Effect.fail(new NoSuchTask({ id })) : Effect.succeed(toTask(row))
          }),
        all: (owner) => Effect.sync(() => select.all(owner).map(toTask))
      })
    })
  )
}

const Tasks = McpGroup.make(
  "tasks",
  Tool.make("add_task", {
    description: "Adds a task",
    parameters: Schema.Struct({ title: Schema.NonEmptyString }),
    success: Task
  }),
  Tool.make("complete_task", {
    description: "Marks a task as done",
    parameters: Schema.Struct({ id: Schema.Int }),
    success: Task,
    failure: NoSuchTask
  }),
  Tool.make("list_tasks", { description: "Lists the tasks", success: Schema.Struct({ tasks: Schema.Array(Task) }) }),
  McpResource.make("all", { uri: "tasks://all", content: Schema.Array(Task) })
).middleware(Authorization)

const TasksLive = Tasks.toLayer(Effect.fnUntraced(function*(handlers) {
  const repo = yield* TaskRepo
  const own = Effect.flatMap(CurrentUser, ({ id }) => repo.all(id))
  return handlers
    .tool("add_task", ({ title }) => Effect.flatMap(CurrentUser, ({ id: owner }) => repo.add(owner, title)))
    .tool("complete_task", ({ id }) => Effect.flatMap(CurrentUser, ({ id: owner }) => repo.complete(owner, id)))
    .tool("list_tasks", () => Effect.map(own, (tasks) => ({ tasks })))
    .resource("all", own)
}))

const user = McpRequest.McpRequest.pipe(
  Effect.flatMap(({ principal }) => Effect.fromNullishOr(principal)),
  Effect.mapError(() => McpError.invalidRequest("There is no user"))
)
const AuthorizationLive = McpMiddleware.layer(Authorization, CurrentUser, user)

const Tokens = Authentication.layerBearer({
  realm: "tasks",
  verify: (token) => Effect.sync(() => users.has(Redacted.value(token)) ? { id: Redacted.value(token) } : undefined)
})
const Host = McpServer.layerHost(TasksLive, {
  info: { name: "tasks", version: "1.0.0" },
  sessions: { max: 100, idleTimeout }
})

const App = SessionHost.layerDrain.pipe(
  Layer.provide(HttpRouter.serve(Layer.merge(
    Layer.provide(StreamableHttpServer.layer(), Tokens),
    HttpRouter.add("GET", "/health", HttpServerResponse.json({ ok: true }))
  ))),
  Layer.provide(Host),
  Layer.provide([AuthorizationLive, TaskRepo.layer, NodeHttpServer.layer(createServer, { port, host: "127.0.0.1" })])
)

NodeRuntime.runMain(Layer.launch(App))
