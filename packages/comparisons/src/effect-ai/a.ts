/** A stdio server of tasks, written with `effect/ai`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import { McpProtocol, McpSchema, McpServer, Tool, Toolkit } from "effect/ai"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"

class Task extends Schema.Class<Task>("Task")({ id: Schema.Int, title: Schema.String, done: Schema.Boolean }) {}
class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {
  override get message() {
    return `There is no task ${this.id}`
  }
}
const styles = ["bullet list", "haiku", "table"] as const
let tasks: ReadonlyArray<Task> = [new Task({ id: 1, title: "write report", done: false })]

const find = (id: number) => {
  const found = tasks.find((task) => task.id === id)
  return found === undefined ? Effect.fail(new NoSuchTask({ id })) : Effect.succeed(found)
}

const Tools = Toolkit.make(
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
  Tool.make("list_tasks", {
    description: "Lists the tasks",
    parameters: Schema.Struct({ done: Schema.optionalKey(Schema.Boolean) }),
    success: Schema.Struct({ tasks: Schema.Array(Task) })
  })
)

const ToolsLive = Tools.toLayer({
  add_task: ({ title }) =>
    Effect.sync(() => {
      const task = new Task({ id: tasks.length + 1, title, done: false })
      tasks = [...tasks, task]
      return task
    }),
  complete_task: ({ id }) =>
    Effect.map(find(id), (found) => {
      const done = new Task({ ...found, done: true })
      tasks = tasks.map((task) => task.id === id ? done : task)
      return done
    }),
  list_tasks: ({ done }) =>
    Effect.sync(() => ({ tasks: tasks.filter((task) => done === undefined || task.done === done) }))
})

const AllTasks = McpServer.resource({
  uri: "tasks://all",
  name: "all",
  mimeType: "application/json",
  content: Effect.sync(() => JSON.stringify(tasks))
})

const OneTask = McpServer.resource`tasks://${McpSchema.param("id", Schema.FiniteFromString)}`({
  name: "task",
  mimeType: "application/json",
  completion: {
    id: (input) => Effect.sync(() => tasks.map(({ id }) => id).filter((id) => String(id).startsWith(input)))
  },
  content: (_, id) => Effect.map(find(id), (task) => JSON.stringify(task))
})

const Summarize = McpServer.prompt({
  name: "summarize",
  description: "Summarizes the tasks",
  parameters: { style: Schema.Literals(styles) },
  completion: { style: (input) => Effect.succeed(styles.filter((style) => style.startsWith(input))) },
  content: ({ style }) => Effect.sync(() => `Summarize as ${style}: ${JSON.stringify(tasks)}`)
})

const ServerLive = McpServer.layerStdio({
  name: "tasks",
  version: "1.0.0",
  protocols: [McpProtocol.v2025_11_25, McpProtocol.v2025_06_18],
  registrations: Layer.mergeAll(McpServer.toolkit(Tools), AllTasks, OneTask, Summarize)
}).pipe(
  Layer.provide(ToolsLive),
  Layer.provide(NodeStdio.layer),
  Layer.provide(Layer.succeed(Logger.LogToStderr, true))
)

NodeRuntime.runMain(Layer.launch(ServerLive))
