/**
 * An `SqlClient` of Effect over `node:sqlite`. An entry point of its own, because the SQL modules of Effect are
 * unstable.
 *
 * @stability unstable
 */
import { NumericOption } from "@effect-mcp/session/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlConnection from "effect/sql/SqlConnection"
import * as SqlError from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options {
  /** The path of the database, or `:memory:`. */
  readonly filename: string
  /** The time for which a statement waits while another connection writes. Default 5 seconds. */
  readonly busyTimeout?: Duration.Input
}

const rules: NumericOption.Rules<Options> = { busyTimeout: NumericOption.duration }

/** The prepared statements that are kept. */
const maxPrepared = 200

const errorOf = (cause: unknown, operation: string): SqlError.SqlError => {
  // Effect reads the code of an error of SQLite from `errno`, and Node writes it to `errcode`.
  const code = typeof cause === "object" && cause !== null && "errcode" in cause ? cause.errcode : undefined
  const message = cause instanceof Error ? cause.message : String(cause)
  const coded = Object.assign(new Error(message, { cause }), typeof code === "number" ? { errno: code } : {})
  return new SqlError.SqlError({ reason: SqlError.classifySqliteError(coded, { message, operation }) })
}

const attempt = <A>(operation: string, evaluate: () => A): Effect.Effect<A, SqlError.SqlError> =>
  Effect.try({ try: evaluate, catch: (cause) => errorOf(cause, operation) })

const inputOf = (value: unknown): SQLInputValue => {
  switch (typeof value) {
    case "boolean":
      return value ? 1 : 0
    case "string":
    case "number":
    case "bigint":
      return value
    case "undefined":
      return null
  }
  if (value === null || value instanceof Uint8Array) return value
  if (value instanceof Date) return value.toISOString()
  throw new TypeError("a parameter of SQLite is a string, a number, a boolean, null, a Date or a Uint8Array")
}

/** The greatest delay before a statement that found the database locked runs again, in milliseconds. */
const maxDelay = 20

/**
 * Runs a statement again while another connection holds the lock. SQLite can wait by itself. It then stops the event
 * loop, and with it a transaction of another connection of this process, which holds the lock.
 */
const whenUnlocked = <A>(
  statement: Effect.Effect<A, SqlError.SqlError>,
  busyMillis: number
): Effect.Effect<A, SqlError.SqlError> => {
  const after = (delay: number, waited: number): Effect.Effect<A, SqlError.SqlError> =>
    Effect.catchIf(
      statement,
      ({ reason }) => reason._tag === "LockTimeoutError" && waited < busyMillis,
      () => Effect.andThen(Effect.sleep(delay), after(Math.min(maxDelay, 2 * delay), waited + delay))
    )
  return after(1, 0)
}

/**
 * Creates the file of a database, which only its owner can read and write. The files beside it get its mode. Leaves a
 * file that exists as it is, and names of databases that are no paths.
 */
const createFile = (filename: string): void => {
  if (filename === "" || filename === ":memory:" || filename.startsWith("file:")) return
  try {
    fs.closeSync(fs.openSync(filename, "wx", 0o600))
  } catch {
    // It exists, or SQLite reports why it cannot be opened.
  }
}

class Connection implements SqlConnection.Connection {
  readonly #database: DatabaseSync
  readonly #busyMillis: number
  readonly #prepared = new Map<string, StatementSync>()

  constructor(database: DatabaseSync, busyMillis: number) {
    this.#database = database
    this.#busyMillis = busyMillis
  }

  readonly #attempt = <A>(operation: string, evaluate: () => A): Effect.Effect<A, SqlError.SqlError> =>
    whenUnlocked(attempt(operation, evaluate), this.#busyMillis)

  readonly #prepare = (sql: string): StatementSync => {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    const [oldest] = this.#prepared.keys()
    if (oldest !== undefined && this.#prepared.size >= maxPrepared) this.#prepared.delete(oldest)
    const statement = this.#database.prepare(sql)
    this.#prepared.set(sql, statement)
    return statement
  }

  readonly #all = (statement: StatementSync, params: ReadonlyArray<unknown>) => statement.all(...params.map(inputOf))

  readonly execute: SqlConnection.Connection["execute"] = (sql, params, transformRows) =>
    this.#attempt("execute", () => {
      const rows = this.#all(this.#prepare(sql), params)
      return transformRows === undefined ? rows : transformRows(rows)
    })

  readonly executeRaw: SqlConnection.Connection["executeRaw"] = (sql, params) =>
    this.#attempt("executeRaw", () => this.#prepare(sql).run(...params.map(inputOf)))

  readonly executeStream: SqlConnection.Connection["executeStream"] = (sql, params, transformRows) =>
    Stream.unwrap(Effect.map(this.execute(sql, params, transformRows), Stream.fromIterable))

  readonly executeValues: SqlConnection.Connection["executeValues"] = (sql, params) =>
    this.#attempt("executeValues", () => this.#all(this.#prepare(sql), params).map((row) => Object.values(row)))

  readonly executeValuesUnprepared: SqlConnection.Connection["executeValuesUnprepared"] = (sql, params) =>
    this.executeValues(sql, params)

  readonly executeUnprepared: SqlConnection.Connection["executeUnprepared"] = (sql, params, transformRows) =>
    this.#attempt("executeUnprepared", () => {
      const rows = this.#all(this.#database.prepare(sql), params)
      return transformRows === undefined ? rows : transformRows(rows)
    })
}

/**
 * Opens a database of SQLite, with one connection. Statements run synchronously. A database in a file has a write-ahead
 * log, so that several processes can read it while one writes. A new file has mode 0600, whatever the umask: its tasks
 * have results and claims of users. The mode of a file that exists stays.
 *
 * @example
 * ```ts
 * import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
 * import * as Effect from "effect/Effect"
 *
 * export const sum = Effect.gen(function*() {
 *   const sql = yield* NodeSqlite.make({ filename: ":memory:" })
 *   const [row] = yield* sql<{ readonly sum: number }>`select ${1} + ${2} as sum`
 *   return row?.sum
 * }).pipe(Effect.scoped) // => 3
 * ```
 *
 * @category constructors
 */
export const make = (
  options: Options
): Effect.Effect<SqlClient.SqlClient, SqlError.SqlError, Scope.Scope> =>
  Effect.gen(function*() {
    NumericOption.check(options, rules)
    const { busyTimeout = "5 seconds", filename } = options
    const busyMillis = Duration.toMillis(busyTimeout)
    const database = yield* Effect.acquireRelease(
      attempt("open", () => {
        createFile(filename)
        return new DatabaseSync(filename, { timeout: 0 })
      }),
      (database) => Effect.sync(() => database.close())
    )
    yield* whenUnlocked(attempt("open", () => database.exec("pragma journal_mode = wal")), busyMillis)
    const acquirers = SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(new Connection(database, busyMillis)),
      semaphore: yield* Semaphore.make(1),
      isTransaction: () => database.isTransaction
    })
    return yield* Effect.provide(
      SqlClient.make({
        ...acquirers,
        compiler: Statement.makeCompilerSqlite(),
        driver: "node-sqlite",
        prepareTransactionControls: true,
        releaseSavepoint: (name) => `release savepoint ${name}`,
        spanAttributes: [["db.system.name", "sqlite"]]
      }),
      Reactivity.layer
    )
  })

/**
 * Provides an `SqlClient` over `node:sqlite`; see {@link make}.
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
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options))
