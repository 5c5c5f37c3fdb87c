/** The events of streams, in a database. */
import type { RequestId } from "@effect-mcp/protocol"
import * as EventStore from "@effect-mcp/session/EventStore"
import { endedStream, webCrypto } from "@effect-mcp/session/internal"
import { SupersededError } from "@effect-mcp/session/SupersededError"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import type * as SqlError from "effect/sql/SqlError"
import * as Digest from "../Digest.ts"
import { trust } from "../trust.ts"
import type { Database } from "./Database.ts"
import * as SessionRows from "./SessionRows.ts"
import * as Streams from "./Streams.ts"

/** The limits that a write checks. A sweep checks those of principals and of the whole store. */
export interface Limits {
  readonly maxEventsPerStream: number
  readonly maxBytesPerStream: number
  readonly maxBytesPerSession: number
  readonly endedStreamMillis: number
}

interface EventRow {
  readonly number: number
  readonly data: string
}

interface StreamRow {
  readonly stream: string
  readonly ended_at: number | null
}

interface UnendedRow {
  readonly stream: string
  readonly name: string
  readonly requests: string
  readonly number: number
  readonly data: string
}

/** The state of a stream, for the one that makes room. */
interface Room {
  readonly session: string
  readonly stream: string
  readonly name: string
  readonly first: number
  readonly next: number
  readonly cut: number
  readonly total: number
}

type StoreError = SqlError.SqlError | SupersededError | Error

const failing = Effect.mapError((cause: StoreError) =>
  cause instanceof SupersededError ? cause : new EventStore.EventStoreError({ cause })
)

/** Returns a name that no other stream has. It begins the ids of the events of a stream. */
const newName = () => Base64Url.encode(webCrypto.randomBytes(12))

const idOf = (name: string, number: number): string => `${name}.${number}`

/** Returns the stream and the number of an event. */
const parsed = (id: string): { readonly name: string; readonly number: number } | undefined => {
  const [, name, number] = /^([\w-]{16})\.([1-9]\d{0,14})$/.exec(id) ?? []
  return name === undefined || number === undefined ? undefined : { name, number: Number(number) }
}

/** Returns the part of a limit to which a full stream or session is cut, so that not each event makes room. */
const reduced = (limit: number): number => Number.isFinite(limit) ? limit - Math.floor(limit / 8) : limit

/**
 * Makes a store of events. To append an event is one statement with PostgreSQL, as long as there is room. If there is
 * none, further ones delete an eighth of the events. They delete what is over the limit, so they need no epoch.
 */
export const make = (database: Database, limits: Limits): EventStore.EventStore["Service"] => {
  const { now, sql, table } = database
  const streams = table("streams")
  const events = table("events")
  const statements = Streams.make(database)
  const isStored = limits.endedStreamMillis === Number.POSITIVE_INFINITY
    ? sql.literal("1 = 1")
    : sql`(ended_at is null or ended_at > ${now} - ${limits.endedStreamMillis})`

  /** Returns the number of the last event to delete from a stream, so that this many bytes are left. */
  const lastOver = ({ cut, name, total }: Room, keptBytes: number) =>
    total - cut <= keptBytes ? Effect.succeed(0) : Effect.map(
      sql<{ readonly number: number | null }>`
        select min(number) as number from ${events} where name = ${name} and total >= ${total - keptBytes}`,
      ([row]) => row?.number ?? 0
    )

  /** Deletes the oldest events of a stream, so that this many events and bytes are left, and the newest in any case. */
  const shorten = Effect.fnUntraced(function*(room: Room, keptEvents: number, keptBytes: number) {
    const { name, next, session, stream } = room
    const last = Math.min(next - 2, Math.max(next - 1 - keptEvents, yield* lastOver(room, keptBytes)))
    if (last < 1) return
    yield* sql`update ${streams} set
        first = ${last + 1},
        cut = (select total from ${events} where name = ${name} and number = ${last})
      where session = ${session} and stream = ${stream} and name = ${name} and first <= ${last}
        and exists (select 1 from ${events} where name = ${name} and number = ${last})`
    yield* sql`delete from ${events} where name = ${name} and number <= ${last}`
  })

  /**
   * Deletes events of the streams of a session that were least recently used, so that this many bytes are free. Keeps
   * the newest event of the stream that was used last.
   */
  const freeSession = Effect.fnUntraced(function*(session: string, excess: number) {
    const all = yield* sql<Room>`
      select session, stream, name, first, next, total, cut from ${streams} where session = ${session}
      order by used_at, name`
    let left = excess
    for (const [index, room] of all.entries()) {
      if (left <= 0) return
      const bytes = room.total - room.cut + Streams.streamBytes
      const isLast = index === all.length - 1
      if (isLast || (bytes > left && room.next - room.first > 1)) {
        return yield* shorten(room, Number.POSITIVE_INFINITY, Math.max(0, room.total - room.cut - left))
      }
      yield* statements.remove(sql`session = ${session} and name = ${room.name}`)
      left -= bytes
    }
  })

  const append = Effect.fnUntraced(function*(
    { epoch, requests, session, stream }: EventStore.WrittenStream,
    data: string
  ) {
    const key = Digest.of(session)
    const row = yield* statements.append({
      session: key,
      stream,
      epoch,
      data,
      bytes: Streams.eventBytes + 2 * data.length,
      name: newName(),
      requests: JSON.stringify(requests)
    })
    if (row === undefined) return yield* Effect.fail(endedStream(stream))
    const bytes = row.total - row.cut
    const { maxBytesPerSession, maxBytesPerStream, maxEventsPerStream } = limits
    if (row.next - row.first > maxEventsPerStream || bytes > maxBytesPerStream) {
      yield* shorten({ ...row, session: key, stream }, reduced(maxEventsPerStream), reduced(maxBytesPerStream))
    }
    const sum = row.others + bytes + Streams.streamBytes
    if (sum > maxBytesPerSession) yield* freeSession(key, sum - reduced(maxBytesPerSession))
    return idOf(row.name, row.next - 1)
  })

  const replay = Effect.fnUntraced(function*(session: string, after: string) {
    const known = parsed(after)
    if (known === undefined) return undefined
    const { name, number } = known
    const [stream] = yield* sql<StreamRow>`update ${streams} set used_at = ${now}
      where session = ${session} and name = ${name} and first <= ${number} and ${isStored} returning stream, ended_at`
    if (stream === undefined) return undefined
    const rows = yield* sql<EventRow>`
      select number, data from ${events} where name = ${name} and number >= ${number} order by number`
    // The event may have made room for others since the first statement.
    if (rows[0]?.number !== number) return undefined
    return {
      stream: stream.stream,
      events: rows.slice(1).map((row) => ({ id: idOf(name, row.number), data: row.data })),
      ended: stream.ended_at !== null
    }
  })

  const takeOver = Effect.fnUntraced(function*(session: string, epoch: number) {
    yield* SessionRows.raise(database, session, epoch)
    // No earlier owner appends from here on, so these are all events.
    const rows = yield* sql<UnendedRow>`
      select t.stream as stream, t.name as name, t.requests as requests, e.number as number, e.data as data
      from ${streams} as t join ${events} as e on e.name = t.name and e.number >= t.first
      where t.session = ${session} and t.ended_at is null
      order by t.name, e.number`
    const unended = new Map<string, EventStore.UnendedStream & { readonly events: Array<EventStore.StoredEvent> }>()
    for (const { data, name, number, requests, stream } of rows) {
      let known = unended.get(name)
      if (known === undefined) {
        // This module wrote the text.
        known = { stream, requests: trust<ReadonlyArray<RequestId.RequestId>>(JSON.parse(requests)), events: [] }
        unended.set(name, known)
      }
      known.events.push({ id: idOf(name, number), data })
    }
    return Array.from(unended.values())
  })

  return {
    append: (stream, data) => failing(append(stream, data)),
    replay: (session, after) =>
      Effect.mapError(
        replay(Digest.of(session), after),
        (cause) => new EventStore.EventStoreError({ cause })
      ),
    end: ({ epoch, session, stream }) =>
      Effect.suspend(() => {
        const key = Digest.of(session)
        return failing(statements.update(
          key,
          epoch,
          sql`update ${streams} set ended_at = ${now}
            where session = ${key} and stream = ${stream} and ended_at is null`
        ))
      }),
    takeOver: (session, epoch) => failing(takeOver(Digest.of(session), epoch)),
    drop: (session, epoch) => failing(statements.drop(Digest.of(session), epoch))
  }
}
