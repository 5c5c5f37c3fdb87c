/** The statements on streams and their events that differ between the dialects. */
import { SupersededError } from "@effect-mcp/session/SupersededError"
import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import type { Database } from "./Database.ts"
import * as SessionRows from "./SessionRows.ts"

/** The approximate bytes of an event without its text, and of a stream without its events. */
export const eventBytes = 64
export const streamBytes = 512

/** An event to append. */
export interface NewEvent {
  readonly session: string
  readonly stream: string
  readonly epoch: number
  readonly data: string
  readonly bytes: number
  /** The name and the requests of the stream, if this is its first event. */
  readonly name: string
  readonly requests: string
}

/** A stream after an event was appended. Numbers and bytes only grow: events that were deleted are before `first`. */
export interface Appended {
  readonly name: string
  /** The number of the oldest event. */
  readonly first: number
  /** The number of the next event. */
  readonly next: number
  /** The bytes of all events before `first`. */
  readonly cut: number
  /** The bytes of all events. */
  readonly total: number
  /** The bytes of the other streams of the session. */
  readonly others: number
}

type Fenced<A> = Effect.Effect<A, SqlError.SqlError | SupersededError>

/** The statements. A write of an earlier epoch than that of the session changes nothing and fails. */
export interface Streams {
  /** Appends an event. Returns `undefined` if the stream has ended. */
  readonly append: (event: NewEvent) => Fenced<Appended | undefined>
  /** Runs an update of streams, unless the session has a later epoch. */
  readonly update: (session: string, epoch: number, change: Statement.Fragment) => Fenced<void>
  /** Deletes the streams of a session, unless the session has a later epoch. */
  readonly drop: (session: string, epoch: number) => Fenced<void>
  /** Deletes streams with their events, and returns the number of streams. */
  readonly remove: (condition: Statement.Fragment) => Effect.Effect<number, SqlError.SqlError>
}

interface Epoch {
  readonly epoch: number
}

/** A stream that was deleted. */
interface Removed {
  readonly name: string
}

/** The parameters of one statement. */
const batchSize = 500

const isAllowed = (rows: ReadonlyArray<Epoch>, epoch: number): Effect.Effect<void, SupersededError> =>
  rows.some((row) => row.epoch > epoch) ? Effect.fail(new SupersededError({ epoch })) : Effect.void

/**
 * Returns the statement that appends an event to its stream, with the columns of {@link Appended} except `others`. It
 * returns no row if the stream has ended.
 */
const toStream = (
  { now, sql, table }: Database,
  { bytes, name, requests, session, stream }: NewEvent,
  source: Statement.Fragment
) =>
  sql`insert into ${table("streams")} as t (session, stream, name, requests, first, next, cut, total, used_at)
    select cast(${session} as text), cast(${stream} as text), cast(${name} as text), cast(${requests} as text),
      1, 2, 0, cast(${bytes} as double precision), ${now} ${source}
    on conflict (session, stream) do update set
      next = t.next + 1, total = t.total + excluded.total, used_at = excluded.used_at
      where t.ended_at is null
    returning name, first, next, cut, total`

/** Deletes the events of streams. */
const removeEvents = ({ sql, table }: Database, names: ReadonlyArray<string>) =>
  Effect.forEach(
    Array.chunksOf(names, batchSize),
    (some) => sql`delete from ${table("events")} where ${sql.in("name", some)}`,
    { discard: true }
  )

/** Returns the query of the bytes of the other streams of a session. */
const othersOf = ({ sql, table }: Database, { session, stream }: NewEvent) =>
  sql`select coalesce(sum(total - cut + ${streamBytes}), 0) as others from ${table("streams")}
    where session = ${session} and stream <> ${stream}`

/**
 * Makes the statements of PostgreSQL. Each operation is one statement: a process that is paused in the middle of a
 * transaction would hold its locks, and the next owner of the session would wait for it. The row of the session is
 * locked against changes of its epoch, so a claim is either before the write, which then changes nothing, or after it.
 */
const makePg = (database: Database): Streams => {
  const { sql, table } = database
  const [sessions, streams, events] = [table("sessions"), table("streams"), table("events")]
  const knownOf = (session: string) => sql`select epoch from ${sessions} where id = ${session} for share`

  const append = (event: NewEvent, attempts = 3): Fenced<Appended | undefined> =>
    Effect.gen(function*() {
      const { data, epoch, session } = event
      const [row] = yield* sql<Epoch & (Appended | { readonly name: null })>`
        with
          known as (${knownOf(session)}),
          written as (${toStream(database, event, sql`from known where known.epoch = ${epoch}`)}),
          stored as (
            insert into ${events} (name, number, total, data)
            select name, next - 1, total, cast(${data} as text) from written
          )
        select known.epoch, written.*, (${othersOf(database, event)}) as others from known left join written on true`
      if (row !== undefined && row.epoch === epoch) return row.name === null ? undefined : row
      yield* isAllowed(row === undefined ? [] : [row], epoch)
      if (attempts <= 1) return yield* Effect.die(new Error("the row of the session changes all the time"))
      // The session is unknown to the store, or its first write of this epoch is this one.
      yield* SessionRows.raise(database, session, epoch)
      return yield* append(event, attempts - 1)
    })

  const fenced = (session: string, epoch: number, changes: Statement.Fragment) =>
    Effect.flatMap(
      sql<Epoch>`with known as (${knownOf(session)}), ${changes} select epoch from known`,
      (rows) => isAllowed(rows, epoch)
    )

  /**
   * Deletes streams, and the events that the statement sees. An append that commits while the statement runs leaves one
   * more, which another statement deletes: from here on, no append finds the stream.
   */
  const gone = (condition: Statement.Fragment) =>
    sql`
      gone as (delete from ${streams} where ${condition} returning name),
      emptied as (delete from ${events} using gone where ${events}.name = gone.name)`

  const isCurrent = (epoch: number) => sql`not exists (select 1 from known where known.epoch > ${epoch})`

  return {
    append,
    update: (session, epoch, change) => fenced(session, epoch, sql`changed as (${change} and ${isCurrent(epoch)})`),
    drop: Effect.fnUntraced(function*(session, epoch) {
      const rows = yield* sql<{ readonly epoch: number | null; readonly name: string | null }>`
        with known as (${knownOf(session)}), ${gone(sql`session = ${session} and ${isCurrent(epoch)}`)}
        select epoch, null as name from known union all select null as epoch, name from gone`
      yield* isAllowed(rows.flatMap((row) => row.epoch === null ? [] : [{ epoch: row.epoch }]), epoch)
      yield* removeEvents(database, rows.flatMap(({ name }) => name === null ? [] : [name]))
    }),
    remove: Effect.fnUntraced(function*(condition) {
      const rows = yield* sql<Removed>`with ${gone(condition)} select name from gone`
      yield* removeEvents(database, rows.map(({ name }) => name))
      return rows.length
    })
  }
}

/** Makes the statements of SQLite, which has one writer at a time. */
const makeSqlite = (database: Database): Streams => {
  const { atomic, sql, table } = database
  const [sessions, streams, events] = [table("sessions"), table("streams"), table("events")]

  const fenced = <A>(
    session: string,
    epoch: number,
    changes: (known: number | undefined) => Effect.Effect<A, SqlError.SqlError | SupersededError>
  ) =>
    atomic(Effect.gen(function*() {
      const rows = yield* sql<Epoch>`select epoch from ${sessions} where id = ${session}`
      yield* isAllowed(rows, epoch)
      return yield* changes(rows[0]?.epoch)
    }))

  // The clock goes on between two statements, so a condition that has it must not be in both.
  const remove = Effect.fnUntraced(function*(condition: Statement.Fragment) {
    const rows = yield* sql<Removed>`delete from ${streams} where ${condition} returning name`
    yield* removeEvents(database, rows.map(({ name }) => name))
    return rows.length
  })

  return {
    append: (event) =>
      fenced(
        event.session,
        event.epoch,
        Effect.fnUntraced(function*(known) {
          if (known !== event.epoch) yield* SessionRows.raise(database, event.session, event.epoch)
          const [row] = yield* sql<Omit<Appended, "others">>`${toStream(database, event, sql`where 1 = 1`)}`
          if (row === undefined) return undefined
          yield* sql`insert into ${events} (name, number, total, data)
            values (${row.name}, ${row.next - 1}, ${row.total}, ${event.data})`
          const [sum] = yield* sql<Pick<Appended, "others">>`${othersOf(database, event)}`
          return { ...row, others: sum?.others ?? 0 }
        })
      ),
    update: (session, epoch, change) => fenced(session, epoch, () => Effect.asVoid(sql`${change}`)),
    drop: (session, epoch) => fenced(session, epoch, () => Effect.asVoid(remove(sql`session = ${session}`))),
    remove: (condition) => atomic(remove(condition))
  }
}

/** Makes the statements for a database. */
export const make = (database: Database): Streams => database.isPg ? makePg(database) : makeSqlite(database)
