/** The states that clients have used, in a database. */
import { LeastRecentlyUsed, monotonicMillis } from "@effect-mcp/session/internal"
import * as UsedStates from "@effect-mcp/session/UsedStates"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Digest from "../Digest.ts"
import * as Principal from "../Principal.ts"
import type { Database } from "./Database.ts"

/** The time for which a count of all states holds, and that of one principal: counting costs more than storing. */
const totalMillis = 10_000
const ownMillis = 1_000

/** The principals whose states this process has counted. */
const maxPrincipals = 1_000

/** A number of states, and when this process counted them. It has added its own ones since. */
interface Count {
  states: number
  readonly at: number
}

/**
 * Makes a store of used states. Storing one takes one statement. States are counted from time to time, so the processes
 * together may store somewhat more than `capacity`.
 */
export const make = (
  { now, sql, table }: Database,
  capacity: number
): UsedStates.UsedStates => {
  const states = table("used_states")
  const owns = LeastRecentlyUsed.make<Count>({ size: maxPrincipals, weight: maxPrincipals })
  let total: Count = { states: 0, at: Number.NEGATIVE_INFINITY }

  const totalAt = Effect.fnUntraced(function*(at: number) {
    if (at - total.at >= totalMillis) {
      const [row] = yield* sql<{ readonly states: number | string }>`
        select count(*) as states from ${states} where expires_at > ${now}`
      total = { states: Number(row?.states ?? 0), at }
    }
    return total
  })

  const ownAt = Effect.fnUntraced(function*(principal: string, at: number) {
    const known = owns.get(principal)
    if (known !== undefined && at - known.at < ownMillis) return known
    const [row] = yield* sql<{ readonly states: number | string }>`
      select count(*) as states from ${states} where principal = ${principal} and expires_at > ${now}`
    const own = { states: Number(row?.states ?? 0), at }
    owns.set(principal, own, 1)
    return own
  })

  const use = Effect.fnUntraced(function*(id: string, expiresAt: number, principal: string) {
    const clock = yield* Clock.Clock
    const at = monotonicMillis(clock)
    const all = yield* totalAt(at)
    // A principal that has less than half of the room has less than is left.
    const own = all.states < capacity / 2 ? undefined : yield* ownAt(principal, at)
    if (own !== undefined && own.states >= capacity - all.states) {
      const problem = `about ${all.states} of ${capacity} states are stored already, ${own.states} of them of this ` +
        `principal; set usedStates.capacity to allow more`
      return yield* Effect.fail(new Error(problem))
    }
    // A state expires by the clock of the process that checks it, so the database gets the time that is left. By the
    // process's own time, a database whose clock is ahead would forget states that are still accepted.
    const left = expiresAt - clock.currentTimeMillisUnsafe()
    const stored = yield* sql`insert into ${states} (id, principal, expires_at)
      values (${Digest.of(id)}, ${principal}, ${now} + cast(${left} as double precision))
      on conflict (id) do nothing returning id`
    if (stored.length === 0) return false
    all.states++
    if (own !== undefined) own.states++
    return true
  })

  return {
    use: (id, expiresAt, principal) =>
      Effect.mapError(
        use(id, Math.min(expiresAt, Number.MAX_SAFE_INTEGER), Principal.keyOf(principal)),
        (cause) => new UsedStates.UsedStatesError({ cause })
      )
  }
}
