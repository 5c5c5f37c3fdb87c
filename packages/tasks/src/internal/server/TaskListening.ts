/** The states of tasks on streams of notifications, in revision 2026-07-28. */

import { type McpError, TaskExtension } from "@effect-mcp/protocol"
import { Listener } from "@effect-mcp/session/Listener"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as StoredTask from "../../StoredTask.ts"
import type { TaskStoreError } from "../../TaskStore.ts"
import type { OwnedTasks } from "../runs/OwnedTasks.ts"
import * as TaskRate from "../runs/TaskRate.ts"
import * as TaskState from "../runs/TaskState.ts"
import * as DeclaredExtension from "./DeclaredExtension.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"

/** The most tasks of one stream. The others are not acknowledged. */
const maxTasks = 100

/** Reports each state of a task that differs from the one before, from the present one to its end. */
export const follow = (
  tasks: OwnedTasks,
  listener: Pick<Listener["Service"], "taskChanged">,
  known: StoredTask.TaskState
): Effect.Effect<void> => {
  const report = (known: StoredTask.TaskState, reported?: string): Effect.Effect<void, TaskStoreError> =>
    Effect.flatMap(tasks.outcomeOf(known), (outcome) => {
      // It was deleted meanwhile.
      if (known.ending !== undefined && outcome === undefined) return Effect.void
      const state = TaskState.extension(known, outcome)
      // A step of the run changes nothing for the client.
      const text = JSON.stringify(state)
      const told = text === reported ? Effect.void : listener.taskChanged(state)
      if (known.ending !== undefined) return told
      // The last effect of all: one that still had to run after the next version would stay for each version.
      return Effect.andThen(
        told,
        Effect.flatMap(tasks.later(known), (next) => next === undefined ? Effect.void : report(next, text))
      )
    })
  // A store that fails ends the following. The client polls the task, which it does in any case.
  return Effect.ignore(report(known))
}

/**
 * Serves the tasks of a filter that belong to the client, beside what the program serves of it. Each of them counts as
 * a request about tasks. A task that has ended changes no more, and its client gets the outcome by `tasks/get`: the
 * outcomes of all tasks would be the largest answer to a small request.
 */
export const serving = (
  { rate, tasks }: Pick<TaskEndpoint, "rate" | "tasks">,
  requested: ReadonlyArray<string>,
  handling: Effect.Effect<unknown, McpError.McpError, unknown>
): Effect.Effect<unknown, McpError.McpError, unknown> =>
  Effect.gen(function*() {
    const context = yield* RequestContext
    const { principal, profile } = context
    if (!TaskExtension.isDeclared(profile.capabilities)) return yield* DeclaredExtension.missing("subscriptions/listen")
    const listener = yield* Listener
    const ids = [...new Set(requested.slice(0, maxTasks))]
    yield* rate.limitRead(TaskRate.clientOf(context), Effect.void, ids.length)
    const result = yield* handling
    const found = yield* Effect.forEach(ids, (id) => Effect.option(tasks.load(id, principal?.id)), { concurrency: 16 })
    const own = Arr.getSomes(found).filter(({ ending }) => ending === undefined)
    for (const task of own) yield* Effect.forkScoped(follow(tasks, listener, task))
    return { notifications: { ...Object(Object(result).notifications), taskIds: own.map(({ id }) => id) } }
  })
