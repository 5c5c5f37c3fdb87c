/** The limits of the stores in PostgreSQL, and what happens when transactions overlap. */
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as SqlClient from "effect/sql/SqlClient"
import * as Database from "../src/internal/sql/Database.ts"
import * as Migrating from "../src/internal/sql/Migrating.ts"
import { newPrefix, postgres } from "./support/databases.ts"
import * as fencing from "./support/fencing.ts"
import * as limits from "./support/limits.ts"
import { isRunning } from "./support/services.ts"
import { openOver } from "./support/stores.ts"
import * as sweeps from "./support/sweeps.ts"

const over = <A, E>(test: (database: Database.Database, prefix: string) => Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.scoped(Effect.gen(function*() {
    const prefix = yield* newPrefix
    return yield* Effect.provide(
      Effect.gen(function*() {
        const database = yield* Database.open(prefix)
        yield* Migrating.migrate(database)
        return yield* test(database, prefix)
      }),
      postgres
    )
  }))

const overTwo = <A, E>(test: (one: Database.Database, other: Database.Database) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.gen(function*() {
    const open = openOver(Layer.fresh(postgres), yield* newPrefix)
    return yield* test(yield* open, yield* open)
  }))

const isPostgresRunning = isRunning("PostgreSQL", "the limits of the stores of @effect-mcp/cluster in PostgreSQL")

describe.runIf(isPostgresRunning)("limits in PostgreSQL", () => {
  it.live("a full stream drops its oldest events, and keeps the newest", () => over(limits.ofStreams))
  it.live("a full session drops events of its least recently used streams", () => over(limits.ofSessions))
  it.live("a principal with too many sessions loses the one that is least used and not served", () =>
    over(limits.ofPrincipals))
  it.live("a session that a process serves does not expire, and its next write begins its time again", () =>
    over(limits.ofServed))
  it.live("after an outage, no session expires or makes room before its owner could return", () =>
    over(limits.ofReturning))
  it.live("streams are deleted with their events", () => over(limits.ofRemovals))
  it.live("streams are deleted with the events that are appended at the same time", () =>
    over(limits.ofConcurrentRemovals))
})

describe.runIf(isPostgresRunning)("writes to PostgreSQL", () => {
  it.live("are one statement each", () => over(limits.inOneStatement))
})

describe.runIf(isPostgresRunning)("sweeps of PostgreSQL", () => {
  it.live("expired sessions are deleted with their streams, unless a process serves them", () =>
    over(sweeps.ofSessions))
  it.live("ended streams, used states and rates are deleted when their time is over", () => over(sweeps.ofTimes))
  it.live("the limits of the store and of principals hold after a sweep", () => over(sweeps.ofLimits))
  it.live("after an outage, no session is deleted before its owner could return", () => over(sweeps.ofReturning))
  it.live("a process that two sweeps found dead is deleted, and its sessions are free", () => over(sweeps.ofProcesses))
  it.live("the stores of a program sweep by themselves", () => over(sweeps.byThemselves))
})

describe.runIf(isPostgresRunning)("transactions that overlap in PostgreSQL", () => {
  it.live("an append that commits late delays the claim, and is part of the take-over", () =>
    overTwo(fencing.appendFirst))
  it.live("a write of an earlier epoch that waits for a claim changes nothing", () => overTwo(fencing.claimFirst))
  it.live("a process that renews its lease during a claim learns that it has lost its session", () =>
    overTwo(fencing.claimBeforeRenewal))
  it.live("a claim that waits for the renewal of the owner is refused", () => overTwo(fencing.renewalBeforeClaim))
  it.live("the deleted sessions of a principal are lost for their owners", () => overTwo(fencing.removedPrincipal))
  it.live("of two claims, one succeeds", () => overTwo(fencing.twoClaims))
})
