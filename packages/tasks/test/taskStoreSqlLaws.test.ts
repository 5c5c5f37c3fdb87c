/** The laws of stores of tasks, with SQLite in memory and with two connections to a file. */
import { TaskStoreSuite } from "@effect-mcp/testing/vitest"
import * as Effect from "effect/Effect"
import { byTurns, newFile, storeIn } from "./support/sqlStores.ts"

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
