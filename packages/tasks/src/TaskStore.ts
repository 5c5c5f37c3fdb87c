/**
 * The store of tasks: work that outlives the request that started it.
 *
 * @stability unstable
 */
import { ExactJson } from "@effect-mcp/protocol"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { type TaskRow, TasksInMemory } from "./internal/store/TasksInMemory.ts"
import { trust } from "./internal/trust.ts"
import * as StoredTask from "./StoredTask.ts"

/**
 * The error of a store whose operation failed.
 *
 * @example
 * ```ts
 * import { TaskStore } from "@effect-mcp/tasks"
 * import * as Effect from "effect/Effect"
 *
 * // Runs an operation of a store over a database.
 * export const query = <A>(run: () => Promise<A>) =>
 *   Effect.tryPromise({ try: run, catch: (cause) => new TaskStore.TaskStoreError({ cause }) })
 * ```
 *
 * @category errors
 */
export class TaskStoreError extends Data.TaggedError("TaskStoreError")<{
  readonly cause: unknown
}> {}

/**
 * The limits of one principal. All anonymous clients together count as one principal.
 *
 * @category models
 */
export interface PrincipalLimits {
  /** The number of stored tasks. */
  readonly maxTasks: number
  /** The bytes of all its tasks, as `StoredTask.bytesOf` counts them. */
  readonly maxBytes: number
}

/**
 * The result of `create`. If several apply, it is the first of `Taken`, `TooMany` and `TooLarge`.
 *
 * - `Taken`: a task with this id exists, of whatever principal.
 * - `TooMany`: the principal, or the store, has as many tasks as it may have.
 * - `TooLarge`: the bytes of the principal, or of the store, would exceed the limit.
 *
 * @category models
 */
export type Created = "Stored" | "TooMany" | "TooLarge" | "Taken"

/**
 * The result of `replace`. If several apply, it is the first of `Missing`, `Conflict` and `TooLarge`.
 *
 * - `Missing`: no task with this id exists.
 * - `Conflict`: another version than the preceding one is stored, or the task has another outcome.
 * - `TooLarge`: the bytes of the principal, or of the store, would exceed the limit.
 *
 * @category models
 */
export type Replaced = "Stored" | "Conflict" | "TooLarge" | "Missing"

/**
 * The result of `list`. `next` is the cursor of the next page, and `undefined` on the last one.
 *
 * @category models
 */
export type Listed =
  | {
    readonly _tag: "Page"
    readonly tasks: ReadonlyArray<StoredTask.TaskState>
    readonly next: string | undefined
  }
  | { readonly _tag: "InvalidCursor" }

/**
 * The store of a server's tasks, for one process or for several. An implementation can complete an operation
 * synchronously and return an `Exit`, which needs no fiber. A caller therefore runs each operation once, where it calls
 * it. Every operation is atomic, also among processes. `TaskStoreLaws` of `@effect-mcp/testing` test an implementation.
 *
 * Only `create` and `list` use principals. The caller of `load` and `loadState` compares the principal of the task
 * before it shows anything of the task to a client.
 *
 * The time of `loadState`, `list`, `renew` and `setMessage` must not grow with the size of the request, the steps and
 * the outcome: clients look at their tasks every second. Keep the states apart from the tasks.
 *
 * @example
 * ```ts
 * import { TaskStore } from "@effect-mcp/tasks"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Stores no tasks of anonymous clients.
 * const named = Effect.map(TaskStore.TaskStore, (store): TaskStore.TaskStore["Service"] => ({
 *   ...store,
 *   create: (task, limits) =>
 *     task.principal === undefined ? Effect.succeed("TooMany") : store.create(task, limits)
 * }))
 *
 * export const layer = Layer.provide(Layer.effect(TaskStore.TaskStore, named), TaskStore.layerMemory())
 * ```
 *
 * @category services
 */
export class TaskStore extends Context.Service<TaskStore, {
  /** Stores a new task, whose version is 1, if the limits of its principal permit it. */
  readonly create: (task: StoredTask.StoredTask, limits: PrincipalLimits) => Effect.Effect<Created, TaskStoreError>
  /** Returns the task with this id. */
  readonly load: (id: string) => Effect.Effect<StoredTask.StoredTask | undefined, TaskStoreError>
  /** Returns the state of the task with this id (`StoredTask.stateOf`). */
  readonly loadState: (id: string) => Effect.Effect<StoredTask.TaskState | undefined, TaskStoreError>
  /**
   * Stores a task in place of its preceding version (`StoredTask.change`). A task that counts no more bytes than before
   * is stored whatever the limits.
   */
  readonly replace: (task: StoredTask.StoredTask, limits: PrincipalLimits) => Effect.Effect<Replaced, TaskStoreError>
  /**
   * Sets the lease of an unfinished task, if it has a lease of the same owner. Returns whether it has. The version
   * stays, and no caller of `awaitChange` is woken: a lease is renewed every few seconds, however large the task is,
   * and however many clients wait for it.
   */
  readonly renew: (id: string, lease: StoredTask.TaskLease) => Effect.Effect<boolean, TaskStoreError>
  /**
   * Sets the status message and the time of the last change of an unfinished task, if it has a lease of this owner, as
   * a new version. Returns whether it has. Nothing else of the task changes, and its bytes stay the same.
   */
  readonly setMessage: (id: string, owner: string, message: string, updatedAt: number) => Effect.Effect<
    boolean,
    TaskStoreError
  >
  /**
   * Returns the states of the first tasks of a principal after a cursor, in the order of `createdAt` and then of `id`.
   * A cursor stays valid after tasks were removed. With that of another principal, the result has no task of that
   * principal.
   */
  readonly list: (
    principal: string | undefined,
    page: { readonly after?: string | undefined; readonly limit: number }
  ) => Effect.Effect<Listed, TaskStoreError>
  /** Deletes a task. Does nothing for an unknown one. */
  readonly remove: (id: string) => Effect.Effect<void, TaskStoreError>
  /** Waits until a later version of a task is stored, or no task with this id exists. */
  readonly awaitChange: (id: string, version: number) => Effect.Effect<void, TaskStoreError>
  /**
   * Returns the ids of the tasks that are due at this time (`StoredTask.dueAt`), those that are due for longest first.
   * It returns no tasks, because those of all principals together may not fit into memory.
   */
  readonly due: (now: number, limit: number) => Effect.Effect<ReadonlyArray<string>, TaskStoreError>
}>()("@effect-mcp/tasks/TaskStore") {}

/**
 * Options for a store in memory: the limits of all principals together. A full store accepts no more tasks, and drops
 * none.
 *
 * @category models
 */
export interface MemoryOptions {
  /** The number of tasks. Default 10,000. */
  readonly maxTasks?: number
  /** The bytes of all tasks, as `StoredTask.bytesOf` counts them. Default 256 MiB. */
  readonly maxBytes?: number
}

const rules: NumericOption.Rules<MemoryOptions> = {
  maxTasks: NumericOption.count,
  maxBytes: NumericOption.count
}

const rowOf = (task: StoredTask.StoredTask): TaskRow => ({
  id: task.id,
  createdAt: task.createdAt,
  owner: task.principal,
  version: task.version,
  lease: task.outcome === undefined ? task.lease : undefined,
  endsAt: StoredTask.dueAt({ ...task, lease: undefined }),
  bytes: StoredTask.bytesOf(task),
  state: JSON.stringify(StoredTask.stateOf(task)),
  text: JSON.stringify(task)
})

/** Returns the state of a row, with the lease that was renewed since its text was written. */
const stateOf = ({ lease, state }: TaskRow): StoredTask.TaskState => {
  const written = trust<StoredTask.TaskState>(JSON.parse(state))
  return lease === undefined ? written : { ...written, lease }
}

/** Returns the task of a row, with what has changed since its text was written by `rowOf`. */
const taskOf = (row: TaskRow): StoredTask.StoredTask => {
  const task = trust<StoredTask.StoredTask>(ExactJson.parse(row.text))
  if (task.version === row.version) return row.lease === undefined ? task : { ...task, lease: row.lease }
  const { lease, message, updatedAt, version } = stateOf(row)
  return { ...task, lease, message, updatedAt, version }
}

/**
 * Makes a store in memory, which ends with its process. It has no timer. All operations except `awaitChange` are
 * `Exit`s. `due` takes time in proportion to the number of tasks.
 *
 * @example
 * ```ts
 * import { TaskStore } from "@effect-mcp/tasks"
 * import * as Effect from "effect/Effect"
 *
 * export const found = Effect.gen(function*() {
 *   const store = yield* TaskStore.makeMemory({ maxTasks: 100 })
 *   const task = {
 *     id: "t",
 *     principal: "ada",
 *     request: { method: "tools/call", params: { name: "report" } },
 *     createdAt: 1,
 *     updatedAt: 1,
 *     pollMillis: 500,
 *     cancelRequested: false,
 *     questions: [],
 *     steps: [],
 *     version: 1
 *   }
 *   const limits = { maxTasks: 10, maxBytes: 1024 * 1024 }
 *   yield* store.create(task, limits)
 *   yield* store.replace({ ...task, outcome: { _tag: "Result", result: { content: [] } }, version: 2 }, limits)
 *   return (yield* store.load("t"))?.outcome?._tag
 * }) // => "Result"
 * ```
 *
 * @category constructors
 */
export const makeMemory = (options: MemoryOptions = {}): Effect.Effect<TaskStore["Service"]> =>
  Effect.sync(() => {
    NumericOption.check(options, rules)
    const { maxBytes = 256 * 1024 * 1024, maxTasks = 10_000 } = options
    const table = new TasksInMemory({ maxTasks, maxBytes })
    return {
      create: (task, limits) => Exit.succeed(table.insert(rowOf(task), limits)),
      load: (id) => {
        const row = table.get(id)
        return Exit.succeed(row && taskOf(row))
      },
      replace: (task, limits) => {
        const row = table.get(task.id)
        if (row === undefined) return Exit.succeed("Missing")
        const next = StoredTask.change(taskOf(row), task)
        return Exit.succeed(next === undefined ? "Conflict" : table.replace(rowOf(next), limits))
      },
      loadState: (id) => {
        const row = table.get(id)
        return Exit.succeed(row && stateOf(row))
      },
      renew: (id, lease) => Exit.succeed(table.renew(id, lease)),
      setMessage: (id, owner, message, updatedAt) => {
        const row = table.get(id)
        if (row?.lease?.owner !== owner) return Exit.succeed(false)
        const version = row.version + 1
        const state: StoredTask.TaskState = { ...stateOf(row), message, updatedAt, version }
        table.update({ ...row, version, state: JSON.stringify(state) })
        return Exit.succeed(true)
      },
      list: (principal, { after, limit }) => {
        const position = after === undefined ? undefined : StoredTask.positionOf(after)
        if (after !== undefined && position === undefined) return Exit.succeed({ _tag: "InvalidCursor" })
        const { hasMore, rows } = table.page(principal, position, limit)
        const last = rows.at(-1)
        const next = hasMore && last !== undefined ? StoredTask.cursorOf(last) : undefined
        return Exit.succeed({ _tag: "Page", tasks: rows.map(stateOf), next })
      },
      remove: (id) => {
        table.delete(id)
        return Exit.void
      },
      awaitChange: (id, version) =>
        table.isPast(id, version) ? Exit.void : Effect.callback((resume) => {
          if (table.isPast(id, version)) return resume(Exit.void)
          const stop = table.watch(id, version, () => {
            stop()
            resume(Exit.void)
          })
          return Effect.sync(stop)
        }),
      due: (now, limit) => Exit.succeed(table.due(now, limit))
    }
  })

/**
 * Provides a store in memory; see {@link makeMemory}.
 *
 * @example
 * ```ts
 * import { TaskStore } from "@effect-mcp/tasks"
 *
 * export const tasks = TaskStore.layerMemory({ maxTasks: 1000, maxBytes: 64 * 1024 * 1024 })
 * ```
 *
 * @category layers
 */
export const layerMemory = (options: MemoryOptions = {}): Layer.Layer<TaskStore> =>
  Layer.effect(TaskStore, makeMemory(options))
