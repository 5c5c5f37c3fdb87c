/** The database of the stores: its dialect, the names of its tables, and its transactions. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import { StoresError } from "../../StoresError.ts"
import * as Dialect from "./Dialect.ts"

/** An opened database. */
export interface Database {
  readonly sql: SqlClient.SqlClient
  readonly dialect: Dialect.Dialect
  readonly isPg: boolean
  readonly prefix: string
  /** Returns a table by its name without the prefix. */
  readonly table: (name: string) => Statement.Identifier
  /** The clock of the database at the start of the statement, in milliseconds since the epoch. */
  readonly now: Statement.Fragment
  /** Selects the greater of two numbers. */
  readonly greatest: Statement.Fragment
  /** Selects the lesser of two numbers. */
  readonly least: Statement.Fragment
  /** Runs statements as a transaction. */
  readonly atomic: <A, E>(statements: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError.SqlError>
}

/** Opens the database of the `SqlClient`. */
export const open = (prefix: string): Effect.Effect<Database, StoresError, SqlClient.SqlClient> =>
  Effect.gen(function*(): Effect.fn.Return<Database, StoresError, SqlClient.SqlClient> {
    yield* checkPrefix(prefix)
    // The columns of the tables have the names in this package, also for a client that transforms names.
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const name = sql.onDialectOrElse({
      sqlite: () => "sqlite" as const,
      pg: () => "postgresql" as const,
      orElse: () => undefined
    })
    if (name === undefined) {
      return yield* failing(`driver "${sql.driver}" is for neither SQLite nor PostgreSQL`)
    }
    const dialect = Dialect.of(name)
    const isPg = name === "postgresql"
    return {
      sql,
      dialect,
      isPg,
      prefix,
      table: (table) => sql(prefix + table),
      now: sql.literal(dialect.now),
      greatest: sql.literal(dialect.greatest),
      least: sql.literal(dialect.least),
      atomic: (statements) => {
        const transaction = sql.withTransaction(statements)
        return isPg ? transaction : Effect.provideService(transaction, SqlClient.BeginTransaction, dialect.begin)
      }
    }
  })

/** Fails with a problem of the database or of an option. */
export const failing = (problem: string): Effect.Effect<never, StoresError> =>
  Effect.fail(new StoresError({ cause: new Error(problem) }))

/** Fails if a prefix would have to be quoted. The texts of statements contain it. */
const checkPrefix = (prefix: string): Effect.Effect<void, StoresError> =>
  isPrefix(prefix)
    ? Effect.void
    : failing(`prefix ${JSON.stringify(prefix)} has other characters than letters, digits and _`)

/** Returns whether a text can begin the names of tables. */
export const isPrefix = (prefix: string): boolean => /^\w*$/.test(prefix)
