/** The laws of stores of tasks, with SQLite in memory, with two connections to a file, and with PostgreSQL. */
import { TaskStoreSuite } from "@effect-mcp/testing/vitest"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Postgres from "./support/postgres.ts"
import { byTurns, newFile, storeIn, storeOver } from "./support/sqlStores.ts"

TaskStoreSuite.suite("SQLite, in memory", storeIn(":memory:"), { runs: 30 })

TaskStoreSuite.suite(
  "SQLite, two connections to one file",
  Effect.gen(function*() {
    const file = yield* newFile
    const options = { pollInterval: "10 millis" } as const
    return byTurns(yield* storeIn(file, options), yield* storeIn(file, options))
  }),
  { runs: 5 }
)

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
