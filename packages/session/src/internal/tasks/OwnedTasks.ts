/** The tasks of a store, as the principals that own them see them. */

import { McpError } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as ForeignCall from "../../ForeignCall.ts"
import type * as StoredTask from "../../StoredTask.ts"
import { type PrincipalLimits, type TaskStore, TaskStoreError } from "../../TaskStore.ts"

/** The deadline of each call of the store but `awaitChange`, in milliseconds. */
const deadlineMillis = 5_000

/** The number of times that a change is tried again because another process has changed the task meanwhile. */
const maxConflicts = 100

/** The number of tasks in a page of a list. */
const pageSize = 50

/** The error of an id that is unknown, or that belongs to another principal: one cannot be told from the other. */
const unknownTask = McpError.invalidParams("Unknown task; it may have expired")

/** The error of a store that fails. The client receives nothing of the cause. */
const storeFailed = McpError.internalError

/** The end of a change. */
export type Changed =
  | { readonly _tag: "Changed"; readonly task: StoredTask.StoredTask }
  /** The function has left the task as it is. */
  | { readonly _tag: "Unchanged"; readonly task: StoredTask.StoredTask }
  | { readonly _tag: "TooLarge" }
  | { readonly _tag: "Missing" }

/** Returns whether the lifetime of a task has passed. */
export const isExpired = ({ createdAt, ttlMillis }: StoredTask.StoredTask, now: number): boolean =>
  ttlMillis !== undefined && createdAt + ttlMillis <= now

/** The tasks of a store. Each call of the store has a deadline, and its defects are errors. */
export class OwnedTasks {
  readonly #store: TaskStore["Service"]
  readonly #limits: PrincipalLimits

  constructor(store: TaskStore["Service"], limits: PrincipalLimits) {
    this.#store = store
    this.#limits = limits
  }

  /** Stores a new task. Fails if its principal has too many. */
  create(task: StoredTask.StoredTask): Effect.Effect<void, McpError.McpError> {
    const { maxBytes, maxTasks } = this.#limits
    return Effect.flatMap(this.#answering("create", () => this.#store.create(task, this.#limits)), (created) => {
      switch (created) {
        case "Stored":
          return Effect.void
        case "TooMany":
          return Effect.fail(
            McpError.invalidRequest(`There are ${maxTasks} tasks already; wait until some have expired`)
          )
        case "TooLarge":
          return Effect.fail(
            McpError.invalidRequest(`All tasks together may have ${maxBytes} bytes; wait until some have expired`)
          )
        case "Taken":
          // Ids are random.
          return Effect.fail(storeFailed)
      }
    })
  }

  /** Returns the task of a principal. Fails if it is unknown, has expired or belongs to another (TSK-25, TSK-26). */
  load(id: string, principal: string | undefined): Effect.Effect<StoredTask.StoredTask, McpError.McpError> {
    return Effect.clockWith((clock) =>
      Effect.flatMap(
        this.#answering("load", () => this.#store.load(id)),
        (task) =>
          task === undefined || task.principal !== principal || isExpired(task, clock.currentTimeMillisUnsafe())
            ? Effect.fail(unknownTask)
            : Effect.succeed(task)
      )
    )
  }

  /** Returns a task of any principal, for the process that runs it. */
  find(id: string): Effect.Effect<StoredTask.StoredTask | undefined, TaskStoreError> {
    return this.#call("load", () => this.#store.load(id))
  }

  /** Returns a page of the tasks of a principal (TSK-22). Fails for an invalid cursor. */
  list(
    principal: string | undefined,
    after: string | undefined
  ): Effect.Effect<
    { readonly tasks: ReadonlyArray<StoredTask.StoredTask>; readonly next: string | undefined },
    McpError.McpError
  > {
    return Effect.clockWith((clock) =>
      Effect.flatMap(
        this.#answering("list", () => this.#store.list(principal, { after, limit: pageSize })),
        (listed) =>
          listed._tag === "InvalidCursor"
            ? Effect.fail(McpError.invalidParams("Invalid cursor"))
            : Effect.succeed({
              next: listed.next,
              tasks: listed.tasks.filter((task) => !isExpired(task, clock.currentTimeMillisUnsafe()))
            })
      )
    )
  }

  /**
   * Changes a task: loads it, and stores what the function returns, again if another process has changed it meanwhile.
   * The function returns `undefined` to leave the task as it is.
   */
  change(
    id: string,
    next: (task: StoredTask.StoredTask) => Partial<StoredTask.StoredTask> | undefined
  ): Effect.Effect<Changed, TaskStoreError> {
    return Effect.clockWith((clock) => {
      const attempt = (conflicts: number): Effect.Effect<Changed, TaskStoreError> =>
        Effect.flatMap(
          this.#call("load", () => this.#store.load(id)),
          (task): Effect.Effect<Changed, TaskStoreError> => {
            if (task === undefined) return Effect.succeed({ _tag: "Missing" })
            const part = next(task)
            if (part === undefined) return Effect.succeed({ _tag: "Unchanged", task })
            const updatedAt = clock.currentTimeMillisUnsafe()
            const changed: StoredTask.StoredTask = { ...task, updatedAt, ...part, version: task.version + 1 }
            return Effect.flatMap(
              this.#call("replace", () => this.#store.replace(changed, this.#limits)),
              (replaced) => {
                switch (replaced) {
                  case "Stored":
                    return Effect.succeed<Changed>({ _tag: "Changed", task: changed })
                  case "Conflict":
                    return conflicts < maxConflicts
                      ? attempt(conflicts + 1)
                      : Effect.fail(new TaskStoreError({ cause: new Error(`${maxConflicts} conflicts in a row`) }))
                  case "TooLarge":
                  case "Missing":
                    return Effect.succeed<Changed>({ _tag: replaced })
                }
              }
            )
          }
        )
      return attempt(0)
    })
  }

  /** Waits until a task has a later version, or is gone. */
  awaitChange({ id, version }: Pick<StoredTask.StoredTask, "id" | "version">): Effect.Effect<void, TaskStoreError> {
    return contained("awaitChange", Effect.suspend(() => this.#store.awaitChange(id, version)))
  }

  /** Waits for a later version of a task of a principal, and returns it. Fails if the task expires meanwhile. */
  next(
    { id, version }: Pick<StoredTask.StoredTask, "id" | "version">,
    principal: string | undefined
  ): Effect.Effect<StoredTask.StoredTask, McpError.McpError> {
    // Nothing here holds the task: hundreds of requests may wait for one of several megabytes.
    return Effect.andThen(
      Effect.mapError(this.awaitChange({ id, version }), () => storeFailed),
      Effect.suspend(() => this.load(id, principal))
    )
  }

  /** Waits until a task of a principal has ended, and returns its outcome (TSK-16). */
  outcome(id: string, principal: string | undefined): Effect.Effect<StoredTask.Outcome, McpError.McpError> {
    const wait = ({ outcome, version }: StoredTask.StoredTask): Effect.Effect<StoredTask.Outcome, McpError.McpError> =>
      outcome === undefined ? Effect.flatMap(this.next({ id, version }, principal), wait) : Effect.succeed(outcome)
    return Effect.flatMap(this.load(id, principal), wait)
  }

  /** Renews the lease of a task. Returns whether it had one of the same owner. */
  renew(id: string, lease: StoredTask.TaskLease): Effect.Effect<boolean, TaskStoreError> {
    return this.#call("renew", () => this.#store.renew(id, lease))
  }

  /** Deletes a task. */
  remove(id: string): Effect.Effect<void, TaskStoreError> {
    return this.#call("remove", () => this.#store.remove(id))
  }

  /** Returns the ids of the tasks that are due. */
  due(now: number, limit: number): Effect.Effect<ReadonlyArray<string>, TaskStoreError> {
    return this.#call("due", () => this.#store.due(now, limit))
  }

  /** Calls the store for a client, which receives no cause of a failure. */
  #answering<A>(
    operation: string,
    call: () => Effect.Effect<A, TaskStoreError>
  ): Effect.Effect<A, McpError.McpError> {
    return Effect.catchCause(
      this.#call(operation, call),
      (cause) => Effect.andThen(Effect.logError(`TaskStore.${operation} failed`, cause), Effect.fail(storeFailed))
    )
  }

  #call<A>(operation: string, call: () => Effect.Effect<A, TaskStoreError>): Effect.Effect<A, TaskStoreError> {
    return contained(operation, ForeignCall.within(`TaskStore.${operation}`, deadlineMillis, call))
  }
}

/** Makes defects of the store, its deadlines, and an interruption that is its own, its errors. */
const contained = <A, E>(operation: string, call: Effect.Effect<A, E>): Effect.Effect<A, TaskStoreError> =>
  Effect.catchCause(call, (cause) => {
    const error = Cause.squash(cause)
    return Effect.fail(error instanceof TaskStoreError ? error : new TaskStoreError({ cause: error ?? operation }))
  })
