/** The rows of the sessions of one principal. */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import * as Principal from "../Principal.ts"
import type { Database } from "./Database.ts"

/** The most rows that one statement deletes. */
const batchSize = 500

/**
 * Deletes the stored sessions of a principal, with their owners and epochs: a process that has a copy of one finds out
 * by its next look, and no process can claim it. In the order of the ids, so that two deletions do not wait for each
 * other.
 */
export const removeAll = (
  { isPg, sql, table }: Database,
  principal: string
): Effect.Effect<void, SqlError.SqlError> => {
  const sessions = table("sessions")
  const lock = sql.literal(isPg ? "for update" : "")
  const remove = sql`delete from ${sessions} where id in (
      select id from ${sessions} where principal = ${Principal.keyOf(principal)} order by id limit ${batchSize} ${lock}
    ) returning id`
  const rest: Effect.Effect<void, SqlError.SqlError> = Effect.flatMap(
    remove,
    (rows) => rows.length < batchSize ? Effect.void : rest
  )
  return rest
}
