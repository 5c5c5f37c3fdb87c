/** The ids of the tasks of one server, as stores keep them. */

interface Identified {
  readonly id: string
}

/** The number of tasks of one server that are stored. A program that collects no results would store ever more. */
const maxTasks = 1_000

/** Adds a task to others of its server, and drops the oldest of too many. */
export const added = <Task extends Identified>(tasks: ReadonlyArray<Task>, task: Task): ReadonlyArray<Task> =>
  [...tasks.filter(({ id }) => id !== task.id), task].slice(-maxTasks)

/** Removes a task from others of its server. */
export const removed = <Task extends Identified>(tasks: ReadonlyArray<Task>, id: string): ReadonlyArray<Task> =>
  tasks.filter((task) => task.id !== id)
