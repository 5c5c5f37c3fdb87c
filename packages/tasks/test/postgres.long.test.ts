/** `TaskStoreSql` with PostgreSQL, on machines that have its programs. */
import { TaskStoreSuite } from "@effect-mcp/testing/vitest"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Postgres from "./support/postgres.ts"
import { raceOver, unlimited } from "./support/racingTasks.ts"
import { byTurns, storeOver } from "./support/sqlStores.ts"
import { storedTask } from "./support/storedTask.ts"

describe.runIf(Postgres.isInstalled)("PostgreSQL", () => {
  const port = Postgres.forSuite()

  const store = Effect.suspend(() => storeOver(Postgres.layerAt(port()), { pollInterval: "10 millis" }))

  TaskStoreSuite.suite("PostgreSQL", store, { runs: 5 })
  TaskStoreSuite.suite(
    "PostgreSQL, two pools of connections",
    Effect.zipWith(store, store, (one, other) => byTurns(one, other), { concurrent: true }),
    { runs: 5 }
  )
})

describe.runIf(Postgres.isInstalled)("TaskStoreSql with PostgreSQL", () => {
  const port = Postgres.forSuite()

  it.live("processes that create the tables at the same time all succeed", () =>
    Effect.gen(function*() {
      const store = Effect.suspend(() => storeOver(Postgres.layerAt(port()), { prefix: "at_once_" }))
      const stores = yield* Effect.all(Array.from({ length: 8 }, () => store), { concurrency: "unbounded" })
      assert.strictEqual(stores.length, 8)
    }), 60_000)

  it.live("a store starts again on its tables, whose prefix has capital letters", () =>
    Effect.gen(function*() {
      const open = Effect.suspend(() => storeOver(Postgres.layerAt(port()), { prefix: "App_" }))
      yield* Effect.flatMap(open, (store) => store.create(storedTask("a"), unlimited))
      assert.strictEqual((yield* Effect.flatMap(open, (store) => store.loadState("a")))?.id, "a")
    }), 60_000)

  it.live(
    "of several processes that replace one task, exactly one stores each version, and limits hold",
    () => Effect.suspend(() => raceOver(String(port()), Postgres.layerAt(port()))),
    60_000
  )
})
