/** The notifications of the statuses of a task in revision 2025-11-25. */

import type { Task } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type * as StoredTask from "../../StoredTask.ts"
import type { OwnedTasks } from "./OwnedTasks.ts"
import * as TaskState from "./TaskState.ts"

/** The session that started a task. */
export interface NotifiedSession {
  /** Sends a notification. A failure is ignored, because the other side relies on none (TSK-21). */
  readonly send: (task: Task.Task) => Effect.Effect<void>
  readonly closed: Effect.Effect<unknown>
}

/** Notifies the session that started a task of its statuses, as long as both last. */
export const follow = (
  tasks: OwnedTasks,
  { closed, send }: NotifiedSession,
  created: Pick<StoredTask.TaskState, "id" | "version">
): Effect.Effect<void> => {
  const watch = (known: typeof created, status: Task.Status): Effect.Effect<void> =>
    Effect.flatMap(
      Effect.orElseSucceed(tasks.later(known), () => undefined),
      (task) => {
        if (task === undefined) return Effect.void
        const now = TaskState.legacy(task)
        const told = now.status === status ? Effect.void : send(now)
        return Effect.andThen(told, task.ending === undefined ? watch(task, now.status) : Effect.void)
      }
    )
  return Effect.raceFirst(watch(created, "working"), closed).pipe(Effect.asVoid)
}
