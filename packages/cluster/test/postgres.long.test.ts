/** The stores in PostgreSQL. */
import { McpStores } from "@effect-mcp/cluster"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Redacted from "effect/Redacted"
import type * as SqlClient from "effect/sql/SqlClient"
import * as bundles from "./support/bundles.ts"
import { newPrefix, postgres } from "./support/databases.ts"
import * as migrations from "./support/migrations.ts"
import * as rates from "./support/rates.ts"
import { isRunning } from "./support/services.ts"
import * as usedStates from "./support/usedStates.ts"

const isPostgresRunning = isRunning("PostgreSQL", "the stores of @effect-mcp/cluster in PostgreSQL")

const over = <A, E>(test: (prefix: string) => Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.scoped(Effect.flatMap(newPrefix, (prefix) => Effect.provide(test(prefix), postgres)))

describe.runIf(isPostgresRunning)("migrations of PostgreSQL", () => {
  it.live("a later start keeps what is stored", () => over(migrations.startsAgain))
  it.live("a later version that only adds is used, with a rolling deployment", () => over(migrations.adds))
  it.live("a later version that this release cannot use is refused", () => over(migrations.refuses))
  it.live("without createTables the printed SQL is needed, and enough", () =>
    over((prefix) => migrations.prints(prefix, "postgresql")))
  it.live("without createTables the tables of tasks are needed as well", () => over(migrations.needsTasks))

  it.live("connections with another isolation than READ COMMITTED are refused", () =>
    Effect.scoped(Effect.gen(function*() {
      const prefix = yield* newPrefix
      for (const isolation of ["repeatable read", "serializable"]) {
        const options = `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`
        const url = Redacted.make(`postgres://postgres@127.0.0.1:5432/test?options=${encodeURIComponent(options)}`)
        for (const createTables of [true, false]) {
          const start = Effect.provide(migrations.open({ prefix, createTables }), Layer.fresh(PgClient.layer({ url })))
          const { message } = yield* Effect.flip(start)
          assert.include(message, `default_transaction_isolation is "${isolation}"`)
          assert.include(message, "read committed")
        }
      }
      yield* Effect.provide(migrations.open({ prefix }), postgres)
    })))

  it.live("programs that start at the same time all succeed", () =>
    over((prefix) => {
      const start = Effect.provide(migrations.open({ prefix }), Layer.fresh(postgres))
      return Effect.all(Array.from({ length: 6 }, () => start), { concurrency: "unbounded" })
    }))

  it.live(
    "two processes that start at the same time both succeed, and create the tables once",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const databases = yield* Effect.forEach(
          Array.from({ length: 5 }, () => newPrefix),
          Effect.map((prefix) => ({ prefix }))
        )
        yield* migrations.startTogether(databases)
        for (const { prefix } of databases) yield* Effect.provide(migrations.areComplete(prefix), postgres)
      })),
    20_000
  )
})

describe.runIf(isPostgresRunning)("McpStores.layerSql with PostgreSQL", () => {
  it.live("processes share sessions, states and changes, and a claim stops the writes of the owner before", () =>
    over((prefix) =>
      bundles.areShared((address) => Layer.provide(McpStores.layerSql({ prefix, owners: { address } }), postgres))
    ))
})

describe.runIf(isPostgresRunning)("used states in PostgreSQL", () => {
  it.live("[MRTR-10] of processes that use a state at the same time, one is the first", () => over(usedStates.usesOnce))
  it.live("[MRTR-10] a state expires by the clock of its process", () => over(usedStates.expiresByProcess))
  it.live("[MRTR-10] a principal has no more states than there is still room for", () => over(usedStates.sharesRoom))
})

describe.runIf(isPostgresRunning)("rates in PostgreSQL", () => {
  const limited = (test: Effect.Effect<void, unknown, RateLimiter.RateLimiter>) =>
    over((prefix) => Effect.provide(test, Layer.provide(RateLimiter.layer, McpStores.layerSql({ prefix }))))

  for (const algorithm of ["fixed-window", "token-bucket"] as const) {
    it.live(`a ${algorithm} rejects what exceeds it, until the time has come`, () =>
      limited(rates.limits(algorithm, "a")))
    it.live(`a ${algorithm} delays what exceeds it`, () => limited(rates.delays(algorithm, "a")))
  }

  it.live("a rate adapts to the answers of a service", () => limited(rates.adapts("a")))
})
