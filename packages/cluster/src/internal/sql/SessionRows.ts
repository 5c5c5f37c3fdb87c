/** The rows of sessions, whose epochs fence the writes of all stores. */
import { SupersededError } from "@effect-mcp/session/SupersededError"
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import type { Database } from "./Database.ts"

/**
 * The time for which a row is kept that has an epoch, and neither a session nor an owner. Its session may just be
 * created. A write that the database executes after its session was deleted leaves such a row.
 */
export const unstoredMillis = 60_000

/**
 * Returns the condition that a process may serve a session, whose row is `s`. Its lease stands, or it may return after
 * an outage: it has not retired, and no lease has stood for the time of one lease. All leases are over after an outage.
 * Without that, the first process that returns would delete sessions that others serve.
 */
export const mayBeServed = ({ now, sql, table }: Database, leaseMillis: number): Statement.Fragment =>
  sql`exists (
    select 1 from ${table("processes")} as p where p.id = s.owner and (p.expires_at > ${now} or p.expires_at > 0
      and not exists (
        select 1 from ${table("processes")} as o where o.expires_at > ${now} and o.since + ${leaseMillis} <= ${now}
      ))
  )`

/**
 * Ends a write that changed no row: fails if the session has a later epoch. Otherwise the session is unknown, and there
 * was nothing to write.
 */
export const unwritten = (
  { sql, table }: Database,
  id: string,
  epoch: number
): Effect.Effect<void, SqlError.SqlError | SupersededError> =>
  Effect.flatMap(
    sql<{ readonly epoch: number }>`select epoch from ${table("sessions")} where id = ${id}`,
    ([row]) => row !== undefined && row.epoch > epoch ? Effect.fail(new SupersededError({ epoch })) : Effect.void
  )

/**
 * Stores the epoch of a write if it is the latest one, so that writes of earlier epochs fail from then on. Waits for
 * such writes that are in progress. A session that is unknown gets a row.
 */
export const raise = (
  { now, sql, table }: Database,
  id: string,
  epoch: number
): Effect.Effect<void, SqlError.SqlError | SupersededError> =>
  Effect.flatMap(
    sql`insert into ${table("sessions")} as s (id, principal, bytes, epoch, used_at, kept_until)
      values (${id}, '', 0, ${epoch}, ${now}, ${now} + ${unstoredMillis})
      on conflict (id) do update set epoch = excluded.epoch where s.epoch <= excluded.epoch
      returning epoch`,
    (rows) => rows.length === 0 ? Effect.fail(new SupersededError({ epoch })) : Effect.void
  )
