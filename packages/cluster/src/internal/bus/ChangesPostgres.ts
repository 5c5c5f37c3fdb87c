/** The channel of changes in PostgreSQL: `LISTEN` and `NOTIFY`. */
import type * as ChangeBus from "@effect-mcp/session/ChangeBus"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import { trust } from "../trust.ts"

/** Listens until the scope closes. */
interface Listener {
  readonly listen: (
    channel: string
  ) => Effect.Effect<Queue.Dequeue<{ readonly payload: string }, SqlError.SqlError>, SqlError.SqlError, Scope.Scope>
}

/** A connection of the pool. Not all releases of `@effect/sql-pg` have the member. */
interface Reserved {
  readonly connection?: Listener & { readonly query: (sql: string) => Effect.Effect<unknown, SqlError.SqlError> }
}

/** The members of `PgClient` that the channel uses. Its package is not imported, because only some programs need it. */
export interface PgClient extends Listener {
  readonly config: { readonly maxConnections?: number | undefined }
  readonly reserve: Effect.Effect<Reserved, SqlError.SqlError, Scope.Scope>
  readonly notify: (channel: string, payload: string) => Effect.Effect<void, SqlError.SqlError>
}

/** The most bytes of a payload. */
const messageBytes = 7_999

/** The time in which a connection answers that has not fallen silent, in milliseconds. */
const answerMillis = 1_000

/** Returns the client of PostgreSQL that an `SqlClient` is, or `undefined`. */
export const clientOf = (sql: SqlClient.SqlClient): PgClient | undefined =>
  // The client of `@effect/sql-pg` has this member, and the others of the type.
  "~@effect/sql-pg/PgClient" in sql ? trust<PgClient>(sql) : undefined

/** Returns the connection to a channel. A listener holds one connection of the pool as long as it receives. */
export const connection = (client: PgClient, channel: string): ChangeBus.ChangeConnection => ({
  messageBytes,
  // A connection that was cut without a packet looks like one on which nothing happens.
  probeInterval: "10 seconds",
  receive: ({ onMessage, onOpen }) =>
    Effect.scoped(Effect.gen(function*() {
      if (client.config.maxConnections === 1) {
        // Every other statement would wait for the listener.
        return yield* Effect.fail(
          new Error("the changes need a connection of the pool; set maxConnections to 2 or more")
        )
      }
      const reservation = yield* Scope.fork(yield* Effect.scope)
      const { connection } = yield* Scope.provide(client.reserve, reservation)
      // The listener of the client takes a connection of its own.
      if (connection === undefined) yield* Scope.close(reservation, Exit.void)
      const queue = yield* (connection ?? client).listen(channel)
      if (connection !== undefined) {
        // The listener ends with an UNLISTEN, which waits for ever on a connection that has fallen silent, and with it
        // the end of the pool. A query that is interrupted closes such a connection.
        const answer = Effect.timeout(Effect.interruptible(connection.query("select 1")), answerMillis)
        yield* Effect.addFinalizer(() => Effect.ignoreCause(answer))
      }
      onOpen()
      return yield* Effect.forever(Effect.map(Queue.takeAll(queue), (notifications) => {
        for (const { payload } of notifications) onMessage(payload)
      }))
    })),
  send: (text) => client.notify(channel, text)
})
