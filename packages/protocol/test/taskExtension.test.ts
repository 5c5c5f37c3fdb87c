/** The messages of the tasks extension against its official schema, and its examples. */
import { Task, TaskExtension } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as ResultType from "../src/internal/results/ResultType.ts"
import * as GeneratedSchema from "./generatedSchema.ts"
import { strictly } from "./official.ts"
import { isMembers } from "./wire.ts"

const members = (value: unknown) => isMembers(value) ? value : {}

const { assertIn } = GeneratedSchema.load("tasks-extension")

const runs = { arbitrary: { runs: 60 } }

const task = {
  taskId: "786512e2-9e0d-44bd-8f29-789f320fe840",
  createdAt: "2025-11-25T10:30:00Z",
  lastUpdatedAt: "2025-11-25T10:50:00Z",
  ttlMs: 60_000,
  pollIntervalMs: 5_000
}

describe("the schema of the extension accepts", () => {
  it.prop(
    "a result that is a task",
    [strictly(TaskExtension.CreatedTask)],
    ([value]) => assertIn("CreateTaskResult", { ...members(value), resultType: TaskExtension.resultType }),
    runs
  )

  it.prop(
    "the result of tasks/get",
    [strictly(TaskExtension.DetailedTask)],
    ([value]) => assertIn("GetTaskResult", { ...members(value), resultType: "complete" }),
    runs
  )

  it.prop(
    "the params of notifications/tasks",
    [strictly(TaskExtension.DetailedTask)],
    ([value]) => assertIn("TaskStatusNotificationParams", value),
    runs
  )

  for (
    const [method, definition] of [["tasks/get", "GetTaskRequest"], ["tasks/cancel", "CancelTaskRequest"]] as const
  ) {
    it.prop(
      `the params of ${method}`,
      [strictly(Task.TaskParams)],
      ([params]) => assertIn(definition, { jsonrpc: "2.0", id: 1, method, params }),
      runs
    )
  }
})

describe("a task of the extension", () => {
  const isTask = Schema.is(TaskExtension.DetailedTask)

  it("has the data of its status, and is none without it", () => {
    const ask = {
      method: "elicitation/create",
      params: { message: "Who?", requestedSchema: { type: "object", properties: {} } }
    }
    const data = {
      working: {},
      input_required: { inputRequests: { a: ask } },
      completed: { result: { content: [], isError: true } },
      failed: { error: { code: -32603, message: "no" } },
      cancelled: {}
    }
    for (const [status, own] of Object.entries(data)) {
      assert.isTrue(isTask({ ...task, status, ...own }), status)
      if (Object.keys(own).length > 0) assert.isFalse(isTask({ ...task, status }), status)
    }
  })

  it("has times in whole milliseconds", () => {
    assert.isTrue(isTask({ ...task, status: "working", ttlMs: null }))
    assert.isFalse(isTask({ ...task, status: "working", ttlMs: 0.5 }))
    assert.isFalse(isTask({ ...task, status: "working", pollIntervalMs: 0.5 }))
  })

  it("is told by the type of its result, which only clients with the extension accept", () => {
    const result = { ...task, status: "working", resultType: TaskExtension.resultType }
    assert.isUndefined(ResultType.of(result))
    assert.strictEqual(ResultType.of(result, new Set([...ResultType.core, TaskExtension.resultType])), "task")
  })
})

describe("answers to a task", () => {
  it("are objects by the keys of the questions", () => {
    const decode = Schema.decodeUnknownExit(TaskExtension.UpdateTaskParams)
    assert.isTrue(
      Exit.isSuccess(decode({ taskId: "t", inputResponses: { a: { action: "accept" }, b: { roots: [] } } }))
    )
    assert.isTrue(Exit.isFailure(decode({ taskId: "t" })))
    assert.isTrue(Exit.isFailure(decode({ taskId: "t", inputResponses: { a: "yes" } })))
  })
})
