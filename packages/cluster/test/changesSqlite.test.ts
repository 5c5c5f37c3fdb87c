/** The channel of changes in SQLite. */
import { ChangeBus } from "@effect-mcp/session"
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import { ChangeBusSuite } from "@effect-mcp/testing/vitest"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as ChangesSql from "../src/internal/bus/ChangesSql.ts"
import * as Database from "../src/internal/sql/Database.ts"
import * as Migrating from "../src/internal/sql/Migrating.ts"
import { areSeen, gapsOf, until } from "./support/changes.ts"
import { newFile } from "./support/databases.ts"

/** Opens a file, as a process does. */
const process = Effect.fnUntraced(function*(filename: string) {
  const context = yield* Layer.build(Layer.fresh(NodeSqlite.layer({ filename })))
  return yield* Effect.gen(function*() {
    const database = yield* Database.open("mcp_")
    const connection = yield* ChangesSql.connection(database)
    return { sql: yield* SqlClient.SqlClient, bus: ChangeBus.make(connection), connection }
  }).pipe(Effect.provide(context))
})

const channel = Effect.gen(function*() {
  const filename = yield* newFile
  const context = yield* Layer.build(NodeSqlite.layer({ filename }))
  yield* Effect.provide(Effect.flatMap(Database.open("mcp_"), Migrating.migrate), context)
  const { sql } = yield* process(filename)
  const open = Effect.map(process(filename), ({ bus }) => bus).pipe(Effect.flatten)
  return { open, sql, filename }
})

ChangeBusSuite.suite(
  "SQLite",
  Effect.map(channel, ({ open, sql }) => ({
    bus: open,
    // The processes find messages whose predecessors are no longer there.
    interrupt: Effect.andThen(
      sql`insert into mcp_changes (number, at, message)
        select coalesce(max(number), 0) + 5, 0, ${`{"version":1,"from":"x","lost":[],"changes":[]}`} from mcp_changes`,
      Effect.void
    )
  }))
)

describe("changes in SQLite", () => {
  it.live("changes are seen by another process", () =>
    Effect.flatMap(channel, ({ open }) => areSeen("SQLite", open, 20, 250)).pipe(Effect.scoped))

  it.live(
    "a process whose table was made anew learns of a gap, and goes on",
    () =>
      Effect.gen(function*() {
        const { filename, open, sql } = yield* channel
        const { bus: opening } = yield* process(filename)
        const [one, other] = [yield* opening, yield* open]
        const heard = yield* gapsOf(other, "s")
        for (const key of ["a", "b"]) {
          yield* one.publish({ scope: "s", kind: "k", key })
          yield* until(() => heard.keys.includes(key))
        }
        yield* sql`delete from mcp_changes`
        yield* sql`delete from sqlite_sequence where name = 'mcp_changes'`
        yield* one.publish({ scope: "s", kind: "k", key: "c" })
        yield* until(() => heard.gaps > 0)
        yield* Effect.sleep(1_200)
        yield* one.publish({ scope: "s", kind: "k", key: "d" })
        yield* until(() => heard.keys.includes("d"))
      }).pipe(Effect.scoped),
    30_000
  )

  it.live("old messages are deleted, the newest one is kept, and no more than 10,000", () =>
    Effect.gen(function*() {
      const { filename, sql } = yield* channel
      const { connection } = yield* process(filename)
      const send = Effect.forEach(Array.from({ length: 100 }), () => connection.send("{}"), { discard: true })
      const count = Effect.map(
        sql<{ readonly rows: number; readonly last: number }>`
          select count(*) as rows, max(number) as last from mcp_changes`,
        ([row]) => row
      )
      yield* send
      assert.deepStrictEqual(yield* count, { rows: 100, last: 100 })
      yield* sql`update mcp_changes set at = at - 61000`
      yield* send
      assert.deepStrictEqual(yield* count, { rows: 100, last: 200 })
      yield* sql`insert into mcp_changes (at, message)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
        select unixepoch('subsec') * 1000.0, '{}' from n`
      yield* send
      assert.deepStrictEqual(yield* count, { rows: 10_000, last: 12_300 })
    }).pipe(Effect.scoped), 30_000)
})
