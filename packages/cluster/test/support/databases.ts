/** Databases for tests: files of SQLite in folders that are deleted, and tables of PostgreSQL with a prefix. */
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** Returns the path of a database in a new folder, which is deleted with the scope. */
export const newFile = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-cluster-"))),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
  ),
  (folder) => path.join(folder, "stores.db")
)

/** Provides a database of SQLite in a new file. */
export const sqlite: Layer.Layer<SqlClient.SqlClient> = Layer.unwrap(
  Effect.map(newFile, (filename) => Layer.orDie(NodeSqlite.layer({ filename })))
)

/** Provides a client of PostgreSQL. */
export const postgres: Layer.Layer<SqlClient.SqlClient | PgClient.PgClient> = Layer.orDie(
  PgClient.layer({ host: "127.0.0.1", port: 5432, username: "postgres", database: "test", maxConnections: 10 })
)

const someTables = () => `t${randomBytes(6).toString("hex")}_`

const dropTables = (prefix: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const tables = yield* sql<{ readonly tablename: string }>`
      select tablename from pg_tables where schemaname = current_schema() and starts_with(tablename, ${prefix})`
    for (const { tablename } of tables) yield* sql`drop table ${sql(tablename)}`
  }).pipe(Effect.provide(Layer.fresh(postgres)), Effect.orDie)

/** Returns a prefix for tables of PostgreSQL, which are dropped with the scope. */
export const newPrefix = Effect.acquireRelease(Effect.sync(someTables), dropTables)

/** Returns a prefix for tables of PostgreSQL that the tests of a suite share, which are dropped after them. */
export const suitePrefix = (): string => {
  const prefix = someTables()
  afterAll(() => Effect.runPromise(dropTables(prefix)))
  return prefix
}
