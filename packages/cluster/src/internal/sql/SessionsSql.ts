/** The sessions of hosts, in a database. */
import { ExactJson } from "@effect-mcp/protocol"
import * as SessionStore from "@effect-mcp/session/SessionStore"
import { SupersededError } from "@effect-mcp/session/SupersededError"
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import * as Digest from "../Digest.ts"
import * as Principal from "../Principal.ts"
import { trust } from "../trust.ts"
import type { Database } from "./Database.ts"
import * as PrincipalRows from "./PrincipalRows.ts"
import * as SessionRows from "./SessionRows.ts"

/** The limits that a write checks. A sweep checks those of the whole store. */
export interface Limits {
  readonly maxSessionsPerPrincipal: number
  readonly idleMillis: number
  /** The time of a lease. */
  readonly leaseMillis: number
}

interface Row {
  readonly session: string
  readonly epoch: number
  readonly used_at: number
}

type StoreError = SqlError.SqlError | SupersededError | Error

const failing = Effect.mapError((cause: StoreError) =>
  cause instanceof SupersededError ? cause : new SessionStore.SessionStoreError({ cause })
)

/**
 * Makes a store of sessions. Each write is one statement, which compares the epochs. `create` needs further ones if the
 * principal has too many sessions. A session is stored for its time after its last use, and while a process may serve
 * it. `save` and `touch` are used by a process that serves it, and begin that time again also if it is over.
 */
export const make = (
  database: Database,
  { idleMillis, leaseMillis, maxSessionsPerPrincipal }: Limits
): SessionStore.SessionStore["Service"] => {
  const { greatest, now, sql, table } = database
  const sessions = table("sessions")
  const keptUntil = idleMillis === Number.POSITIVE_INFINITY
    ? sql.literal("cast(null as double precision)")
    : sql`${now} + ${idleMillis}`
  const mayBeServed = SessionRows.mayBeServed(database, leaseMillis)

  /** The id is not part of the text: it is a secret, and a reader of the database must not get it. */
  const columnsOf = ({ epoch, id, usedAt, ...rest }: SessionStore.StoredSession) => {
    const session = JSON.stringify(rest)
    return {
      id: Digest.of(id),
      principal: Principal.keyOf(rest.principal),
      session,
      bytes: 2 * session.length,
      epoch,
      usedAt
    }
  }

  type Columns = ReturnType<typeof columnsOf>

  const insert = ({ bytes, epoch, id, principal, session, usedAt }: Columns) => {
    // A session that is stored already needs no room.
    const hasRoom = principal === "" || maxSessionsPerPrincipal === Number.POSITIVE_INFINITY ?
      sql.literal("1 = 1") :
      sql`(
      select count(*) from (
        select 1 from ${sessions}
        where principal = ${principal} and id <> ${id} limit ${maxSessionsPerPrincipal}
      ) as own
    ) < ${maxSessionsPerPrincipal}`
    return sql`
      insert into ${sessions} as s (id, principal, bytes, session, epoch, used_at, kept_until)
      select cast(${id} as text), cast(${principal} as text), cast(${bytes} as double precision),
        cast(${session} as text), cast(${epoch} as double precision), cast(${usedAt} as double precision), ${keptUntil}
      where ${hasRoom}
      on conflict (id) do update set
        principal = excluded.principal, bytes = excluded.bytes, session = excluded.session, epoch = excluded.epoch,
        used_at = excluded.used_at, kept_until = excluded.kept_until
      where s.epoch <= excluded.epoch
      returning id`
  }

  /** Deletes a principal's least recently used session that no process may serve. Returns whether there was one. */
  const makeRoom = (principal: string) =>
    Effect.map(
      sql`delete from ${sessions} where id in (
          select id from ${sessions} as s
          where principal = ${principal} and session is not null and not ${mayBeServed}
          order by used_at limit 1
        ) returning id`,
      (rows) => rows.length > 0
    )

  const create = (columns: Columns): Effect.Effect<void, StoreError> =>
    Effect.gen(function*() {
      if ((yield* insert(columns)).length > 0) return
      yield* SessionRows.unwritten(database, columns.id, columns.epoch)
      if (yield* makeRoom(columns.principal)) return yield* create(columns)
      const problem = `${maxSessionsPerPrincipal} sessions of this principal are stored and in use; set ` +
        `sessions.maxSessionsPerPrincipal to allow more`
      return yield* Effect.fail(new Error(problem))
    })

  /** Runs a write of one statement, which returns the rows that it has changed. */
  const write = (id: string, epoch: number, statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>) =>
    failing(Effect.flatMap(
      statement,
      (rows) => rows.length > 0 ? Effect.void : SessionRows.unwritten(database, id, epoch)
    ))

  return {
    create: (session) => Effect.suspend(() => failing(create(columnsOf(session)))),
    save: (session) =>
      Effect.suspend(() => {
        const { bytes, epoch, id, principal, session: text, usedAt } = columnsOf(session)
        return write(
          id,
          epoch,
          sql`update ${sessions} set principal = ${principal}, bytes = ${bytes}, session = ${text}, epoch = ${epoch},
              used_at = ${usedAt}, kept_until = ${keptUntil}
            where id = ${id} and epoch <= ${epoch} and session is not null returning id`
        )
      }),
    load: (id) =>
      Effect.mapError(
        Effect.map(
          sql<Row>`select session, epoch, used_at from ${sessions} as s
            where id = ${Digest.of(id)} and session is not null
              and (kept_until is null or kept_until > ${now} or ${mayBeServed})`,
          ([row]) =>
            row && {
              // This module wrote the text.
              ...trust<Omit<SessionStore.StoredSession, "epoch" | "id" | "usedAt">>(ExactJson.parse(row.session)),
              id,
              epoch: row.epoch,
              usedAt: row.used_at
            }
        ),
        (cause) => new SessionStore.SessionStoreError({ cause })
      ),
    touch: (id, epoch, usedAt) =>
      Effect.suspend(() => {
        const key = Digest.of(id)
        return write(
          key,
          epoch,
          sql`update ${sessions} set
              used_at = ${greatest}(used_at, cast(${usedAt} as double precision)), kept_until = ${keptUntil}
            where id = ${key} and epoch <= ${epoch} and session is not null returning id`
        )
      }),
    remove: (id, epoch) =>
      Effect.suspend(() => {
        const key = Digest.of(id)
        return write(
          key,
          epoch,
          sql`delete from ${sessions} where id = ${key} and epoch <= ${epoch} returning id`
        )
      }),
    removeAllOf: (principal) =>
      Effect.mapError(
        PrincipalRows.removeAll(database, principal),
        (cause) => new SessionStore.SessionStoreError({ cause })
      )
  }
}
