/** The load that idle processes put on their database. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { setTimeout as sleep } from "node:timers/promises"
import type { Service } from "../nemesis/services.ts"
import * as Fleet from "./Fleet.ts"

/** The time after the start, and the time of a measurement. The database updates its counts once a second. */
const settled = 8_000
const measured = 20_000

/** Returns the transactions of a database until now. A query outside of a transaction is one. */
const transactions = (url: string): Promise<number> =>
  PgClient.PgClient.pipe(
    Effect.flatMap((sql) =>
      sql<{ readonly total: string }>`
        select xact_commit + xact_rollback as total from pg_stat_database where datname = current_database()`
    ),
    Effect.map(([row]) => Number(row?.total ?? 0)),
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })),
    Effect.runPromise
  )

/** Returns the queries in a second of some processes that serve nothing. */
export const measure = async (service: Service, judge: Fleet.Judge, count: number): Promise<number> => {
  const url = service.url(service.port)
  const { end } = await Fleet.start(judge, url, count)
  try {
    await sleep(settled)
    const before = await transactions(url)
    const start = performance.now()
    await sleep(measured)
    const after = await transactions(url)
    return (after - before) / (performance.now() - start) * 1000
  } finally {
    await end()
  }
}
