/** A stdio server of tasks, written with Effect MCP. */
import { McpError, McpGroup, McpPrompt, McpResource, McpServer } from "@effect-mcp/server/node"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

class Task extends Schema.Class<Task>("Task")({ id: Schema.Int, title: Schema.String, done: Schema.Boolean }) {}
class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {
  override get message() {
    return `There is no task ${this.id}`
  }
}
const Style = Schema.Literals(["bullet list", "haiku", "table"])
let tasks: ReadonlyArray<Task> = [new Task({ id: 1, title: "write report", done: false })]

const all = Effect.sync(() => tasks)
const find = (id: number) =>
  Effect.mapError(Effect.fromNullishOr(tasks.find((task) => task.id === id)), () => new NoSuchTask({ id }))

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
  Tool.make("list_tasks", {
    description: "Lists the tasks",
    parameters: Schema.Struct({ done: Schema.optionalKey(Schema.Boolean) }),
    success: Schema.Struct({ tasks: Schema.Array(Task) })
  }),
  McpResource.make("all", { uri: "tasks://all", content: Schema.Array(Task) }),
  McpResource.template("task", { uri: "tasks://{id}", parameters: { id: Schema.FiniteFromString }, content: Task }),
  McpPrompt.make("summarize", { description: "Summarizes the tasks", arguments: { style: Style } })
)

const TasksLive = Tasks.toLayer((handlers) =>
  handlers
    .tool("add_task", ({ title }) =>
      Effect.sync(() => {
        const task = new Task({ id: tasks.length + 1, title, done: false })
        tasks = [...tasks, task]
        return task
      }))
    .tool("complete_task", ({ id }) =>
      Effect.map(find(id), (found) => {
        const done = new Task({ ...found, done: true })
        tasks = tasks.map((task) => task.id === id ? done : task)
        return done
      }))
    .tool("list_tasks", ({ done }) =>
      Effect.sync(() => ({ tasks: tasks.filter((task) => done === undefined || task.done === done) })))
    .resource("all", all)
    .template("task", ({ id }, uri) =>
      Effect.mapError(find(id), () => McpError.resourceNotFound(uri)), {
      complete: { id: () => Effect.map(all, (tasks) => tasks.map(({ id }) => String(id))) }
    })
    .prompt("summarize", ({ style }) => Effect.map(all, (tasks) => `Summarize as ${style}: ${JSON.stringify(tasks)}`))
)

McpServer.runMainStdio(TasksLive, { info: { name: "tasks", version: "1.0.0" }, logging: false })
