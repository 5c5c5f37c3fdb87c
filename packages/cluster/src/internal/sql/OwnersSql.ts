/** The owners of sessions, in a database. */
import * as SessionOwners from "@effect-mcp/session/SessionOwners"
import * as Effect from "effect/Effect"
import * as Digest from "../Digest.ts"
import type { Database } from "./Database.ts"
import * as SessionRows from "./SessionRows.ts"

const failing = Effect.mapError((cause: unknown) => new SessionOwners.SessionOwnersError({ cause }))

interface Located {
  readonly epoch: number
  readonly owner: string | null
  readonly address: string | null
}

/**
 * Makes a store of owners. Each operation is one statement, so a process that is paused in the middle of one holds no
 * lock.
 *
 * A process whose lease is over may renew it while another one claims its session. The claim locks the row of the
 * owner. Either the renewal comes first, and the claim is refused, or it comes later, and the owner learns that the
 * session is lost. So the row of a process stays when its lease is over. A sweep that deletes it after an hour locks it
 * as well, and frees its sessions in the same transaction.
 */
export const make = ({ dialect, now, sql, table }: Database): SessionOwners.OwnerStore => {
  const processes = table("processes")
  const sessions = table("sessions")
  const shared = sql.literal(dialect.lockShared)

  /** Creates the row of a new session. */
  const open = (id: string, process: string) =>
    sql<{ readonly epoch: number }>`
      insert into ${sessions} (id, principal, bytes, owner, epoch, used_at, kept_until)
      select ${id}, '', 0, cast(${process} as text), 1, ${now}, ${now} + ${SessionRows.unstoredMillis}
      where exists (select 1 from ${processes} where id = ${process} and expires_at > ${now})
      on conflict (id) do nothing
      returning epoch`

  const take = (id: string, epoch: number, { millis, process }: SessionOwners.ProcessLease) =>
    sql<{ readonly epoch: number }>`
      with
        known as (select owner from ${sessions} where id = ${id} and epoch = ${epoch}),
        other as (
          select expires_at from ${processes}
          where id = (select owner from known where owner <> ${process}) ${shared}
        ),
        own as (select since from ${processes} where id = ${process} and expires_at > ${now})
      update ${sessions} set owner = ${process}, epoch = ${epoch + 1}
      where id = ${id} and epoch = ${epoch}
        and exists (select 1 from own)
        and not exists (select 1 from other where expires_at > ${now})
        and (
          not exists (select 1 from known where owner <> ${process})
          or exists (select 1 from own where since + ${millis} <= ${now})
        )
      returning epoch`

  return {
    renew: ({ address, millis, process }) =>
      failing(Effect.map(
        sql<{ readonly renewals: number }>`
          insert into ${processes} as p (id, address, since, renewals, expires_at)
          values (${process}, ${address}, ${now}, 0, ${now} + ${millis})
          on conflict (id) do update set
            address = excluded.address,
            since = case when p.expires_at > excluded.since then p.since else excluded.since end,
            renewals = case when p.expires_at > excluded.since then p.renewals + 1 else 0 end,
            expires_at = excluded.expires_at
          returning renewals`,
        ([row]) => row !== undefined && row.renewals > 0
      )),
    retire: (process) => failing(Effect.asVoid(sql`update ${processes} set expires_at = 0 where id = ${process}`)),
    locate: (session) =>
      failing(Effect.map(
        sql<Located>`
          select s.epoch as epoch, s.owner as owner, p.address as address
          from ${sessions} as s left join ${processes} as p on p.id = s.owner and p.expires_at > ${now}
          where s.id = ${Digest.of(session)}`,
        ([row]): SessionOwners.Location => {
          if (row === undefined) return { _tag: "Unknown" }
          const { address, epoch, owner } = row
          return owner === null || address === null
            ? { _tag: "Free", epoch }
            : { _tag: "Owned", epoch, process: owner, address }
        }
      )),
    claim: (session, epoch, lease) =>
      failing(Effect.map(
        epoch === 0 ? open(Digest.of(session), lease.process) : take(Digest.of(session), epoch, lease),
        ([row]) => row?.epoch
      )),
    release: (session, epoch) =>
      failing(Effect.asVoid(
        sql`update ${sessions} set owner = null where id = ${Digest.of(session)} and epoch = ${epoch}`
      )),
    remove: (session, epoch) =>
      failing(Effect.asVoid(sql`delete from ${sessions} where id = ${Digest.of(session)} and epoch = ${epoch}`)),
    lost: (process, claimed) =>
      claimed.length === 0 ? Effect.succeed([]) : failing(Effect.map(
        sql<{ readonly id: string; readonly epoch: number }>`
          select id, epoch from ${sessions}
          where owner = ${process} and ${sql.in("id", claimed.map(({ session }) => Digest.of(session)))}`,
        (rows) => {
          const epochs = new Map(rows.map(({ epoch, id }) => [id, epoch]))
          return claimed.filter(({ epoch, session }) => epochs.get(Digest.of(session)) !== epoch)
            .map(({ session }) => session)
        }
      ))
  }
}
