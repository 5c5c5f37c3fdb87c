/** Stores over a database, each with the tables that it needs. */
import type { SessionOwners } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as SqlClient from "effect/sql/SqlClient"
import * as Database from "../../src/internal/sql/Database.ts"
import * as EventsSql from "../../src/internal/sql/EventsSql.ts"
import * as Migrating from "../../src/internal/sql/Migrating.ts"
import * as OwnersSql from "../../src/internal/sql/OwnersSql.ts"
import * as SessionsSql from "../../src/internal/sql/SessionsSql.ts"

/** Opens a database whose client ends with the scope. */
export const openOver = <E>(client: Layer.Layer<SqlClient.SqlClient, E>, prefix = "mcp_") =>
  Effect.flatMap(Layer.build(client), (context) =>
    Effect.gen(function*() {
      const database = yield* Database.open(prefix)
      yield* Migrating.migrate(database)
      return database
    }).pipe(Effect.provide(context)))

const infinity = Number.POSITIVE_INFINITY

/** Makes a store of events with these limits. */
export const eventsOf = (database: Database.Database, limits: Partial<EventsSql.Limits> = {}) =>
  EventsSql.make(database, {
    maxEventsPerStream: 1_000,
    maxBytesPerStream: infinity,
    maxBytesPerSession: infinity,
    endedStreamMillis: 60_000,
    ...limits
  })

/** Makes a store of sessions with these limits. */
export const sessionsOf = (database: Database.Database, limits: Partial<SessionsSql.Limits> = {}) =>
  SessionsSql.make(database, {
    maxSessionsPerPrincipal: infinity,
    idleMillis: 3_600_000,
    leaseMillis: 2_000,
    ...limits
  })

/** Makes a store of owners. */
export const ownersOf = (database: Database.Database): SessionOwners.OwnerStore => OwnersSql.make(database)

/** Returns a store whose operations run over these two by turns. */
export const byTurns = <Store extends object>(one: Store, other: Store): Store => {
  let turn = 0
  return new Proxy(one, { get: (_, name) => Reflect.get(turn++ % 2 === 0 ? one : other, name) })
}
