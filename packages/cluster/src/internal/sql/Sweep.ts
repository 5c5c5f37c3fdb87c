/** Deletes from a database what has expired, and what exceeds the limits of principals and of the whole store. */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import type { Database } from "./Database.ts"
import * as SessionRows from "./SessionRows.ts"
import * as Streams from "./Streams.ts"

/** The limits that a sweep checks. */
export interface Limits {
  readonly maxSessions: number
  readonly maxSessionBytes: number
  readonly maxEventBytes: number
  readonly maxEventBytesPerPrincipal: number
  readonly maxRates: number
  readonly endedStreamMillis: number
  /** The time of a lease. */
  readonly leaseMillis: number
}

/** The rows that one statement deletes. A statement that takes long would make the writes of sessions wait. */
const batchSize = 500

/** The statements of one kind in one sweep. The next sweep goes on. */
const maxBatches = 200

/** The time after the end of its lease after which a process counts as dead. */
const deadMillis = 3_600_000

type Swept<A = void> = Effect.Effect<A, SqlError.SqlError>

/** An entry that may make room, with its bytes. */
interface Weighed {
  readonly id: string
  readonly bytes: number
}

/** Returns the first entries that together free this many entries and bytes. */
const enough = <Row extends Weighed>(rows: ReadonlyArray<Row>, entries: number, bytes: number): ReadonlyArray<Row> => {
  let freed = 0
  const count = rows.findIndex((row, index) => {
    freed += row.bytes
    return index + 1 >= entries && freed >= bytes
  })
  return count < 0 ? rows : rows.slice(0, count + 1)
}

/**
 * Makes a sweep, which several processes can run at the same time: none waits for a row that another one deletes. A
 * process is deleted if its lease has been over for an hour, and the sweep before of the same process has found so too.
 * After one sweep alone, the first process that returns from an outage of hours would free the sessions of the others.
 */
export const make = (database: Database, limits: Limits): Swept => {
  const { atomic, dialect, isPg, now, sql, table } = database
  const [processes, sessions, streams] = [table("processes"), table("sessions"), table("streams")]
  const [usedStates, rates] = [table("used_states"), table("rates")]
  const lockFree = sql.literal(dialect.lockFree)
  const statements = Streams.make(database)
  let deadBefore: ReadonlySet<string> = new Set()

  /** Runs a statement until it deletes less than a batch. */
  const inBatches = (batch: Swept<number>): Swept =>
    Effect.gen(function*() {
      for (let count = 0; count < maxBatches; count++) {
        if ((yield* batch) < batchSize) return
      }
    })

  const mayBeServed = SessionRows.mayBeServed(database, limits.leaseMillis)

  /** Whether the owner has not retired, and was not deleted. It may create the session that it has claimed. */
  const mayReturn = sql`exists (select 1 from ${processes} as p where p.id = s.owner and p.expires_at > 0)`

  const removeStreams = (found: Statement.Fragment) => statements.remove(sql`(session, stream) in (${found})`)

  const endedStreams = removeStreams(sql`
    select session, stream from ${streams} where ended_at <= ${now} - ${limits.endedStreamMillis}
    order by ended_at limit ${batchSize} ${lockFree}`)

  const expiredSessions = Effect.map(
    sql`delete from ${sessions} where id in (
      select id from ${sessions} as s
      where kept_until <= ${now} and not ${mayBeServed} and (session is not null or not ${mayReturn} and not exists (
        select 1 from ${streams} as t where t.session = s.id and t.used_at > ${now} - ${SessionRows.unstoredMillis}
      ))
      order by kept_until limit ${batchSize} ${lockFree}
    ) returning id`,
    (rows) => rows.length
  )

  const orphanedStreams = removeStreams(sql`
    select session, stream from ${streams} as t
    where used_at <= ${now} - ${SessionRows.unstoredMillis}
      and not exists (select 1 from ${sessions} as s where s.id = t.session)
    limit ${batchSize} ${lockFree}`)

  const expired = (rows: Statement.Identifier) =>
    Effect.map(
      sql`delete from ${rows} where id in (
        select id from ${rows} where expires_at <= ${now} order by expires_at limit ${batchSize} ${lockFree}
      ) returning id`,
      (deleted) => deleted.length
    )

  /** Deletes the rates that end first, as many as are too many. */
  const tooManyRates = Effect.gen(function*() {
    const [row] = yield* sql<{ readonly rates: number | string }>`select count(*) as rates from ${rates}`
    const excess = Math.min(batchSize, Number(row?.rates ?? 0) - limits.maxRates)
    if (excess <= 0) return 0
    const deleted = yield* sql`delete from ${rates} where id in (
      select id from ${rates} order by expires_at limit ${excess} ${lockFree}
    ) returning id`
    return deleted.length
  })

  /** Deletes the least recently used sessions that no process may serve, as many as are too many. */
  const tooManySessions = Effect.gen(function*() {
    const [sum] = yield* sql<{ readonly stored: number | string; readonly bytes: number }>`
      select count(*) as stored, coalesce(sum(bytes), 0) as bytes from ${sessions} where session is not null`
    const stored = Number(sum?.stored ?? 0) - limits.maxSessions
    const bytes = (sum?.bytes ?? 0) - limits.maxSessionBytes
    if (stored <= 0 && bytes <= 0) return 0
    const oldest = yield* sql<Weighed>`
      select id, bytes from ${sessions} as s where session is not null and not ${mayBeServed}
      order by used_at limit ${batchSize}`
    const chosen = enough(oldest, stored, bytes).map(({ id }) => id)
    if (chosen.length === 0) return 0
    const deleted = yield* sql`delete from ${sessions} where id in (
      select id from ${sessions} as s where ${sql.in("id", chosen)} and not ${mayBeServed} ${lockFree}
    ) returning id`
    return deleted.length
  })

  /** Deletes the least recently used streams among these, so that this many bytes are free. */
  const freeStreams = (among: Statement.Fragment, excess: number) =>
    Effect.gen(function*() {
      const oldest = yield* sql<Weighed>`
        select t.name as id, t.total - t.cut + ${Streams.streamBytes} as bytes ${among}
        order by t.used_at limit ${batchSize}`
      const chosen = enough(oldest, 0, excess).map(({ id }) => id)
      return chosen.length === 0 ? 0 : yield* statements.remove(sql.in("name", chosen))
    })

  const live = sql`coalesce(sum(t.total - t.cut + ${Streams.streamBytes}), 0)`

  const tooManyEvents = Effect.gen(function*() {
    const [sum] = yield* sql<{ readonly bytes: number }>`select ${live} as bytes from ${streams} as t`
    const excess = (sum?.bytes ?? 0) - limits.maxEventBytes
    return excess <= 0 ? 0 : yield* freeStreams(sql`from ${streams} as t`, excess)
  })

  const tooManyEventsOfPrincipals = Effect.gen(function*() {
    const owned = sql`from ${streams} as t join ${sessions} as s on s.id = t.session`
    const principals = yield* sql<Weighed>`
      select s.principal as id, ${live} as bytes ${owned} where s.principal <> ''
      group by s.principal having ${live} > ${limits.maxEventBytesPerPrincipal} limit ${batchSize}`
    for (const { bytes, id } of principals) {
      yield* freeStreams(sql`${owned} where s.principal = ${id}`, bytes - limits.maxEventBytesPerPrincipal)
    }
    return principals.length
  })

  const deadProcesses = Effect.gen(function*() {
    const dead = yield* sql<{ readonly id: string }>`
      select id from ${processes} where expires_at <= ${now} - ${deadMillis} limit ${batchSize}`
    for (const { id } of dead.filter(({ id }) => deadBefore.has(id))) {
      yield* atomic(Effect.gen(function*() {
        if (isPg) yield* sql`set local idle_in_transaction_session_timeout = '10s'`
        // A claim locks this row first as well. A process that renews its lease meanwhile finds its sessions lost.
        const locked = yield* sql`
          select id from ${processes} where id = ${id} and expires_at <= ${now} - ${deadMillis} ${lockFree}`
        if (locked.length === 0) return
        yield* sql`update ${sessions} set owner = null where owner = ${id}`
        yield* sql`delete from ${processes} where id = ${id}`
      }))
    }
    deadBefore = new Set(dead.map(({ id }) => id))
  })

  return Effect.gen(function*() {
    for (
      const batch of [
        endedStreams,
        expiredSessions,
        tooManySessions,
        orphanedStreams,
        tooManyEventsOfPrincipals,
        tooManyEvents,
        expired(usedStates),
        expired(rates),
        tooManyRates
      ]
    ) {
      yield* inBatches(batch)
    }
    yield* deadProcesses
  })
}
