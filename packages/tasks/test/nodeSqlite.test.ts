import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as SqlClient from "effect/sql/SqlClient"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import { newFile } from "./support/sqlStores.ts"

describe("NodeSqlite", () => {
  it.effect("binds and returns values of every type, as rows, values and a stream", () =>
    Effect.gen(function*() {
      const sql = yield* NodeSqlite.make({ filename: ":memory:" })
      const query = sql`select ${true} as a, ${null} as b, ${"é🙂"} as c, ${new Uint8Array([1])} as d, ${1.5} as e,
        ${undefined} as f, ${new Date(0)} as g`
      const row = { a: 1, b: null, c: "é🙂", d: new Uint8Array([1]), e: 1.5, f: null, g: "1970-01-01T00:00:00.000Z" }
      assert.deepStrictEqual((yield* query).map((row) => ({ ...row })), [row])
      assert.deepStrictEqual(yield* query.values, [Object.values(row)])
      const rows = yield* Stream.runCollect(query.stream)
      assert.deepStrictEqual(rows.map((row: object) => ({ ...row })), [row])
      const error = yield* Effect.flip(sql`select ${{ a: 1 }}`)
      assert.match(error.message, /a parameter of SQLite is a string/)
    }))

  it.effect("creates its files for their owner alone, and leaves the mode of a file that exists", () =>
    Effect.gen(function*() {
      const filename = yield* newFile
      const mode = (suffix = "") => (fs.statSync(`${filename}${suffix}`).mode & 0o777).toString(8)
      const umask = process.umask(0o022)
      yield* Effect.addFinalizer(() => Effect.sync(() => process.umask(umask)))
      const written = Effect.scoped(Effect.gen(function*() {
        const sql = yield* NodeSqlite.make({ filename })
        yield* sql`create table if not exists t (a integer)`
        yield* sql`insert into t values (1)`
        return [mode(), mode("-wal"), mode("-shm")]
      }))
      assert.deepStrictEqual(yield* written, ["600", "600", "600"])
      fs.chmodSync(filename, 0o640)
      assert.deepStrictEqual(yield* written, ["640", "640", "640"])
    }).pipe(Effect.scoped))

  it.effect("commits a transaction, and rolls back a failed one and a failed part of it", () =>
    Effect.gen(function*() {
      const sql = yield* NodeSqlite.make({ filename: ":memory:" })
      yield* sql`create table t (a integer primary key)`
      const insert = (a: number) => sql`insert into t (a) values (${a})`
      const failed = (a: number) => Effect.ignore(sql.withTransaction(Effect.andThen(insert(a), Effect.fail("no"))))
      yield* failed(1)
      yield* sql.withTransaction(Effect.andThen(insert(2), failed(3)))
      assert.deepStrictEqual(yield* sql`select a from t`.values, [[2]])
      assert.strictEqual((yield* Effect.flip(insert(2))).reason._tag, "ConstraintError")
      assert.strictEqual((yield* Effect.flip(sql`select b from t`)).reason._tag, "UnknownError")
    }))

  it.live("a statement waits until another connection of the process has committed, and no longer than its limit", () =>
    Effect.gen(function*() {
      const filename = yield* newFile
      const [writer, other, impatient] = [
        yield* NodeSqlite.make({ filename }),
        yield* NodeSqlite.make({ filename }),
        yield* NodeSqlite.make({ filename, busyTimeout: "30 millis" })
      ]
      yield* writer`create table t (a integer)`
      const open = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      const transaction = yield* Effect.forkChild(
        writer.withTransaction(Effect.gen(function*() {
          yield* writer`insert into t values (1)`
          yield* Deferred.succeed(open, undefined)
          yield* Deferred.await(done)
        })).pipe(Effect.provideService(SqlClient.BeginTransaction, "begin immediate"))
      )
      yield* Deferred.await(open)
      assert.deepStrictEqual(yield* other`select a from t`, [])
      const waiting = yield* Effect.forkChild(other`insert into t values (2)`, { startImmediately: true })
      const error = yield* Effect.flip(impatient`insert into t values (3)`)
      assert.strictEqual(error.reason._tag, "LockTimeoutError")
      assert.isUndefined(waiting.pollUnsafe())
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(transaction)
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(yield* other`select a from t order by a`.values, [[1], [2]])
    }))

  it.effect("keeps 200 prepared statements", () =>
    Effect.gen(function*() {
      const sql = yield* NodeSqlite.make({ filename: ":memory:" })
      for (let index = 0; index < 1000; index++) {
        assert.deepStrictEqual(yield* sql.unsafe(`select ${index} as a`).values, [[index]])
      }
    }))

  it.effect("a database that cannot be opened is an error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(NodeSqlite.make({ filename: "/nowhere/tasks.db" }))
      assert.strictEqual(error.reason._tag, "ConnectionError")
    }))
})
