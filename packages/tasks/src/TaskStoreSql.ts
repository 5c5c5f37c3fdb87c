/**
 * The store of tasks in an SQL database. An entry point of its own, because the SQL modules of Effect are unstable.
 *
 * @stability unstable
 */
import { ExactJson } from "@effect-mcp/protocol"
import { ChangeBus } from "@effect-mcp/session/ChangeBus"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as Changes from "./internal/store/Changes.ts"
import * as TaskTables from "./internal/store/TaskTables.ts"
import { trust } from "./internal/trust.ts"
import * as StoredTask from "./StoredTask.ts"
import * as TaskStore from "./TaskStore.ts"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options {
  /** Begins the names of the tables and indexes: letters, digits and `_`. Default: `mcp_`. */
  readonly prefix?: string
  /** Whether the tables are created if they do not exist. Default: `true`. Tables without its columns are refused. */
  readonly createTables?: boolean
  /**
   * The time between two queries for changes by other processes, for all waiting callers together. A change by this
   * process ends a wait at once, and so does one that a `ChangeBus` reports. While that is connected, there is at most
   * one query in 10 seconds. Default 500 milliseconds.
   */
  readonly pollInterval?: Duration.Input
}

type Store = TaskStore.TaskStore["Service"]

const rules: NumericOption.Rules<Options> = { pollInterval: NumericOption.interval }

/** A column that the database returns. PostgreSQL and SQLite return `double precision` as a number. */
interface TaskRow {
  readonly id: string
  readonly owner: string
  readonly version: number
  readonly bytes: number
  /** The time at which the lease of an unfinished task expires. It may have been renewed since `task` was written. */
  readonly lease_expires_at: number | null
  /** The JSON of a `StoredTask.TaskState`. */
  readonly state: string
  /** The JSON of the status message that was set since `task` and `state` were written. */
  readonly message: string | null
  /** The time at which that was. */
  readonly updated_at: number | null
  readonly task: string
}

/** The columns of a state. */
const stateColumns = "version, lease_expires_at, message, updated_at, state"

type StateRow = Pick<TaskRow, "lease_expires_at" | "message" | "state" | "updated_at" | "version">

/** The tasks of an owner, and their bytes. */
interface Count {
  readonly tasks: number
  readonly bytes: number
}

/** The largest number that each database compares exactly, for limits of `Infinity`. */
const finite = (limit: number): number => Math.min(limit, Number.MAX_SAFE_INTEGER)

/**
 * Returns the text of an id in the database, which has no NUL and no lone surrogate: PostgreSQL stores neither. Other
 * ids without a quotation mark or a backslash stay as they are, and so does their order.
 */
const keyOf = (id: string): string => JSON.stringify(id).slice(1, -1)

/** The key was written by `keyOf`. */
const idOf = (key: string): string => trust<string>(JSON.parse(`"${key}"`))

/** Returns the text of a principal in the database. That of a name begins with a quotation mark. */
const ownerOf = (principal: string | undefined): string => principal === undefined ? "" : JSON.stringify(principal)

// Here and below, the texts were written by this module.

/** Returns what has changed in a row since its texts were written. */
const renewed = (
  { lease }: Pick<StoredTask.TaskState, "lease">,
  { lease_expires_at: expiresAt, message, updated_at: updatedAt, version }: Pick<
    TaskRow,
    "lease_expires_at" | "message" | "updated_at" | "version"
  >
): Partial<StoredTask.TaskState> => ({
  ...(expiresAt === null || lease === undefined ? undefined : { lease: { ...lease, expiresAt } }),
  ...(message === null || updatedAt === null
    ? undefined
    : { message: trust<string>(JSON.parse(message)), updatedAt, version })
})

const taskOf = (row: Pick<TaskRow, "lease_expires_at" | "message" | "task" | "updated_at" | "version">) => {
  const task = trust<StoredTask.StoredTask>(ExactJson.parse(row.task))
  return { ...task, ...renewed(task, row) }
}

const stateOf = (row: StateRow): StoredTask.TaskState => {
  const state = trust<StoredTask.TaskState>(JSON.parse(row.state))
  return { ...state, ...renewed(state, row) }
}

const timeOf = (millis: number): number | null => millis === Number.POSITIVE_INFINITY ? null : millis

const columnsOf = (task: StoredTask.StoredTask) => {
  const lease = task.outcome === undefined ? task.lease : undefined
  return {
    version: task.version,
    due_at: timeOf(StoredTask.dueAt(task)),
    ends_at: timeOf(StoredTask.dueAt({ ...task, lease: undefined })),
    lease_owner: lease === undefined ? null : keyOf(lease.owner),
    lease_expires_at: lease === undefined ? null : lease.expiresAt,
    bytes: StoredTask.bytesOf(task),
    state: JSON.stringify(StoredTask.stateOf(task)),
    message: null,
    updated_at: null,
    task: JSON.stringify(task)
  }
}

/** A result that rolls its transaction back. */
class Rejected {
  readonly _tag = "Rejected"
  readonly reason: "TooMany" | "TooLarge"
  constructor(reason: "TooMany" | "TooLarge") {
    this.reason = reason
  }
}

/** Returns the differences between the dialects in statements: the lock of a row that is read, and transactions. */
const dialectOf = (sql: SqlClient.SqlClient) =>
  sql.onDialectOrElse({
    sqlite: () => ({ name: "sqlite", isPg: false, lock: sql.literal(""), begin: "begin immediate" } as const),
    pg: () => ({ name: "postgresql", isPg: true, lock: sql.literal("for update"), begin: undefined } as const),
    orElse: () => undefined
  })

/**
 * Makes a store in the database of the `SqlClient`: SQLite, or PostgreSQL. Several processes can share it, and every
 * operation is one transaction. The store has two tables; `mcp_` is the prefix:
 *
 * - `mcp_tasks` has a row for each task: `id`, `owner`, `created_at`, `version`, `due_at`, `ends_at`, `lease_owner`,
 *   `lease_expires_at`, `bytes`, `state`, `message`, `updated_at`, and `task`. `task` is the JSON of a `StoredTask`,
 *   and `state` that of its `StoredTask.TaskState`, which is read much more often. The columns of the lease and of the
 *   status message are newer than the JSON. The indexes `mcp_tasks_owner` and `mcp_tasks_due` serve `list` and `due`.
 * - `mcp_task_owners` has a row for each principal with tasks: `owner`, `tasks` and `bytes`, which are counted in the
 *   transaction that changes a task. The `owner` of anonymous clients is empty. Others are JSON strings.
 *
 * Times, numbers and versions are `double precision`, which both databases return as numbers. PostgreSQL limits its
 * indexes: ids and principals of more than 2,500 bytes are errors.
 *
 * Operations within a transaction of the same client are part of it, and are rolled back with it. Give the store a
 * client of its own if handlers use transactions.
 *
 * @example
 * ```ts
 * import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
 * import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
 * import * as Effect from "effect/Effect"
 *
 * export const unknown = Effect.gen(function*() {
 *   const store = yield* TaskStoreSql.make({ pollInterval: "1 second" })
 *   return yield* store.load("t")
 * }).pipe(Effect.scoped, Effect.provide(NodeSqlite.layer({ filename: ":memory:" }))) // => undefined
 * ```
 *
 * @category constructors
 */
export const make = (
  options: Options = {}
): Effect.Effect<Store, TaskStore.TaskStoreError, SqlClient.SqlClient | Scope.Scope> =>
  Effect.gen(function*(): Effect.fn.Return<Store, TaskStore.TaskStoreError, SqlClient.SqlClient | Scope.Scope> {
    NumericOption.check(options, rules)
    const { createTables = true, pollInterval = "500 millis", prefix = "mcp_" } = options
    if (!TaskTables.isPrefix(prefix)) {
      return yield* fail(`prefix ${JSON.stringify(prefix)} has other characters than letters, digits and _`)
    }
    // The columns of the tables have the names in this file, also for a client that transforms names.
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const dialect = dialectOf(sql)
    if (dialect === undefined) return yield* fail(`driver "${sql.driver}" is for neither SQLite nor PostgreSQL`)

    const tasks = sql(`${prefix}tasks`)
    const owners = sql(`${prefix}task_owners`)

    /** Runs an operation as a transaction. */
    const atomic = <A, E>(operation: Effect.Effect<A, E>) => {
      const transaction = sql.withTransaction(operation)
      return dialect.begin === undefined
        ? transaction
        // A transaction of SQLite that first reads and then writes fails if another process has written in between.
        : Effect.provideService(transaction, SqlClient.BeginTransaction, dialect.begin)
    }

    const failing = Effect.mapError((cause: unknown) => new TaskStore.TaskStoreError({ cause }))

    if (createTables) {
      yield* failing(atomic(Effect.gen(function*() {
        // Without the lock, two processes of PostgreSQL that create the same table at the same time fail.
        if (dialect.isPg) yield* sql`select pg_advisory_xact_lock(hashtext(${`${prefix}tasks`}))`
        for (const statement of TaskTables.statements(dialect.name, prefix)) yield* sql.unsafe(statement)
      })))
    }

    // They may be missing, or of a release whose tables had other columns. Without this, the first task would fail.
    for (const [name, columns] of Object.entries(TaskTables.columns)) {
      yield* Effect.mapError(
        sql`select ${sql.literal(columns.join(", "))} from ${sql(`${prefix}${name}`)} where 1 = 0`,
        (cause) => {
          const problem = `the table ${prefix}${name} is missing, or has not the columns of this release of ` +
            `@effect-mcp/tasks; run the SQL that TaskStoreSql.sqlOf returns, or use another prefix`
          return new TaskStore.TaskStoreError({ cause: new Error(problem, { cause }) })
        }
      )
    }

    const bus = yield* Effect.serviceOption(ChangeBus)
    const changes = yield* Changes.make({
      shared: Option.isSome(bus) ? { bus: bus.value, scope: `${prefix}tasks` } : undefined,
      pollMillis: Duration.toMillis(pollInterval),
      versions: (ids) =>
        Effect.map(
          sql<Pick<TaskRow, "id" | "version">>`select id, version from ${tasks} where ${sql.in("id", ids)}`,
          (rows) => new Map(rows.map(({ id, version }) => [id, version]))
        )
    })

    /** Ends the waits for a change of a task by this process, once the change is stored. */
    const announce = (key: string, version: number) => sql.afterCommit(changes.announce(key, version))

    const create = Effect.fnUntraced(function*(
      task: StoredTask.StoredTask,
      limits: TaskStore.PrincipalLimits
    ): Effect.fn.Return<TaskStore.Created, SqlError.SqlError | Rejected> {
      const owner = ownerOf(task.principal)
      const columns = columnsOf(task)
      const row = { id: keyOf(task.id), owner, created_at: task.createdAt, ...columns }
      const inserted = yield* sql`insert into ${tasks} ${sql.insert(row)} on conflict (id) do nothing returning id`
      if (inserted.length === 0) return "Taken"
      // One statement: between a query and an update, another process could create a task. The row is locked from here
      // on, and changed back with the transaction if it exceeds a limit.
      const [own] = yield* sql<Count>`insert into ${owners} ${sql.insert({ owner, tasks: 1, bytes: columns.bytes })}
        on conflict (owner) do update set tasks = ${owners}.tasks + 1, bytes = ${owners}.bytes + excluded.bytes
        returning tasks, bytes`
      if (own !== undefined && own.tasks > limits.maxTasks) return yield* Effect.fail(new Rejected("TooMany"))
      if (own !== undefined && own.bytes > limits.maxBytes) return yield* Effect.fail(new Rejected("TooLarge"))
      return "Stored"
    })

    const replace = Effect.fnUntraced(function*(task: StoredTask.StoredTask, limits: TaskStore.PrincipalLimits) {
      const key = keyOf(task.id)
      const [row] = yield* sql<TaskRow>`select * from ${tasks} where id = ${key} ${dialect.lock}`
      if (row === undefined) return "Missing"
      const next = StoredTask.change(taskOf(row), task)
      if (next === undefined) return "Conflict"
      const columns = columnsOf(next)
      const more = columns.bytes - row.bytes
      const within = more > 0 ? sql`and bytes + ${more} <= ${finite(limits.maxBytes)}` : sql.literal("")
      const counted = yield* sql`update ${owners} set bytes = bytes + ${more} where owner = ${row.owner} ${within}
        returning owner`
      if (counted.length === 0) return "TooLarge"
      yield* sql`update ${tasks} set ${sql.update(columns)} where id = ${key}`
      yield* announce(key, next.version)
      return "Stored"
    })

    const renew = (id: string, { expiresAt, owner }: StoredTask.TaskLease) =>
      Effect.map(
        sql`update ${tasks} set
            lease_expires_at = ${expiresAt},
            due_at = case when ends_at < ${expiresAt} then ends_at else ${expiresAt} end
          where id = ${keyOf(id)} and lease_owner = ${keyOf(owner)} returning id`,
        (rows) => rows.length > 0
      )

    const setMessage = Effect.fnUntraced(function*(id: string, owner: string, message: string, updatedAt: number) {
      const key = keyOf(id)
      const [row] = yield* sql<Pick<TaskRow, "version">>`update ${tasks} set
          version = version + 1,
          message = ${JSON.stringify(message)},
          updated_at = ${updatedAt}
        where id = ${key} and lease_owner = ${keyOf(owner)} returning version`
      if (row === undefined) return false
      yield* announce(key, row.version)
      return true
    })

    const remove = Effect.fnUntraced(function*(id: string) {
      const key = keyOf(id)
      const [row] = yield* sql<TaskRow>`delete from ${tasks} where id = ${key} returning owner, bytes`
      if (row === undefined) return
      const { bytes, owner } = row
      yield* sql`update ${owners} set tasks = tasks - 1, bytes = bytes - ${bytes} where owner = ${owner}`
      yield* sql`delete from ${owners} where owner = ${owner} and tasks <= 0`
      yield* announce(key, Number.POSITIVE_INFINITY)
    })

    const list = Effect.fnUntraced(function*(owner: string, after: StoredTask.Position | undefined, limit: number) {
      const later = after === undefined
        ? sql.literal("")
        : sql`and (created_at > ${after.createdAt} or (created_at = ${after.createdAt} and id > ${keyOf(after.id)}))`
      // One row more states whether there is a next page.
      const rows = yield* sql<StateRow>`select ${
        sql.literal(stateColumns)
      } from ${tasks} where owner = ${owner} ${later}
        order by created_at, id limit ${limit + 1}`
      const page = rows.slice(0, limit).map(stateOf)
      const last = page.at(-1)
      const next = rows.length > limit && last !== undefined ? StoredTask.cursorOf(last) : undefined
      return { _tag: "Page", tasks: page, next } as const
    })

    return {
      create: (task, limits) =>
        atomic(create(task, limits)).pipe(
          Effect.catchTag("Rejected", ({ reason }) => Effect.succeed(reason)),
          failing
        ),
      load: (id) =>
        failing(Effect.map(
          sql<TaskRow>`select version, task, lease_expires_at, message, updated_at from ${tasks}
            where id = ${keyOf(id)}`,
          ([row]) => row && taskOf(row)
        )),
      loadState: (id) =>
        failing(Effect.map(
          sql<StateRow>`select ${sql.literal(stateColumns)} from ${tasks} where id = ${keyOf(id)}`,
          ([row]) => row && stateOf(row)
        )),
      replace: (task, limits) => failing(atomic(replace(task, limits))),
      renew: (id, lease) => failing(renew(id, lease)),
      setMessage: (id, owner, message, updatedAt) => failing(atomic(setMessage(id, owner, message, updatedAt))),
      list: (principal, { after, limit }) => {
        const position = after === undefined ? undefined : StoredTask.positionOf(after)
        return after !== undefined && position === undefined
          ? Effect.succeed({ _tag: "InvalidCursor" })
          : failing(list(ownerOf(principal), position, limit))
      },
      remove: (id) => failing(atomic(remove(id))),
      awaitChange: (id, version) => failing(changes.await(keyOf(id), version)),
      due: (now, limit) =>
        failing(Effect.map(
          sql<TaskRow>`select id from ${tasks} where due_at <= ${now} order by due_at limit ${limit}`,
          (rows) => rows.map(({ id }) => idOf(id))
        ))
    }
  })

const fail = (problem: string) => Effect.fail(new TaskStore.TaskStoreError({ cause: new Error(problem) }))

/**
 * Provides a store in the database of the `SqlClient`; see {@link make}.
 *
 * @example
 * ```ts
 * import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
 * import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
 * import * as Layer from "effect/Layer"
 *
 * export const tasks = Layer.provide(TaskStoreSql.layer(), NodeSqlite.layer({ filename: "tasks.db" }))
 * ```
 *
 * @category layers
 */
export const layer = (
  options: Options = {}
): Layer.Layer<TaskStore.TaskStore, TaskStore.TaskStoreError, SqlClient.SqlClient> =>
  Layer.effect(TaskStore.TaskStore, make(options))

/**
 * Returns the SQL that creates the tables, for people who set `createTables: false`. It changes no table that exists.
 * Throws a `TypeError` if the prefix has other characters than letters, digits and `_`.
 *
 * @example
 * ```ts
 * import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
 *
 * export const tables = TaskStoreSql.sqlOf("postgresql", { prefix: "app_" })
 * ```
 *
 * @category tables
 */
export const sqlOf = (dialect: "postgresql" | "sqlite", options: Pick<Options, "prefix"> = {}): string => {
  const { prefix = "mcp_" } = options
  if (!TaskTables.isPrefix(prefix)) throw new TypeError(`prefix ${JSON.stringify(prefix)} needs other characters`)
  return TaskTables.statements(dialect, prefix).map((statement) => `${statement};\n`).join("\n")
}
