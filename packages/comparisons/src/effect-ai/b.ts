/** An HTTP server with sessions and a task list per user, written with `effect/ai`. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import { DatabaseSync } from "node:sqlite"

const port = Number(process.env["PORT"] ?? 3460)
const users = new Set(["ada", "bob"])

class Task extends Schema.Class<Task>("Task")({ id: Schema.Int, title: Schema.String, done: Schema.Boolean }) {}
class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {
  override get message() {
    return `There is no task ${this.id}`
  }
}

class CurrentUser extends Context.Service<CurrentUser, { readonly id: string }>()("CurrentUser") {}

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

const dependencies = [CurrentUser]
const Tools = Toolkit.make(
  Tool.make("add_task", {
    description: "Adds a task",
    parameters: Schema.Struct({ title: Schema.NonEmptyString }),
    success: Task,
    dependencies
  }),
  Tool.make("complete_task", {
    description: "Marks a task as done",
    parameters: Schema.Struct({ id: Schema.Int }),
    success: Task,
    failure: NoSuchTask,
    dependencies
  }),
  Tool.make("list_tasks", {
    description: "Lists the tasks",
    success: Schema.Struct({ tasks: Schema.Array(Task) }),
    dependencies
  })
)

const ToolsLive = Tools.toLayer(Effect.gen(function*() {
  const repo = yield* TaskRepo
  return Tools.of({
    add_task: ({ title }) => Effect.flatMap(CurrentUser, ({ id: owner }) => repo.add(owner, title)),
    complete_task: ({ id }) => Effect.flatMap(CurrentUser, ({ id: owner }) => repo.complete(owner, id)),
    list_tasks: () => Effect.flatMap(CurrentUser, ({ id }) => Effect.map(repo.all(id), (tasks) => ({ tasks })))
  })
}))

const AllTasks = Layer.unwrap(Effect.map(TaskRepo, (repo) =>
  McpServer.resource({
    uri: "tasks://all",
    name: "all",
    mimeType: "application/json",
    content: Effect.flatMap(CurrentUser, ({ id }) => Effect.map(repo.all(id), (tasks) => JSON.stringify(tasks)))
  })))

const Auth =
  HttpRouter.middleware<{ provides: CurrentUser }>()((httpEffect) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
      const token = /^Bearer (.+)$/i.exec(headers["authorization"] ?? "")?.[1]
      return token !== undefined && users.has(token)
        ? Effect.provideService(httpEffect, CurrentUser, { id: token })
        : Effect.succeed(
          HttpServerResponse.empty({ status: 401, headers: { "www-authenticate": "Bearer realm=\"tasks\"" } })
        )
    })
  ).layer

const Mcp = McpServer.layerHttp({
  name: "tasks",
  version: "1.0.0",
  path: "/mcp",
  protocols: [McpProtocol.v2025_11_25, McpProtocol.v2025_06_18],
  allowSessionTermination: true,
  registrations: Layer.merge(Layer.provide(McpServer.toolkit(Tools), ToolsLive), AllTasks)
}).pipe(Layer.provide(Auth))
const Health = HttpRouter.add("GET", "/health", HttpServerResponse.json({ ok: true }))

const App = HttpRouter.serve(Layer.merge(Mcp, Health)).pipe(
  Layer.provide(TaskRepo.layer),
  Layer.provide(NodeHttpServer.layer(createServer, { port, host: "127.0.0.1" }))
)

NodeRuntime.runMain(Layer.launch(App))
