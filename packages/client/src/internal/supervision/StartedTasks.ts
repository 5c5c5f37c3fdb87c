/** The ids of the tasks of one server, as stores keep them. */

import type { StartedTask } from "../../TaskIds.ts"

/** The number of tasks of one server that are stored. A program that collects no results would store ever more. */
const maxTasks = 1_000

/** Adds a task to others of its server, and drops the oldest of too many. */
export const added = (tasks: ReadonlyArray<StartedTask>, task: StartedTask): ReadonlyArray<StartedTask> =>
  [...tasks.filter(({ id }) => id !== task.id), task].slice(-maxTasks)

/** Removes a task from others of its server. */
export const removed = (tasks: ReadonlyArray<StartedTask>, id: string): ReadonlyArray<StartedTask> =>
  tasks.filter((task) => task.id !== id)
