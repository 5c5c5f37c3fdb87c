import { ChangeBus } from "@effect-mcp/session"
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import * as TaskStore from "@effect-mcp/tasks/TaskStore"
import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import { leaveNothing } from "./support/endedTasks.ts"
import { counts, raceOver, unlimited } from "./support/racingTasks.ts"
import { newFile, storeIn, storeOver } from "./support/sqlStores.ts"
import { storedTask as task } from "./support/storedTask.ts"

const memory = NodeSqlite.layer({ filename: ":memory:" })

describe("TaskStoreSql with SQLite", () => {
  it.live(
    "of several processes that replace one task, exactly one stores each version, and limits hold",
    () =>
      Effect.gen(function*() {
        const file = yield* newFile
        yield* raceOver(file, NodeSqlite.layer({ filename: file }))
      }),
    60_000
  )

  it.effect("a process sees a change by another one after at most the poll interval", () =>
    Effect.gen(function*() {
      const file = yield* newFile
      const [mine, other] = [yield* storeIn(file), yield* storeIn(file)]
      yield* other.create(task("a"), unlimited)
      const fiber = yield* Effect.forkChild(mine.awaitChange("a", 1), { startImmediately: true })
      yield* other.replace(task("a", { version: 2 }), unlimited)
      yield* TestClock.adjust(499)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.void)
    }))

  it.live(
    "a process sees a change by another one at once if a bus reports it, and so a cancelled and a removed task",
    () =>
      Effect.gen(function*() {
        const file = yield* newFile
        const { connection } = yield* ChangeBus.makeMemory
        const open = Effect.flatMap(
          ChangeBus.make(connection),
          (bus) => Effect.provideService(storeIn(file, { pollInterval: "1 hour" }), ChangeBus.ChangeBus, bus)
        )
        const [mine, other] = [yield* open, yield* open]
        yield* other.create(task("a", { lease: { owner: "o", expiresAt: 1e15 } }), unlimited)
        for (
          const change of [
            () => other.setMessage("a", "o", "half", 5),
            () => other.replace(task("a", { version: 3 }), unlimited),
            () => other.remove("a")
          ]
        ) {
          const version = (yield* mine.loadState("a"))?.version ?? 0
          const fiber = yield* Effect.forkChild(mine.awaitChange("a", version), { startImmediately: true })
          yield* Effect.sleep(20)
          assert.isUndefined(fiber.pollUnsafe())
          yield* change()
          assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.void)
        }
      }).pipe(Effect.scoped),
    10_000
  )

  it.effect("a process sees its own change at once, and an interrupted wait leaves no fiber", () =>
    Effect.gen(function*() {
      const fibers = FiberCount.make()
      yield* fibers.count(Effect.gen(function*() {
        const store = yield* storeOver(memory)
        yield* store.create(task("a"), unlimited)
        const waits = yield* Effect.forEach(
          [1, 1, 2],
          (version) => Effect.forkChild(store.awaitChange("a", version), { startImmediately: true })
        )
        yield* store.replace(task("a", { version: 2 }), unlimited)
        for (const fiber of waits.slice(0, 2)) assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.void)
        yield* Effect.forEach(waits, Fiber.interrupt)
        assert.strictEqual(fibers.living(), 0)
      }))
    }))

  it.effect("a database has its tasks after it was closed and opened again", () =>
    Effect.gen(function*() {
      const file = yield* newFile
      yield* Effect.scoped(Effect.flatMap(storeIn(file), (store) => store.create(task("a"), unlimited)))
      const store = yield* storeIn(file)
      assert.strictEqual((yield* store.load("a"))?.principal, "ada")
    }))

  it.effect("no principal is left in the tables after its last task was removed", () =>
    Effect.gen(function*() {
      const context = yield* Layer.build(memory)
      const sql = Context.get(context, SqlClient.SqlClient)
      const store = yield* Effect.provide(TaskStoreSql.make(), context)
      for (const [index, principal] of ["ada", "bob", undefined, "ada"].entries()) {
        yield* store.create(task(String(index), { principal }), unlimited)
      }
      const [found, right] = yield* counts(sql)
      assert.deepStrictEqual(found, right)
      assert.strictEqual(found?.length, 3)
      for (const id of ["0", "1", "2", "3"]) yield* store.remove(id)
      assert.deepStrictEqual(yield* counts(sql), [[], []])
    }))

  it.live(
    "500 tasks that were created, awaited, ended and removed leave no bytes, no fibers and no rows",
    () => leaveNothing(500, 256 * 1024)
  )

  it.effect("stores with different prefixes are separate, and tables can be created beforehand", () =>
    Effect.gen(function*() {
      const context = yield* Layer.build(memory)
      const open = (options: TaskStoreSql.Options) => Effect.provide(TaskStoreSql.make(options), context)
      const first = yield* open({ prefix: "one_" })
      const second = yield* open({ prefix: "two_" })
      yield* first.create(task("a"), unlimited)
      assert.isUndefined(yield* second.load("a"))
      const again = yield* open({ prefix: "one_", createTables: false })
      assert.strictEqual((yield* again.load("a"))?.id, "a")
      const error = yield* Effect.flip(open({ prefix: "three_", createTables: false }))
      assert.instanceOf(error, TaskStore.TaskStoreError)
      assert.match(String(error.cause), /the table three_tasks is missing/)
    }))

  it.effect("an invalid prefix, and a client of another database, are errors that say so", () =>
    Effect.gen(function*() {
      const failing = (options: TaskStoreSql.Options, client = memory) =>
        Effect.map(Effect.flip(storeOver(client, options)), ({ cause }) => cause instanceof Error ? cause.message : "")
      assert.strictEqual(
        yield* failing({ prefix: "a; drop table b" }),
        "prefix \"a; drop table b\" has other characters than letters, digits and _"
      )
      const mysql = Layer.effect(
        SqlClient.SqlClient,
        Effect.map(NodeSqlite.make({ filename: ":memory:" }), (sql): SqlClient.SqlClient => {
          const onDialectOrElse: SqlClient.SqlClient["onDialectOrElse"] = ({ orElse }) => orElse()
          const other = Object.assign(sql, { onDialectOrElse, driver: "mysql2" })
          return Object.assign(other, { withoutTransforms: () => other })
        })
      )
      assert.strictEqual(yield* failing({}, mysql), "driver \"mysql2\" is for neither SQLite nor PostgreSQL")
    }))

  it.effect("operations within a transaction of the client are rolled back with it, and end no wait", () =>
    Effect.gen(function*() {
      const context = yield* Layer.build(memory)
      const sql = Context.get(context, SqlClient.SqlClient)
      const store = yield* Effect.provide(TaskStoreSql.make(), context)
      yield* store.create(task("a"), unlimited)
      const fiber = yield* Effect.forkChild(store.awaitChange("a", 1), { startImmediately: true })
      yield* Effect.flip(sql.withTransaction(Effect.gen(function*() {
        assert.strictEqual(yield* store.replace(task("a", { version: 2 }), unlimited), "Stored")
        assert.strictEqual(yield* store.create(task("b"), { ...unlimited, maxTasks: 1 }), "TooMany")
        return yield* Effect.fail("rollback")
      })))
      assert.strictEqual((yield* store.load("a"))?.version, 1)
      assert.isUndefined(fiber.pollUnsafe())
      const [found, right] = yield* counts(sql)
      assert.deepStrictEqual(found, right)
    }))
})
