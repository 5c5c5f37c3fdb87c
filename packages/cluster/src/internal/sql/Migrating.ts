/** Brings the tables of a database to the version of this release. */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type { StoresError } from "../../StoresError.ts"
import { type Database, failing } from "./Database.ts"
import * as Migrations from "./Migrations.ts"

/** A row of the table of migrations. */
interface Applied {
  readonly number: number
  readonly usable_from: number
}

/** Reads the steps that the database has. */
const appliedOf = ({ sql, table }: Database) =>
  sql<Applied>`select number, usable_from from ${table("migrations")} order by number`

/** Fails if a later release has changed the tables so that this release cannot use them. */
const checkNewer = (
  { prefix }: Database,
  applied: ReadonlyArray<Applied>,
  steps: ReadonlyArray<Migrations.Migration>
): Effect.Effect<void, StoresError> => {
  const newest = Migrations.newestOf(steps)
  const beyond = applied.find(({ usable_from: usableFrom }) => usableFrom > newest)
  return beyond === undefined ? Effect.void : failing(
    `the tables ${prefix}* have version ${applied.at(-1)?.number}, which programs can use that know version ` +
      `${beyond.usable_from} or newer, and this release of @effect-mcp/cluster knows version ${newest}; ` +
      `update the package, or use another prefix`
  )
}

/**
 * Fails if transactions of PostgreSQL have another isolation than READ COMMITTED. With a stricter one, a statement
 * fails that waits for another one and then finds its row changed (40001). The stores do not repeat statements.
 */
export const checkIsolation = (
  { isPg, sql }: Database
): Effect.Effect<void, SqlError.SqlError | StoresError> =>
  Effect.gen(function*() {
    if (!isPg) return
    const [row] = yield* sql<{ readonly isolation: string }>`
      select current_setting('default_transaction_isolation') as isolation`
    // PostgreSQL treats `read uncommitted` as `read committed`.
    if (row === undefined || row.isolation.startsWith("read ")) return
    return yield* failing(
      `default_transaction_isolation is "${row.isolation}", and the stores need "read committed"; set it for their ` +
        `client, or with: alter role … set default_transaction_isolation = 'read committed'`
    )
  })

/** Runs the steps that the database lacks, in one transaction. Another process that starts meanwhile waits for it. */
export const migrate = (
  database: Database,
  steps: ReadonlyArray<Migrations.Migration> = Migrations.migrations
): Effect.Effect<void, SqlError.SqlError | StoresError> =>
  database.atomic(Effect.gen(function*() {
    const { dialect, isPg, prefix, sql } = database
    if (isPg) {
      // A process that is paused in the middle of this would stop the starts of all others.
      yield* sql`set local idle_in_transaction_session_timeout = '30s'`
      yield* sql`select pg_advisory_xact_lock(hashtext(${`${prefix}migrations`}))`
    }
    yield* sql.unsafe(Migrations.tableOf(prefix))
    const applied = yield* appliedOf(database)
    yield* checkNewer(database, applied, steps)
    const known = new Set(applied.map(({ number }) => number))
    for (const migration of steps) {
      if (known.has(migration.number)) continue
      for (const statement of migration.statements(dialect, prefix)) yield* sql.unsafe(statement)
      yield* sql.unsafe(Migrations.recordOf(migration, dialect, prefix))
    }
  }))

/** Fails if the tables, which other programs or people create, are not those of this release. */
export const check = (database: Database): Effect.Effect<void, SqlError.SqlError | StoresError> =>
  Effect.gen(function*() {
    const { isPg, prefix, sql } = database
    const name = `${prefix}migrations`
    // A query of a table that does not exist is an error, whose text depends on the database.
    const found = isPg
      ? yield* sql`select 1 as found where to_regclass(${`"${name}"`}) is not null`
      : yield* sql`select 1 as found from sqlite_master where type = 'table' and name = ${name}`
    const applied = found.length === 0 ? [] : yield* appliedOf(database)
    yield* checkNewer(database, applied, Migrations.migrations)
    const known = new Set(applied.map(({ number }) => number))
    const missing = Migrations.migrations.find(({ number }) => !known.has(number))
    if (missing === undefined) return
    return yield* failing(
      `the tables ${prefix}* lack version ${missing.number} (${missing.name}); run the SQL that McpStores.sqlOf ` +
        `returns, or leave out createTables: false`
    )
  })
