/** The stores in SQLite. */
import { McpStores } from "@effect-mcp/cluster"
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as SqlClient from "effect/sql/SqlClient"
import * as bundles from "./support/bundles.ts"
import { newFile, sqlite } from "./support/databases.ts"
import * as migrations from "./support/migrations.ts"
import * as usedStates from "./support/usedStates.ts"

const over = <A, E>(test: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.provide(test, sqlite)

describe("migrations of SQLite", () => {
  it.live("a later start keeps what is stored", () => over(migrations.startsAgain("App_")))
  it.live("a later version that only adds is used, with a rolling deployment", () => over(migrations.adds("mcp_")))
  it.live("a later version that this release cannot use is refused", () => over(migrations.refuses("mcp_")))
  it.live("without createTables the tables of tasks are needed as well", () => over(migrations.needsTasks("mcp_")))
  it.live("without createTables the printed SQL is needed, and enough", () => over(migrations.prints("mcp_", "sqlite")))

  it.live("programs that start at the same time all succeed", () =>
    Effect.scoped(Effect.gen(function*() {
      const filename = yield* newFile
      const start = Effect.provide(migrations.open({}), NodeSqlite.layer({ filename }))
      yield* Effect.all(Array.from({ length: 6 }, () => start), { concurrency: "unbounded" })
    })))

  it.live(
    "two processes that start at the same time both succeed, and create the tables once",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const databases = yield* Effect.forEach(
          Array.from({ length: 5 }, () => newFile),
          Effect.map((filename) => ({ prefix: "mcp_", filename }))
        )
        yield* migrations.startTogether(databases)
        for (const { filename, prefix } of databases) {
          yield* Effect.provide(migrations.areComplete(prefix), NodeSqlite.layer({ filename }))
        }
      })),
    20_000
  )

  it.live("a prefix that would have to be quoted is refused", () =>
    over(Effect.gen(function*() {
      const error = yield* Effect.flip(migrations.open({ prefix: `a"b` }))
      assert.strictEqual(error.message, `prefix "a\\"b" has other characters than letters, digits and _`)
      assert.throws(() => McpStores.sqlOf("sqlite", { prefix: "a b" }), TypeError)
    })))
})

describe("McpStores.layerSql with SQLite", () => {
  it.live("processes share sessions, states and changes, and a claim stops the writes of the owner before", () =>
    Effect.scoped(Effect.gen(function*() {
      const filename = yield* newFile
      yield* bundles.areShared((address) =>
        Layer.provide(McpStores.layerSql({ owners: { address } }), NodeSqlite.layer({ filename }))
      )
    })))
})

describe("used states in SQLite", () => {
  it.live("[MRTR-10] of processes that use a state at the same time, one is the first", () =>
    over(usedStates.usesOnce("mcp_")))
  it.live("[MRTR-10] a principal has no more states than there is still room for", () =>
    over(usedStates.sharesRoom("mcp_")))
  it.live("[MRTR-10] a state expires by the clock of its process", () => over(usedStates.expiresByProcess("mcp_")))
})
