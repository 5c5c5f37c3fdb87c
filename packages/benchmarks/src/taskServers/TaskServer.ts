/** A server in this process with tasks that wait until all of them may finish, and its client. */
export interface TaskServer {
  /** Calls a tool as a task, a number of times. */
  readonly create: (tasks: number) => Promise<void>
  /** Lets all tasks finish, and waits until they have. */
  readonly finish: () => Promise<void>
  /** Requests the result of each task. */
  readonly collect: () => Promise<void>
  readonly close: () => Promise<void>
}

/** The text of every result. */
export const result = "done"

/** The number of requests in flight. */
export const inFlight = 64
