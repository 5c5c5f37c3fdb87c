/** The channel of changes in a database: PostgreSQL notifies, and SQLite is asked. */
import type * as ChangeBus from "@effect-mcp/session/ChangeBus"
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import type { StoresError } from "../../StoresError.ts"
import * as Database from "../sql/Database.ts"
import * as ChangesPostgres from "./ChangesPostgres.ts"
import * as ChangesSqlite from "./ChangesSqlite.ts"

/** Returns the connection to the channel of these tables. */
export const connection = (
  database: Database.Database
): Effect.Effect<ChangeBus.ChangeConnection, StoresError, SqlClient.SqlClient> =>
  Effect.gen(function*(): Effect.fn.Return<ChangeBus.ChangeConnection, StoresError, SqlClient.SqlClient> {
    if (!database.isPg) return ChangesSqlite.connection(database)
    // A client without transforms has no members of its own.
    const client = ChangesPostgres.clientOf(yield* SqlClient.SqlClient)
    if (client !== undefined) return ChangesPostgres.connection(client, `${database.prefix}changes`)
    return yield* Database.failing("only a client of @effect/sql-pg can be notified of changes by PostgreSQL")
  })
