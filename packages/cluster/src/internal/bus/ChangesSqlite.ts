/** The channel of changes in SQLite: a table that every process reads a few times a second. */
import type * as ChangeBus from "@effect-mcp/session/ChangeBus"
import * as Effect from "effect/Effect"
import type { Database } from "../sql/Database.ts"

/** The time between two queries, in milliseconds. */
const pollMillis = 250

/** The time after which a query fails, in milliseconds. A transaction of the same client may hold the connection. */
const timeoutMillis = 10_000

/** The time for which a message is kept, in milliseconds. A process that was stopped for longer learns of a gap. */
const keptMillis = 60_000

/** The number of messages that are kept. */
const maxMessages = 10_000

/** The number of messages of this process after which old ones are deleted. */
const sweepInterval = 100

/** The number of messages of one query. */
const pageSize = 200

const messageBytes = 8_000

interface Row {
  readonly number: number
  readonly message: string
}

/**
 * Returns the connection to the table `changes`. Its numbers have no holes: a reader that does not find the next one
 * has missed messages. The newest message is never deleted, so that a reader sees that there were others.
 */
export const connection = ({ now, sql, table }: Database): ChangeBus.ChangeConnection => {
  const changes = table("changes")
  let sent = 0

  const newest = Effect.map(
    sql<{ readonly number: number | null }>`select max(number) as number from ${changes}`,
    ([row]) => row?.number ?? 0
  )

  const sweep = Effect.flatMap(
    newest,
    (last) =>
      sql`delete from ${changes} where number < ${last} and (at < ${now} - ${keptMillis} or number <= ${
        last - maxMessages
      })`
  )

  /** Delivers the messages after a number, and returns the number of the last one. */
  const deliver = (
    { onGap, onMessage }: ChangeBus.ChangeReceiver,
    after: number
  ) =>
    Effect.gen(function*() {
      const last = yield* newest
      if (last === after) return after
      // The table was made anew.
      if (last < after) onGap()
      const from = last < after ? 0 : after
      const rows = yield* sql<Row>`select number, message from ${changes} where number > ${from}
        order by number limit ${pageSize}`
      if (rows[0] !== undefined && rows[0].number > from + 1) onGap()
      for (const { message } of rows) onMessage(message)
      return rows.at(-1)?.number ?? last
    })

  return {
    messageBytes,
    receive: (receiver) =>
      Effect.gen(function*() {
        let position = yield* newest
        receiver.onOpen()
        while (true) {
          yield* Effect.sleep(pollMillis)
          position = yield* Effect.timeout(deliver(receiver, position), timeoutMillis)
        }
      }),
    send: (text) =>
      Effect.gen(function*() {
        yield* sql`insert into ${changes} (at, message) values (${now}, ${text})`
        sent++
        if (sent % sweepInterval === 0) yield* sweep
      })
  }
}
