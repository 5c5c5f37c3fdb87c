/** The tasks that a store has to have after some operations, and the tasks of laws. */

import { StoredTask, type TaskStore } from "@effect-mcp/tasks"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { newId } from "./ids.ts"

type Task = StoredTask.StoredTask

/** Limits that no law reaches. */
export const unlimited: TaskStore.PrincipalLimits = {
  maxTasks: Number.POSITIVE_INFINITY,
  maxBytes: Number.POSITIVE_INFINITY
}

/** A time in 2026. */
const then = 1_780_000_000_000

/** Returns a new task with a new id. */
export const taskOf = (changes: Partial<Task> = {}): Effect.Effect<Task> =>
  Effect.map(newId, (id) => ({
    id,
    principal: `${id}-principal`,
    request: { method: "tools/call", params: { name: "report", arguments: { year: 2026 } } },
    createdAt: then,
    updatedAt: then,
    ttlMillis: undefined,
    pollMillis: 500,
    message: undefined,
    outcome: undefined,
    cancelRequested: false,
    questions: [],
    steps: [],
    lease: { owner: "process", expiresAt: 2 * then },
    version: 1,
    ...changes
  }))

/** Returns the next version of a task. One that has ended has no params any more. */
export const next = (task: Task, changes: Partial<Task> = {}): Task => {
  const changed = { ...task, updatedAt: task.updatedAt + 1, version: task.version + 1, ...changes }
  return changed.outcome === undefined ? changed : { ...changed, request: { method: changed.request.method } }
}

/** Returns the part of a task, or of its state, that JSON preserves. */
export const essence = (task: Task | StoredTask.TaskState | undefined): unknown =>
  task === undefined ? undefined : JSON.parse(JSON.stringify(task))

/** Returns the part of the state of a task that JSON preserves. */
export const stateOf = (task: Task): unknown => essence(StoredTask.stateOf(task))

/** Compares two tasks by their places in lists. */
export const byPlace = (one: StoredTask.Position, other: StoredTask.Position): number =>
  one.createdAt - other.createdAt || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0)

/** Returns a store that deletes the tasks of its law in the end, so that lists of later laws stay short. */
export const tidied = (
  make: Effect.Effect<TaskStore.TaskStore["Service"], unknown, Scope.Scope>
): Effect.Effect<TaskStore.TaskStore["Service"], unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const store = yield* make
    const created = new Set<string>()
    yield* Effect.addFinalizer(() =>
      // A store that blocks is no reason for a law to run on.
      Effect.forEach(created, (id) => Effect.suspend(() => store.remove(id)), { discard: true }).pipe(
        Effect.timeout("5 seconds"),
        Effect.interruptible,
        Effect.ignoreCause
      )
    )
    return {
      ...store,
      create: (task, limits) => {
        created.add(task.id)
        return store.create(task, limits)
      }
    }
  })

/** A store that keeps its promises, without limits. */
export class TaskModel {
  readonly tasks = new Map<string, Task>()

  create(task: Task): TaskStore.Created {
    if (this.tasks.has(task.id)) return "Taken"
    this.tasks.set(task.id, task)
    return "Stored"
  }

  replace(task: Task): TaskStore.Replaced {
    const known = this.tasks.get(task.id)
    if (known === undefined) return "Missing"
    if (known.version + 1 !== task.version) return "Conflict"
    if (known.outcome !== undefined && JSON.stringify(known.outcome) !== JSON.stringify(task.outcome)) return "Conflict"
    const { createdAt, id, principal, request } = known
    const kept = task.outcome === undefined ? request : { method: request.method }
    this.tasks.set(id, { ...task, id, principal, request: kept, createdAt })
    return "Stored"
  }

  remove(id: string): void {
    this.tasks.delete(id)
  }

  /** Returns the tasks of a principal in the order of their list. */
  list(principal: string | undefined): ReadonlyArray<Task> {
    return Array.from(this.tasks.values()).filter((task) => task.principal === principal).toSorted(byPlace)
  }
}
