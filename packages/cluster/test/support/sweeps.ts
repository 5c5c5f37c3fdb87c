/** Properties of the sweeps of every database. */
import { McpStores } from "@effect-mcp/cluster"
import { UsedStates } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Digest from "../../src/internal/Digest.ts"
import type * as Database from "../../src/internal/sql/Database.ts"
import * as Sweep from "../../src/internal/sql/Sweep.ts"
import { afterOutage, agree, rowsOf, sessionOf, streamOf } from "./limits.ts"
import { eventsOf, ownersOf, sessionsOf } from "./stores.ts"

const infinity = Number.POSITIVE_INFINITY

/** Makes a sweep with these limits. */
export const sweepOf = (database: Database.Database, limits: Partial<Sweep.Limits> = {}) =>
  Sweep.make(database, {
    maxSessions: infinity,
    maxSessionBytes: infinity,
    maxEventBytes: infinity,
    maxEventBytesPerPrincipal: infinity,
    maxRates: infinity,
    endedStreamMillis: 60_000,
    leaseMillis: 2_000,
    ...limits
  })

const stored = (database: Database.Database, ids: ReadonlyArray<string>, sessions = sessionsOf(database)) =>
  Effect.filter(ids, (id) => Effect.map(sessions.load(id), (session) => session !== undefined))

const lease = { process: "alive", address: "http://alive.test", millis: 3_600_000 }

/** Expired sessions are deleted with their streams, unless a process serves them. */
export const ofSessions = (database: Database.Database) =>
  Effect.gen(function*() {
    const { sql, table } = database
    const [sessions, events, owners] = [sessionsOf(database), eventsOf(database), ownersOf(database)]
    yield* owners.renew(lease)
    yield* owners.claim("served", 0, lease)
    for (const id of ["served", "left", "used"]) {
      yield* sessions.create(sessionOf(id, "ada"))
      yield* events.append(streamOf(id, "a"), "1")
    }
    // A claim without a session, a write to a session that has ended, and a stream that is still written to.
    yield* owners.claim("claimed", 0, lease)
    yield* owners.release("claimed", 1)
    for (const id of ["ghost", "begun"]) yield* events.append(streamOf(id, "a"), "1")
    yield* sql`update ${table("sessions")} set kept_until = kept_until - 60000 where session is null`
    yield* sql`update ${table("sessions")} set kept_until = 1 where session is not null`
    yield* sql`update ${table("streams")} set used_at = used_at - 60000 where session = ${Digest.of("ghost")}`
    yield* sessions.create(sessionOf("used", "ada"))
    yield* sql`update ${table("streams")} set used_at = used_at - 3600000 where session in (
      select id from ${table("sessions")} where session is not null)`
    yield* sweepOf(database)
    assert.strictEqual(yield* rowsOf(database, "sessions"), 3)
    assert.strictEqual(yield* rowsOf(database, "streams"), 3)
    assert.deepStrictEqual(yield* stored(database, ["left", "used"]), ["used"])
    assert.strictEqual((yield* owners.locate("served"))._tag, "Owned")
    for (const id of ["claimed", "ghost"]) assert.strictEqual((yield* owners.locate(id))._tag, "Unknown")
    yield* agree(database)
  })

/** Ended streams, used states and rates are deleted when their time is over. */
export const ofTimes = (database: Database.Database, prefix: string) =>
  Effect.gen(function*() {
    const { sql, table } = database
    const events = eventsOf(database)
    for (const stream of ["ended", "late", "open"]) yield* events.append(streamOf("s", stream), "1")
    for (const stream of ["ended", "late"]) yield* events.end(streamOf("s", stream))
    yield* sql`update ${table("streams")} set ended_at = 1 where stream = 'ended'`
    const { use } = yield* UsedStates.UsedStates
    yield* use("over", 1, "ada")
    yield* use("valid", Date.now() + 3_600_000, "ada")
    const rates = yield* RateLimiter.RateLimiterStore
    for (const millis of [1, 3_600_000]) {
      const refillRate = Duration.millis(millis)
      yield* rates.fixedWindow({ key: `f${millis}`, tokens: 1, limit: 5, refillRate })
      yield* rates.tokenBucket({ key: `b${millis}`, tokens: 1, limit: 5, refillRate, allowOverflow: false })
    }
    yield* Effect.sleep("50 millis")
    yield* sweepOf(database)
    for (const [name, rows] of [["streams", 2], ["events", 2], ["used_states", 1], ["rates", 2]] as const) {
      assert.strictEqual(yield* rowsOf(database, name), rows, name)
    }
    yield* sweepOf(database, { maxRates: 1 })
    assert.strictEqual(yield* rowsOf(database, "rates"), 1)
  }).pipe(Effect.provide(McpStores.layerSql({ prefix })))

/** More than a batch is deleted, and the limits of the store and of principals hold after a sweep. */
export const ofLimits = (database: Database.Database) =>
  Effect.gen(function*() {
    const { sql, table } = database
    const [sessions, events, owners] = [sessionsOf(database), eventsOf(database), ownersOf(database)]
    const ids = Array.from({ length: 620 }, (_, index) => `s${index}`)
    yield* owners.renew(lease)
    yield* owners.claim("s0", 0, lease)
    yield* database.atomic(
      Effect.forEach(
        ids,
        (id, index) => sessions.create(sessionOf(id, index % 2 === 0 ? "even" : "odd", 1_000 + index))
      )
    )
    yield* sweepOf(database, { maxSessions: 20 })
    assert.strictEqual(yield* rowsOf(database, "sessions"), 20)
    assert.deepStrictEqual(yield* stored(database, ["s0", "s1", "s600", "s601", "s619"]), ["s0", "s601", "s619"])

    const left = ids.slice(601)
    for (const id of left) yield* events.append(streamOf(id, "a"), "x".repeat(212))
    yield* sweepOf(database, { maxEventBytesPerPrincipal: 4_000 })
    assert.strictEqual(yield* rowsOf(database, "streams"), 8)
    yield* sweepOf(database, { maxEventBytes: 3_000 })
    assert.strictEqual(yield* rowsOf(database, "streams"), 3)
    assert.strictEqual(yield* rowsOf(database, "events"), 3)
    yield* agree(database)

    const [row] = yield* sql<{ readonly bytes: number }>`select sum(bytes) as bytes from ${table("sessions")}`
    yield* sweepOf(database, { maxSessionBytes: (row?.bytes ?? 0) / 2 })
    assert.strictEqual(yield* rowsOf(database, "sessions"), 10)
  })

/** A sweep deletes no session, expired or not, before its owner could return from an outage. */
export const ofReturning = (database: Database.Database) =>
  Effect.gen(function*() {
    const { sql, table } = database
    const sessions = sessionsOf(database, { leaseMillis: 3_600_000 })
    const { away, goAway, owners, stand } = yield* afterOutage(database)
    for (const id of ["expired", "old", "new"]) {
      yield* owners.claim(id, 0, away)
      yield* sessions.create(sessionOf(id, "ada", id === "old" ? 1 : 2))
    }
    yield* goAway
    yield* sql`update ${table("sessions")} set kept_until = 1 where id = ${Digest.of("expired")}`
    const sweep = sweepOf(database, { maxSessions: 1, leaseMillis: 3_600_000 })
    yield* sweep
    const left = Effect.suspend(() => stored(database, ["expired", "old", "new"], sessions))
    assert.deepStrictEqual(yield* left, ["expired", "old", "new"])
    yield* stand
    yield* sweep
    assert.deepStrictEqual(yield* left, ["new"])
    // A process that has retired does not return.
    yield* owners.retire("back")
    yield* owners.retire("away")
    yield* sql`update ${table("sessions")} set kept_until = 1`
    yield* sweep
    assert.strictEqual(yield* rowsOf(database, "sessions"), 0)
  })

/** A process whose lease is over for long is deleted at the second sweep, and its sessions are free, stored or not. */
export const ofProcesses = (database: Database.Database) =>
  Effect.gen(function*() {
    const { sql, table } = database
    const owners = ownersOf(database)
    const dead = { ...lease, process: "dead" }
    for (const one of [lease, dead, { ...lease, process: "returns" }]) yield* owners.renew(one)
    yield* owners.claim("of-dead", 0, dead)
    yield* owners.claim("of-other", 0, { ...lease, process: "returns" })
    yield* sql`update ${table("processes")} set expires_at = 1 where id <> 'alive'`
    // Neither session is stored yet.
    yield* sql`update ${table("sessions")} set kept_until = 1`
    const sweep = sweepOf(database)
    yield* sweep
    assert.strictEqual(yield* rowsOf(database, "processes"), 3)
    // After an outage, all processes look dead. Those that live renew their leases before the next sweep.
    yield* owners.renew({ ...lease, process: "returns" })
    yield* sweep
    assert.strictEqual(yield* rowsOf(database, "processes"), 2)
    assert.deepStrictEqual(yield* owners.lost("returns", [{ session: "of-other", epoch: 1 }]), [])
    assert.deepStrictEqual(yield* owners.locate("of-dead"), { _tag: "Free", epoch: 1 })
    assert.deepStrictEqual(yield* owners.lost("dead", [{ session: "of-dead", epoch: 1 }]), ["of-dead"])
    // No process owns the session, so another one may claim it at once.
    assert.strictEqual(yield* owners.claim("of-dead", 1, lease), 2)
    yield* owners.retire("returns")
    yield* sweep
    assert.deepStrictEqual(yield* owners.locate("of-other"), { _tag: "Unknown" })
    assert.strictEqual((yield* owners.locate("of-dead"))._tag, "Owned")
  })

/** The stores of a program sweep by themselves. */
export const byThemselves = (database: Database.Database, prefix: string) =>
  Effect.gen(function*() {
    const { use } = yield* UsedStates.UsedStates
    yield* use("over", 1, "ada")
    while ((yield* rowsOf(database, "used_states")) > 0) yield* Effect.sleep("20 millis")
  }).pipe(
    Effect.timeout("10 seconds"),
    Effect.provide(McpStores.layerSql({ prefix, sweepInterval: "50 millis" }))
  )
