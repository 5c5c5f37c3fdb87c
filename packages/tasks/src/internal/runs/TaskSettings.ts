/** The times and limits of tasks, with their defaults. */

import { NumericOption } from "@effect-mcp/session/internal"
import * as Duration from "effect/Duration"
import type { PrincipalLimits } from "../../TaskStore.ts"
import type { TaskRunsOptions } from "./TaskRuns.ts"

/** The times and limits that a program can set. */
export interface TaskOptions {
  /** The time that the other side is told to wait between two requests for the state of a task. Default 1 second. */
  readonly pollInterval?: Duration.Input
  /** The lifetime of a task for which the other side wishes none, from its creation. Default 1 hour. */
  readonly ttl?: Duration.Input
  /** The longest lifetime that the other side can wish. Default 1 day. */
  readonly maxTtl?: Duration.Input
  /**
   * The time after which another process ends a task, or runs it again if its tool is resumable, because the process
   * that runs it has not renewed its lease. It does so three times in this time. Default 30 seconds.
   */
  readonly lease?: Duration.Input
  /** The number of tasks that a principal may have in the store, ended ones included. Default 100 (TSK-28). */
  readonly maxTasks?: number
  /** The bytes of all tasks of a principal, as `StoredTask.bytesOf` counts them. Default 16 MiB. */
  readonly maxBytes?: number
  /**
   * The requests about tasks of a client in a second, and as many that change one: `tasks/update` and `tasks/cancel`.
   * One more is rejected as `Overloaded`. A stream of notifications counts as the tasks that it names. A client without
   * a principal is its session, or its address if there are no sessions. Default: 20, or twice what a client sends that
   * polls `maxTasks` tasks at `pollInterval`, if that is more: 200 with the defaults of both.
   */
  readonly maxRequestsPerSecond?: number
}

/** The times and limits of tasks. */
export interface TaskSettings extends Omit<TaskRunsOptions, "resume"> {
  readonly limits: PrincipalLimits
  readonly requestsPerSecond: number
}

const { count, duration, interval } = NumericOption

const rules: NumericOption.Rules<TaskOptions> = {
  pollInterval: interval,
  ttl: duration,
  maxTtl: duration,
  lease: interval,
  maxTasks: count,
  maxBytes: count,
  maxRequestsPerSecond: count
}

/** Returns the times and limits of a program. Throws an `InvalidOptionError` for one that is none. */
export const make = (options: TaskOptions): TaskSettings => {
  NumericOption.check(options, rules)
  const {
    lease = "30 seconds",
    maxBytes = 16 * 1024 * 1024,
    maxTasks = 100,
    maxTtl = "1 day",
    pollInterval = "1 second",
    ttl = "1 hour"
  } = options
  const pollMillis = Duration.toMillis(pollInterval)
  const { maxRequestsPerSecond = Math.max(20, Math.ceil(2_000 * maxTasks / Math.max(pollMillis, 1))) } = options
  const longest = Duration.toMillis(maxTtl)
  return {
    limits: { maxTasks, maxBytes },
    requestsPerSecond: maxRequestsPerSecond,
    pollMillis,
    ttlMillis: { default: Math.min(Duration.toMillis(ttl), longest), longest },
    leaseMillis: Duration.toMillis(lease)
  }
}
