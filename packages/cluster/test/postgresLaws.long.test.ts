/** The laws of the stores, with PostgreSQL: over one pool of connections, and over two. */
import { EventStoreSuite, SessionOwnersSuite, SessionStoreSuite } from "@effect-mcp/testing/vitest"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Database from "../src/internal/sql/Database.ts"
import { postgres, suitePrefix } from "./support/databases.ts"
import { isRunning } from "./support/services.ts"
import { byTurns, eventsOf, openOver, ownersOf, sessionsOf } from "./support/stores.ts"

const isPostgresRunning = isRunning("PostgreSQL", "the laws of the stores of @effect-mcp/cluster in PostgreSQL")

describe.runIf(isPostgresRunning)("PostgreSQL", () => {
  const prefix = suitePrefix()
  const open = openOver(Layer.fresh(postgres), prefix)

  const one = <Store extends object>(storeOf: (database: Database.Database) => Store) => Effect.map(open, storeOf)

  const two = <Store extends object>(storeOf: (database: Database.Database) => Store) =>
    Effect.zipWith(open, open, (one, other) => byTurns(storeOf(one), storeOf(other)), { concurrent: true })

  EventStoreSuite.suite("one pool", one((database) => eventsOf(database)), { runs: 5 })
  EventStoreSuite.suite("two pools", two((database) => eventsOf(database)), { runs: 3 })
  SessionStoreSuite.suite("one pool", one((database) => sessionsOf(database)), { runs: 5 })
  SessionStoreSuite.suite("two pools", two((database) => sessionsOf(database)), { runs: 3 })
  SessionOwnersSuite.suite("one pool", one(ownersOf))
  SessionOwnersSuite.suite("two pools", two(ownersOf))
})
