/** Properties of the migrations of every database. */
import { McpStores } from "@effect-mcp/cluster"
import { UsedStates } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import * as Database from "../../src/internal/sql/Database.ts"
import * as Migrating from "../../src/internal/sql/Migrating.ts"
import { type Migration, migrations } from "../../src/internal/sql/Migrations.ts"
import { started, type Tables } from "./startingProgram.ts"

/** Opens the stores, as the start of a program does. */
export const open = (options: McpStores.SqlOptions) => Effect.scoped(Layer.build(McpStores.layerSql(options)))

const messageOf = (options: McpStores.SqlOptions) => Effect.map(Effect.flip(open(options)), ({ message }) => message)

const next = (usableFrom: number): ReadonlyArray<Migration> => [
  ...migrations,
  {
    number: 1_000,
    name: "a later release",
    usableFrom,
    statements: (_, prefix) => [`alter table "${prefix}used_states" add column note text`]
  }
]

const use = (prefix: string) =>
  Effect.gen(function*() {
    const { use } = yield* UsedStates.UsedStates
    return yield* use("a", Date.now() + 60_000, "ada")
  }).pipe(Effect.provide(McpStores.layerSql({ prefix })))

/** A later start creates nothing, and keeps what is stored. */
export const startsAgain = (prefix: string) =>
  Effect.gen(function*() {
    assert.isTrue(yield* use(prefix))
    assert.isFalse(yield* use(prefix))
    const sql = yield* SqlClient.SqlClient
    assert.lengthOf(yield* sql`select number from ${sql(`${prefix}migrations`)}`, migrations.length)
  })

/** A step that only adds leaves programs of this release working, and lets them start. */
export const adds = (prefix: string) =>
  Effect.gen(function*() {
    assert.isTrue(yield* use(prefix))
    const database = yield* Database.open(prefix)
    yield* Migrating.migrate(database, next(1))
    assert.isFalse(yield* use(prefix))
    yield* open({ prefix, createTables: false })
  })

/** Tables that this release cannot use are refused, with and without migrations. */
export const refuses = (prefix: string) =>
  Effect.gen(function*() {
    const database = yield* Database.open(prefix)
    yield* Migrating.migrate(database, next(1_000))
    for (const createTables of [true, false]) {
      assert.strictEqual(
        yield* messageOf({ prefix, createTables }),
        `the tables ${prefix}* have version 1000, which programs can use that know version 1000 or newer, and this ` +
          "release of @effect-mcp/cluster knows version 1; update the package, or use another prefix"
      )
    }
  })

/** Without the right to create tables, a person runs the SQL. */
export const prints = (prefix: string, dialect: "postgresql" | "sqlite") =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    assert.match(
      yield* messageOf({ prefix, createTables: false }),
      /^the tables \w+\* lack version 1 \(.*\); run the SQL that McpStores.sqlOf returns/
    )
    yield* sql.withTransaction(Effect.forEach(
      McpStores.sqlOf(dialect, { prefix }).split(";\n").map((statement) => statement.trim()).filter((statement) =>
        !["", "begin", "begin immediate", "commit"].includes(statement)
      ),
      (statement) => sql.unsafe(statement)
    ))
    yield* open({ prefix, createTables: false })
    yield* open({ prefix })
  })

/** Without the tables of tasks, or with older ones, a program does not start. */
export const needsTasks = (prefix: string) =>
  Effect.gen(function*() {
    yield* Migrating.migrate(yield* Database.open(prefix))
    const message = yield* messageOf({ prefix, createTables: false })
    assert.include(message, `${prefix}tasks`)
    assert.include(message, "sqlOf")
    const sql = yield* SqlClient.SqlClient
    yield* sql`create table ${sql(`${prefix}task_owners`)} (owner text primary key)`
    for (const createTables of [true, false]) {
      assert.include(yield* messageOf({ prefix, createTables }), `${prefix}task_owners`)
    }
    yield* sql`drop table ${sql(`${prefix}task_owners`)}`
    yield* open({ prefix })
    yield* open({ prefix, createTables: false })
  })

/** Starts a program, and waits until it has loaded its modules. */
const newProgram = Effect.acquireRelease(
  Effect.promise(async () => {
    const program = fork(new URL("startingProgram.ts", import.meta.url))
    await once(program, "message")
    return program
  }),
  (program) => Effect.sync(() => program.kill("SIGKILL"))
)

const outcomeOf = (program: ChildProcess, tables: Tables) =>
  Effect.promise(async () => {
    const answer = once(program, "message")
    program.send(tables)
    const [outcome] = await answer
    return outcome
  })

/** Two programs open the stores in each of these empty databases at the same time. */
export const startTogether = (databases: ReadonlyArray<Tables>) =>
  Effect.scoped(Effect.gen(function*() {
    const programs = yield* Effect.all([newProgram, newProgram], { concurrency: "unbounded" })
    for (const tables of databases) {
      const outcomes = yield* Effect.forEach(programs, (program) => outcomeOf(program, tables), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes, [started, started])
    }
  }))

/** Checks that a database has each migration once. */
export const areComplete = (prefix: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ readonly number: number }>`select number from ${
      sql(`${prefix}migrations`)
    } order by number`
    assert.deepStrictEqual(rows.map(({ number }) => number), migrations.map(({ number }) => number))
  })
