/** The states of a stored task, as each revision sends them. */
import { Task, TaskExtension } from "@effect-mcp/protocol"
import { StoredTask } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TaskState from "../src/internal/runs/TaskState.ts"
import { storedTask } from "./support/storedTask.ts"

const task = storedTask("t", { updatedAt: 1_500 })

const stateOf = (part: Partial<StoredTask.StoredTask> = {}) => StoredTask.stateOf({ ...task, ...part })

const question = (key: string, answer?: unknown): StoredTask.TaskQuestion => ({
  key,
  request: {
    method: "elicitation/create",
    params: { message: "Who?", requestedSchema: { type: "object", properties: {} } }
  },
  ...(answer === undefined ? {} : { answer })
})

const outcomes: ReadonlyArray<
  readonly [name: string, part: Partial<StoredTask.StoredTask>, legacy: Task.Status, extension: Task.Status]
> = [
  ["that runs", {}, "working", "working"],
  ["with an open question", { questions: [question("a", {}), question("b")] }, "input_required", "input_required"],
  ["whose questions are answered", { questions: [question("a", {})] }, "working", "working"],
  ["with a result", { outcome: { _tag: "Result", result: { content: [] } } }, "completed", "completed"],
  ["whose tool has failed", { outcome: { _tag: "Result", result: { isError: true } } }, "failed", "completed"],
  ["with an error", { outcome: { _tag: "Error", error: { code: -32603, message: "no" } } }, "failed", "failed"],
  ["that was cancelled", { outcome: { _tag: "Cancelled" } }, "cancelled", "cancelled"],
  [
    "that has ended with an open question",
    { questions: [question("a")], outcome: { _tag: "Cancelled" } },
    "cancelled",
    "cancelled"
  ]
]

describe("a task", () => {
  for (const [name, part, legacy, extension] of outcomes) {
    it(`${name} is ${legacy}, and ${extension} in the extension`, () => {
      const own = TaskState.legacy(stateOf(part))
      assert.strictEqual(own.status, legacy)
      assert.isTrue(Schema.is(Task.Task)(own))
      const detailed = TaskState.extension(stateOf(part), part.outcome)
      assert.strictEqual(detailed.status, extension)
      assert.isTrue(Schema.is(TaskExtension.DetailedTask)(detailed))
    })
  }

  it("[TSK-10] [TSK-11] has its times, its message and its lifetime", () => {
    const full = stateOf({ message: "half", ttlMillis: 60_000.4 })
    assert.deepStrictEqual(TaskState.legacy(full), {
      taskId: "t",
      status: "working",
      statusMessage: "half",
      createdAt: "1970-01-01T00:00:00.000Z",
      lastUpdatedAt: "1970-01-01T00:00:01.500Z",
      ttl: 60_000.4,
      pollInterval: 500
    })
    assert.strictEqual(TaskState.legacy(stateOf()).ttl, null)
    assert.deepStrictEqual(TaskState.extension(full), {
      taskId: "t",
      status: "working",
      statusMessage: "half",
      createdAt: "1970-01-01T00:00:00.000Z",
      lastUpdatedAt: "1970-01-01T00:00:01.500Z",
      ttlMs: 60_000,
      pollIntervalMs: 500
    })
    assert.strictEqual(TaskState.extension(stateOf()).ttlMs, null)
  })

  it("has its open questions in the extension, by their keys", () => {
    const { inputRequests } = Schema.decodeUnknownSync(Schema.Struct({ inputRequests: Schema.Unknown }))(
      TaskState.extension(stateOf({ questions: [question("a", {}), question("b"), question("c")] }))
    )
    assert.deepStrictEqual(inputRequests, { b: question("b").request, c: question("c").request })
  })
})

describe("the payload of a task", () => {
  it.effect("is the result of its request, with the task in its metadata", () =>
    Effect.gen(function*() {
      const result = { content: [], isError: true, _meta: { "acme/a": 1 } }
      const payload = TaskState.payload(task.id, { _tag: "Result", result })
      assert.deepStrictEqual(yield* payload, {
        ...result,
        _meta: { "acme/a": 1, [Task.relatedTaskKey]: { taskId: "t" } }
      })
    }))

  it.effect("is the error of its request, or one that says that it was cancelled", () =>
    Effect.gen(function*() {
      const failed = TaskState.payload(task.id, { _tag: "Error", error: { code: 7, message: "no", data: 1 } })
      const { code, data, message } = yield* Effect.flip(failed)
      assert.deepStrictEqual([code, message, data], [7, "no", 1])
      const cancelled = yield* Effect.flip(TaskState.payload(task.id, { _tag: "Cancelled" }))
      assert.include(cancelled.message, "cancelled")
    }))
})
