/** The laws of the stores, with SQLite: one connection, and two connections to one file. */
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import { EventStoreSuite, SessionOwnersSuite, SessionStoreSuite } from "@effect-mcp/testing/vitest"
import * as Effect from "effect/Effect"
import type * as Database from "../src/internal/sql/Database.ts"
import { newFile } from "./support/databases.ts"
import { byTurns, eventsOf, openOver, ownersOf, sessionsOf } from "./support/stores.ts"

const one = <Store extends object>(storeOf: (database: Database.Database) => Store) =>
  Effect.map(openOver(NodeSqlite.layer({ filename: ":memory:" })), storeOf)

const two = <Store extends object>(storeOf: (database: Database.Database) => Store) =>
  Effect.gen(function*() {
    const filename = yield* newFile
    const open = openOver(NodeSqlite.layer({ filename }))
    return byTurns(storeOf(yield* open), storeOf(yield* open))
  })

EventStoreSuite.suite("SQLite, in memory", one((database) => eventsOf(database)), { runs: 20 })
EventStoreSuite.suite("SQLite, two connections to one file", two((database) => eventsOf(database)), { runs: 4 })
SessionStoreSuite.suite("SQLite, in memory", one((database) => sessionsOf(database)), { runs: 20 })
SessionStoreSuite.suite("SQLite, two connections to one file", two((database) => sessionsOf(database)), { runs: 4 })
SessionOwnersSuite.suite("SQLite, in memory", one(ownersOf))
SessionOwnersSuite.suite("SQLite, two connections to one file", two(ownersOf))
