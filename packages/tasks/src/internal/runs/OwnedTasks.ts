/** The tasks of a store, as the principals that own them see them. */

import { McpError } from "@effect-mcp/protocol"
import { ForeignCall } from "@effect-mcp/session/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as StoredTask from "../../StoredTask.ts"
import { type Created, type PrincipalLimits, type TaskStore, TaskStoreError } from "../../TaskStore.ts"
import * as DurableCallId from "./DurableCallId.ts"
import { SharedRuns } from "./SharedRuns.ts"

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

/** The members of a task that has ended. Only a run needs the others, and the claims of its principal go as well. */
export const withoutRun = { lease: undefined, resumption: undefined, questions: [], steps: [] } as const

/** The end of a change. */
export type Changed =
  | { readonly _tag: "Changed"; readonly task: StoredTask.StoredTask }
  /** The function has left the task as it is. */
  | { readonly _tag: "Unchanged"; readonly task: StoredTask.StoredTask }
  | { readonly _tag: "TooLarge" }
  | { readonly _tag: "Missing" }

/** Returns whether the lifetime of a task has passed. */
export const isExpired = (
  { createdAt, ttlMillis }: Pick<StoredTask.StoredTask, "createdAt" | "ttlMillis">,
  now: number
): boolean => ttlMillis !== undefined && createdAt + ttlMillis <= now

/** The tasks of a store. Each call of the store has a deadline, and its defects are errors. */
export class OwnedTasks {
  readonly #store: TaskStore["Service"]
  readonly #limits: PrincipalLimits
  /** The waits for later states, by version and id: hundreds of streams may follow one task. */
  readonly #waits = new SharedRuns<StoredTask.TaskState | undefined, TaskStoreError>()
  /** The loads of outcomes, by id. */
  readonly #outcomes = new SharedRuns<StoredTask.Outcome | undefined, TaskStoreError>()

  constructor(store: TaskStore["Service"], limits: PrincipalLimits) {
    this.#store = store
    this.#limits = limits
  }

  /** Stores a new task, for the process that runs it. */
  put(task: StoredTask.StoredTask): Effect.Effect<Created, TaskStoreError> {
    return this.#call("create", () => this.#store.create(task, this.#limits))
  }

  /**
   * Cancels a task that this process may change, so that no process runs it again. Returns whether it has ended, is
   * gone, or stays, because another process has it meanwhile.
   */
  cancelOwn(
    id: string,
    isOurs: (task: StoredTask.StoredTask) => boolean
  ): Effect.Effect<"Ended" | "Gone" | "Stays", TaskStoreError> {
    const cancelled = this.change(
      id,
      (task) => isOurs(task) ? { ...withoutRun, outcome: { _tag: "Cancelled" } } : undefined
    )
    return Effect.map(cancelled, (changed) => {
      if (changed._tag === "Missing") return "Gone"
      return "task" in changed && changed.task.outcome !== undefined ? "Ended" : "Stays"
    })
  }

  /** Deletes a task that this process may change, and leaves one that another process has meanwhile. */
  removeOwn(id: string, isOurs: (task: StoredTask.StoredTask) => boolean): Effect.Effect<void, TaskStoreError> {
    // No process changes a task that has ended, so nothing comes between the two writes. One that has ended may be left
    // by a process that died between them.
    return Effect.flatMap(this.cancelOwn(id, isOurs), (end) => end === "Ended" ? this.remove(id) : Effect.void)
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
          // The ids of these tasks are random.
          return Effect.fail(storeFailed)
      }
    })
  }

  /** Returns the state of a principal's task. Fails if it is unknown, expired, or that of another (TSK-25, TSK-26). */
  load(id: string, principal: string | undefined): Effect.Effect<StoredTask.TaskState, McpError.McpError> {
    return Effect.flatMap(
      this.#answering("loadState", () => this.#store.loadState(id)),
      (state) => ownState(state, principal)
    )
  }

  /** Returns the state of a task of any principal, for the process that runs it. */
  find(id: string): Effect.Effect<StoredTask.TaskState | undefined, TaskStoreError> {
    return this.#call("loadState", () => this.#store.loadState(id))
  }

  /** Returns the outcome of a task with this state; `undefined` if it has none. */
  outcomeOf({ ending, id }: StoredTask.TaskState): Effect.Effect<StoredTask.Outcome | undefined, TaskStoreError> {
    if (ending === undefined) return Effect.succeed(undefined)
    if (ending === "Cancelled") return Effect.succeed({ _tag: "Cancelled" })
    // All streams of a task read its outcome at the same time.
    return this.#outcomes.run(
      id,
      Effect.map(this.#call("load", () => this.#store.load(id)), (task) => task?.outcome)
    )
  }

  /** Returns a page of the tasks of a principal (TSK-22). Fails for an invalid cursor. */
  list(
    principal: string | undefined,
    after: string | undefined
  ): Effect.Effect<
    { readonly tasks: ReadonlyArray<StoredTask.TaskState>; readonly next: string | undefined },
    McpError.McpError
  > {
    return Effect.clockWith((clock) =>
      Effect.flatMap(
        this.#answering("list", () => this.#store.list(principal, { after, limit: pageSize })),
        (listed) => {
          if (listed._tag === "InvalidCursor") return Effect.fail(McpError.invalidParams("Invalid cursor"))
          const now = clock.currentTimeMillisUnsafe()
          const tasks = listed.tasks.filter((task) => !DurableCallId.is(task.id) && !isExpired(task, now))
          const { next } = listed
          // A page of durable calls alone.
          return tasks.length === 0 && next !== undefined ? this.list(principal, next) : Effect.succeed({ next, tasks })
        }
      )
    )
  }

  /** Returns the ids of the durable calls of a session. */
  calls(session: string, principal: string | undefined): Effect.Effect<ReadonlyArray<string>, TaskStoreError> {
    const from = (
      prefix: string,
      after: string | undefined
    ): Effect.Effect<ReadonlyArray<string>, TaskStoreError> =>
      Effect.flatMap(
        this.#call("list", () => this.#store.list(principal, { after, limit: pageSize })),
        (listed) => {
          if (listed._tag === "InvalidCursor") return Effect.fail(new TaskStoreError({ cause: listed }))
          const ids = listed.tasks.map(({ id }) => id).filter((id) => id.startsWith(prefix))
          const { next } = listed
          return next === undefined
            ? Effect.succeed(ids)
            : Effect.map(from(prefix, next), (later) => [...ids, ...later])
        }
      )
    return Effect.flatMap(DurableCallId.ofSession(session), (prefix) => from(prefix, undefined))
  }

  /** Returns a task of any principal, for the process that runs it. */
  stored(id: string): Effect.Effect<StoredTask.StoredTask | undefined, TaskStoreError> {
    return this.#call("load", () => this.#store.load(id))
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

  /**
   * Waits until a task has a later version, and returns its state; `undefined` if it is gone. All who wait for the same
   * version share one wait, and one load.
   */
  later(
    { id, version }: Pick<StoredTask.TaskState, "id" | "version">
  ): Effect.Effect<StoredTask.TaskState | undefined, TaskStoreError> {
    const changed = contained("awaitChange", Effect.suspend(() => this.#store.awaitChange(id, version)))
    return this.#waits.run(`${version} ${id}`, Effect.andThen(changed, this.find(id)))
  }

  /** Waits for a later version of a task of a principal, and returns it. Fails if the task expires meanwhile. */
  next(
    known: Pick<StoredTask.TaskState, "id" | "version">,
    principal: string | undefined
  ): Effect.Effect<StoredTask.TaskState, McpError.McpError> {
    return Effect.flatMap(
      Effect.mapError(this.later(known), () => storeFailed),
      (state) => ownState(state, principal)
    )
  }

  /** Waits until a task of a principal has ended, and returns its outcome (TSK-16). */
  outcome(id: string, principal: string | undefined): Effect.Effect<StoredTask.Outcome, McpError.McpError> {
    const wait = (state: StoredTask.TaskState): Effect.Effect<StoredTask.Outcome, McpError.McpError> =>
      state.ending === undefined
        ? Effect.flatMap(this.next(state, principal), wait)
        : this.ended(state)
    return Effect.flatMap(this.load(id, principal), wait)
  }

  /** Returns the outcome of a task that has ended. Fails if it is gone meanwhile. */
  ended(state: StoredTask.TaskState): Effect.Effect<StoredTask.Outcome, McpError.McpError> {
    return Effect.flatMap(
      Effect.mapError(this.outcomeOf(state), () => storeFailed),
      (outcome) => outcome === undefined ? Effect.fail(unknownTask) : Effect.succeed(outcome)
    )
  }

  /** Renews the lease of a task. Returns whether it had one of the same owner. */
  renew(id: string, lease: StoredTask.TaskLease): Effect.Effect<boolean, TaskStoreError> {
    return this.#call("renew", () => this.#store.renew(id, lease))
  }

  /** Sets the status message of a task, if it has a lease of this owner. */
  setMessage(id: string, owner: string, message: string): Effect.Effect<boolean, TaskStoreError> {
    return Effect.clockWith((clock) =>
      this.#call("setMessage", () => this.#store.setMessage(id, owner, message, clock.currentTimeMillisUnsafe()))
    )
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

/** Returns a state that was loaded for a principal, or the error of a task that is none of its own. */
const ownState = (
  state: StoredTask.TaskState | undefined,
  principal: string | undefined
): Effect.Effect<StoredTask.TaskState, McpError.McpError> =>
  Effect.clockWith((clock) =>
    state === undefined || DurableCallId.is(state.id) || state.principal !== principal ||
      isExpired(state, clock.currentTimeMillisUnsafe())
      ? Effect.fail(unknownTask)
      : Effect.succeed(state)
  )

/** Makes defects of the store, its deadlines, and an interruption that is its own, its errors. */
const contained = <A, E>(operation: string, call: Effect.Effect<A, E>): Effect.Effect<A, TaskStoreError> =>
  Effect.catchCause(call, (cause) => {
    const error = Cause.squash(cause)
    return Effect.fail(error instanceof TaskStoreError ? error : new TaskStoreError({ cause: error ?? operation }))
  })
