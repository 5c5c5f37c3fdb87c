/** Properties of the limits of every database. */
import type { EventStore, SessionStore } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import type * as Database from "../../src/internal/sql/Database.ts"
import * as Streams from "../../src/internal/sql/Streams.ts"
import { eventsOf, ownersOf, sessionsOf } from "./stores.ts"

export const streamOf = (session: string, stream: string, epoch = 1): EventStore.WrittenStream => ({
  session,
  stream,
  epoch,
  requests: [stream]
})

export const sessionOf = (
  id: string,
  principal: string | undefined,
  usedAt = Date.now()
): SessionStore.StoredSession => ({
  id,
  principal,
  handshakeMessages: [],
  openedAt: usedAt,
  usedAt,
  epoch: 1
})

/** Returns the number of rows of a table. */
export const rowsOf = ({ sql, table }: Database.Database, name: string) =>
  Effect.map(
    sql<{ readonly rows: number | string }>`select count(*) as rows from ${table(name)}`,
    ([row]) => Number(row?.rows)
  )

const appendAll = (
  store: EventStore.EventStore["Service"],
  stream: EventStore.WrittenStream,
  events: ReadonlyArray<string>
) => Effect.forEach(events, (data) => store.append(stream, data))

const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index))

/** Checks that the columns of the streams agree with the events. */
export const agree = ({ sql, table }: Database.Database) =>
  Effect.gen(function*() {
    const wrong = yield* sql`
      select t.name from ${table("streams")} as t
      where (select count(*) from ${table("events")} as e where e.name = t.name) <> t.next - t.first
        or (select min(number) from ${table("events")} as e where e.name = t.name) <> t.first`
    assert.lengthOf(wrong, 0)
    const lost = yield* sql`select name from ${table("events")} where name not in (select name from ${
      table("streams")
    })`
    assert.lengthOf(lost, 0)
  })

/** A full stream drops its oldest events, some at a time. */
export const ofStreams = (database: Database.Database) =>
  Effect.gen(function*() {
    const byNumber = eventsOf(database, { maxEventsPerStream: 16 })
    const ids = yield* appendAll(byNumber, streamOf("n", "a"), numbers(40))
    const kept = (yield* byNumber.replay("n", ids[30] ?? ""))?.events.map(({ data }) => data)
    assert.deepStrictEqual(kept, numbers(40).slice(31))
    assert.isUndefined(yield* byNumber.replay("n", ids[20] ?? ""))
    assert.isAtMost(yield* rowsOf(database, "events"), 16)
    yield* agree(database)
    yield* byNumber.drop("n", 1)

    const byBytes = eventsOf(database, { maxBytesPerStream: 2_000 })
    const long = "x".repeat(100)
    const longIds = yield* appendAll(byBytes, streamOf("b", "a"), numbers(20).map((number) => number + long))
    assert.isAtMost(yield* rowsOf(database, "events"), 2_000 / (64 + 200))
    assert.strictEqual((yield* byBytes.replay("b", longIds[16] ?? ""))?.events.length, 3)
    // The newest event is stored even if it is larger than its stream may be.
    const [large = ""] = yield* appendAll(byBytes, streamOf("b", "a"), ["y".repeat(5_000)])
    assert.strictEqual(yield* rowsOf(database, "events"), 1)
    assert.deepStrictEqual((yield* byBytes.replay("b", large))?.events, [])
    yield* agree(database)
  })

/** A full session drops events of its least recently used streams, and of no other session. */
export const ofSessions = (database: Database.Database) =>
  Effect.gen(function*() {
    const store = eventsOf(database, { maxBytesPerSession: 8_000 })
    const data = "x".repeat(400)
    const [other = ""] = yield* appendAll(store, streamOf("other", "a"), [data])
    const [first = ""] = yield* appendAll(store, streamOf("s", "first"), ["1"])
    const [second = ""] = yield* appendAll(store, streamOf("s", "second"), [data, data])
    yield* Effect.sleep("20 millis")
    assert.isDefined(yield* store.replay("s", first))
    yield* Effect.sleep("20 millis")
    const third = yield* appendAll(store, streamOf("s", "third"), numbers(6).map(() => data))
    assert.isUndefined(yield* store.replay("s", second))
    assert.isDefined(yield* store.replay("s", first))
    assert.strictEqual((yield* store.replay("s", third[0] ?? ""))?.events.length, 5)
    assert.isDefined(yield* store.replay("other", other))
    yield* appendAll(store, streamOf("s", "third"), numbers(30).map(() => data))
    assert.isAtMost(yield* rowsOf(database, "events"), 1 + 8_000 / (64 + 800))
    yield* agree(database)
  })

/** Streams are deleted with their events, also by a condition that changes from one statement to the next. */
export const ofRemovals = (database: Database.Database) =>
  Effect.gen(function*() {
    const { sql } = database
    const store = eventsOf(database)
    yield* Effect.forEach(numbers(40), (number) => store.append(streamOf("s", number), number), { discard: true })
    const removed = yield* Streams.make(database).remove(sql`random() < ${database.isPg ? 0.5 : 0}`)
    assert.isAbove(removed, 0)
    assert.isBelow(removed, 40)
    yield* agree(database)
  })

/** Streams are deleted with their events, also with those that are appended at the same time. */
export const ofConcurrentRemovals = (database: Database.Database) =>
  Effect.gen(function*() {
    const store = eventsOf(database)
    const { remove } = Streams.make(database)
    const concurrent = { concurrency: "unbounded", discard: true } as const
    for (const round of numbers(40)) {
      const streams = numbers(8).map((number) => streamOf(round, number))
      yield* Effect.forEach(streams, (stream) => store.append(stream, "first"), concurrent)
      yield* Effect.all([
        Effect.forEach(streams, (stream) => appendAll(store, stream, numbers(4)), concurrent),
        Number(round) % 2 === 0 ? store.drop(round, 1) : remove(database.sql`1 = 1`)
      ], concurrent)
    }
    yield* agree(database)
  })

/** A principal has a number of sessions. Those that a process serves are kept. */
export const ofPrincipals = (database: Database.Database) =>
  Effect.gen(function*() {
    const store = sessionsOf(database, { maxSessionsPerPrincipal: 3 })
    const owners = ownersOf(database)
    const lease = { process: "p", address: "http://p.test", millis: 60_000 }
    yield* owners.renew(lease)
    for (const [age, id] of ["served", "old", "new"].entries()) {
      if (id === "served") yield* owners.claim(id, 0, lease)
      yield* store.create(sessionOf(id, "ada", Date.now() + age))
    }
    const known = () =>
      Effect.filter(["served", "old", "new", "next", "bob"], (id) =>
        Effect.map(store.load(id), (session) => session !== undefined))
    yield* store.create(sessionOf("bob", "bob"))
    yield* store.create(sessionOf("next", "ada", Date.now() + 10))
    assert.deepStrictEqual(yield* known(), ["served", "new", "next", "bob"])
    // A session that is stored again needs no room.
    yield* store.create(sessionOf("new", "ada"))
    assert.deepStrictEqual(yield* known(), ["served", "new", "next", "bob"])
    for (const id of ["new", "next"]) {
      yield* owners.claim(id, 1, lease)
    }
    const error = yield* Effect.flip(store.create(sessionOf("more", "ada")))
    assert.match(String("cause" in error && error.cause), /3 sessions of this principal are stored and in use/)
    yield* store.create(sessionOf("anonymous", undefined))
  })

/** A session that a process serves does not expire, and its next write begins its time again. */
export const ofServed = (database: Database.Database) =>
  Effect.gen(function*() {
    const { sql, table } = database
    const [sessions, owners] = [sessionsOf(database), ownersOf(database)]
    const lease = { process: "p", address: "http://p.test", millis: 60_000 }
    const expire = sql`update ${table("sessions")} set kept_until = 1`
    const stored = (ids: ReadonlyArray<string>) =>
      Effect.filter(ids, (id) => Effect.map(sessions.load(id), (session) => session !== undefined))
    yield* owners.renew(lease)
    yield* owners.claim("served", 0, lease)
    for (const id of ["served", "left"]) yield* sessions.create(sessionOf(id, "ada"))
    yield* expire
    assert.deepStrictEqual(yield* stored(["served", "left"]), ["served"])
    yield* sessions.save({ ...sessionOf("served", "ada"), logLevel: "error" })
    assert.strictEqual((yield* sessions.load("served"))?.logLevel, "error")
    yield* owners.release("served", 1)
    assert.deepStrictEqual(yield* stored(["served", "left"]), ["served"])
    yield* expire
    assert.deepStrictEqual(yield* stored(["served", "left"]), [])
    // A process without owners serves it, as its touch shows.
    yield* sessions.touch("left", 1, Date.now())
    assert.deepStrictEqual(yield* stored(["served", "left"]), ["left"])
  })

/**
 * Begins the leases of two processes: one that has returned from an outage of the database, and one that has not yet.
 * Returns an effect after which the lease of the first one has stood for the time of a lease.
 */
export const afterOutage = (database: Database.Database) =>
  Effect.gen(function*() {
    const { now, sql, table } = database
    const owners = ownersOf(database)
    const lease = { process: "back", address: "http://back.test", millis: 3_600_000 }
    const away = { ...lease, process: "away" }
    yield* owners.renew(lease)
    yield* owners.renew(away)
    const begun = {
      owners,
      away,
      goAway: sql`update ${table("processes")} set expires_at = ${now} - 1 where id = 'away'`,
      stand: sql`update ${table("processes")} set since = since - 3600000 where id = 'back'`
    }
    return begun
  })

/** A session does not expire or make room before its owner could return from an outage. */
export const ofReturning = (database: Database.Database) =>
  Effect.gen(function*() {
    const { sql, table } = database
    const sessions = sessionsOf(database, { maxSessionsPerPrincipal: 2, leaseMillis: 3_600_000 })
    const { away, goAway, owners, stand } = yield* afterOutage(database)
    for (const [age, id] of ["old", "new"].entries()) {
      yield* owners.claim(id, 0, away)
      yield* sessions.create(sessionOf(id, "ada", Date.now() + age))
    }
    yield* goAway
    yield* sql`update ${table("sessions")} set kept_until = 1`
    assert.isDefined(yield* sessions.load("old"))
    const error = yield* Effect.flip(sessions.create(sessionOf("more", "ada")))
    assert.match(String("cause" in error && error.cause), /2 sessions of this principal are stored and in use/)
    yield* stand
    assert.isUndefined(yield* sessions.load("old"))
    yield* sessions.create(sessionOf("more", "ada"))
    assert.deepStrictEqual(yield* owners.locate("old"), { _tag: "Unknown" })
    assert.strictEqual((yield* owners.locate("new"))._tag, "Free")
  })

/**
 * Each write is one statement, so that a process that is paused in the middle of one holds no lock. The second one of
 * `drop` deletes what was appended during the first, and is no part of a transaction with it.
 */
export const inOneStatement = (database: Database.Database) =>
  Effect.gen(function*() {
    const [sessions, events, owners] = [sessionsOf(database), eventsOf(database), ownersOf(database)]
    const lease = { process: "p", address: "http://p.test", millis: 60_000 }
    yield* owners.renew(lease)
    yield* owners.claim("s", 0, lease)
    let statements = 0
    const tracer = Tracer.make({
      span: (options) => {
        if (options.kind === "client") statements++
        return new Tracer.NativeSpan(options)
      }
    })
    const session = sessionOf("s", "ada")
    const writes = {
      renew: owners.renew(lease),
      create: sessions.create(session),
      save: sessions.save(session),
      touch: sessions.touch("s", 1, Date.now()),
      "first append": events.append(streamOf("s", "a"), "1"),
      append: events.append(streamOf("s", "a"), "2"),
      end: events.end(streamOf("s", "a")),
      drop: events.drop("s", 1),
      claim: owners.claim("s", 1, lease),
      remove: sessions.remove("s", 2)
    }
    const counts: Record<string, number> = {}
    for (const [name, write] of Object.entries<Effect.Effect<unknown, unknown>>(writes)) {
      statements = 0
      yield* Effect.withTracer(write, tracer)
      counts[name] = statements
    }
    const expected = Object.fromEntries(Object.keys(writes).map((name) => [name, name === "drop" ? 2 : 1]))
    assert.deepStrictEqual(counts, expected)
  })
