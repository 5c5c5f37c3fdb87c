/** The store of Effect's rate limiter, in a database. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import type * as Statement from "effect/sql/Statement"
import * as AdaptiveRate from "../AdaptiveRate.ts"
import * as Digest from "../Digest.ts"
import { trust } from "../trust.ts"
import type { Database } from "./Database.ts"

type Store = RateLimiter.RateLimiterStore["Service"]

const failing = Effect.mapError((cause: unknown) =>
  new RateLimiter.RateLimiterError({
    reason: new RateLimiter.RateLimitStoreError({ message: "the store of rates failed", cause })
  })
)

/** A row of the table after a use. */
interface Used {
  readonly at: number
  readonly result: number
  readonly now: number
}

/**
 * Makes a store of rates. Each use of a fixed window or of a bucket is one statement, by the clock of the database, so
 * that the processes of a server need not agree on the time.
 */
export const make = ({ atomic, dialect, greatest, least, now, sql, table }: Database): Store => {
  const rates = table("rates")

  /**
   * Stores the first use of a key, or updates its row `r`, in one statement.
   */
  const upsert = (
    id: string,
    [value, at, result, expiresAt]: readonly [number, Statement.Fragment, number, Statement.Fragment],
    update: Statement.Fragment
  ): Effect.Effect<Used, RateLimiter.RateLimiterError> =>
    failing(Effect.flatMap(
      sql<Used>`insert into ${rates} as r (id, value, at, result, expires_at)
        values (${Digest.of(id)}, ${value}, ${at}, ${result}, ${expiresAt})
        on conflict (id) do update set (value, at, result, expires_at) = (${update})
        returning at, result, ${now} as now`,
      ([row]) => row === undefined ? Effect.die(new Error("an upsert returned no row")) : Effect.succeed(row)
    ))

  /** Returns a number with its type, which PostgreSQL cannot derive in a subquery. */
  const number = (value: number) => sql`cast(${value} as double precision)`

  const changed = <A>(
    key: string,
    change: (state: AdaptiveRate.State | undefined, now: number) => readonly [A, AdaptiveRate.State | undefined]
  ): Effect.Effect<A, RateLimiter.RateLimiterError> => {
    const id = Digest.of(`adaptive ${key}`)
    return failing(atomic(Effect.gen(function*() {
      const [row] = yield* sql<{ readonly state: string; readonly now: number }>`
        select state, ${now} as now from ${rates} where id = ${id} ${sql.literal(dialect.lock)}`
      const time = row?.now ?? (yield* sql<{ readonly now: number }>`select ${now} as now`)[0]?.now ?? 0
      // This module wrote the text.
      const state = row === undefined ? undefined : trust<AdaptiveRate.State>(JSON.parse(row.state))
      const [result, next] = change(state, time)
      if (next === undefined || next === state) return result
      const columns = { state: JSON.stringify(next), expires_at: next.expiresAt }
      yield* sql`insert into ${rates} ${sql.insert({ id, value: 0, at: time, result: 0, ...columns })}
        on conflict (id) do update set ${sql.update(columns)}`
      return result
    })))
  }

  return {
    fixedWindow: ({ key, limit, refillRate, tokens }) => {
      const taken = number(tokens)
      const rate = number(Duration.toMillis(refillRate))
      const isAllowed = limit ? sql`count + ${taken} <= ${number(limit)}` : sql.literal("1 = 1")
      const fits = !limit || tokens <= limit
      const millis = fits ? Duration.toMillis(refillRate) * tokens : 0
      const end = sql`${now} + ${millis}`
      return Effect.map(
        upsert(
          `fixed ${key}`,
          [fits ? tokens : 0, end, tokens, end],
          sql`select case when ${isAllowed} then count + ${taken} else count end,
              case when ${isAllowed} then until + ${rate} * ${taken} else until end,
              count + ${taken},
              case when ${isAllowed} then until + ${rate} * ${taken} else until end
            from (
              select case when r.at <= ${now} then 0 else r.value end as count,
                case when r.at <= ${now} then ${now} else r.at end as until
            ) as window_of_key`
        ),
        ({ at, now, result }) => [result, Math.max(0, at - now)] as const
      )
    },
    tokenBucket: ({ allowOverflow, key, limit, refillRate, tokens }) => {
      const millis = Duration.toMillis(refillRate)
      const [taken, most, rate] = [number(tokens), number(limit), number(millis)]
      const left = limit - tokens
      const isTaken = allowOverflow ? sql.literal("1 = 1") : sql`available >= ${taken}`
      return Effect.map(
        upsert(
          `bucket ${key}`,
          [allowOverflow || left >= 0 ? left : limit, now, left, sql`${now} + ${Math.max(limit, tokens) * millis}`],
          sql`select case when ${isTaken} then available - ${taken} else available end,
              case when available >= ${most} then excluded.at else r.at + gained * ${rate} end,
              available - ${taken},
              excluded.at + ${rate} * ${greatest}(${most}, ${most} - available + ${taken})
            from (
              select ${least}(${most}, r.value + gained) as available, gained
              from (select floor(${greatest}(excluded.at - r.at, 0) / ${rate}) as gained) as refilled
            ) as bucket`
        ),
        ({ at, now, result }) => [result, Math.max(0, now - at)] as const
      )
    },
    adaptiveConsume: (options) => changed(options.key, (state, now) => AdaptiveRate.consume(state, options, now)),
    adaptiveFeedback: (options) =>
      changed(options.key, (state, now) => [undefined, AdaptiveRate.answered(state, options, now)])
  }
}
