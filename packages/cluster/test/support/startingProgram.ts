/** A program that opens the stores in each database that its parent process names. */
import { McpStores } from "@effect-mcp/cluster"
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The names of tables in PostgreSQL, or in a file of SQLite. */
export interface Tables {
  readonly prefix: string
  readonly filename?: string
}

/** The answer to a database whose stores were opened. Another one is an error. */
export const started = "started"

const open = ({ filename, prefix }: Tables) => {
  const client = filename === undefined
    ? PgClient.layer({ host: "127.0.0.1", port: 5432, username: "postgres", database: "test" })
    : NodeSqlite.layer({ filename })
  return Effect.scoped(Layer.build(Layer.provide(McpStores.layerSql({ prefix }), client)))
}

if (process.send !== undefined && import.meta.main) {
  process.on("message", (tables: Tables) => {
    const opening = Effect.matchCause(open(tables), { onSuccess: () => started, onFailure: String })
    void Effect.runPromise(opening).then((outcome) => process.send?.(outcome))
  })
  process.send("ready")
}
