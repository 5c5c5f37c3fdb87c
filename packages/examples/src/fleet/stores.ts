/**
 * The stores that the processes of the fleet share: one Layer for each database.
 */
import { McpStores } from "@effect-mcp/cluster"
import * as EffectCluster from "@effect-mcp/cluster/EffectCluster"
import * as NodeEffectCluster from "@effect-mcp/cluster/NodeEffectCluster"
import type { EventStore, SessionStore } from "@effect-mcp/session"
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

/** The databases that a fleet can use. */
export const names = ["memory", "sqlite", "postgres", "redis"] as const

/** The name of a database. */
export type Name = typeof names[number]

/** Options of {@link layer}. */
export interface Options {
  readonly store: Name
  /** The file of SQLite, or the URL of a server. */
  readonly database: string
  /** The origin at which other processes reach this one. Default: that at which it listens. */
  readonly address: string | undefined
  /** The port of this process as a runner of Effect Cluster, which then judges the processes. Default: no cluster. */
  readonly runner: number | undefined
  /** The seconds for which an ended stream is kept, and between two sweeps of SQL. Default: those of the stores. */
  readonly kept?: number | undefined
}

/** Provides the stores of one process: at least those of the sessions and of their events. */
export const layer = (
  { address, database, kept, runner, store }: Options
): Layer.Layer<EventStore.EventStore | SessionStore.SessionStore, unknown> => {
  // Other programs may use the database as well.
  const options = {
    prefix: "fleet_",
    owners: { address },
    ...(kept === undefined ? undefined : { events: { endedStreamTimeout: Duration.seconds(kept) } })
  }
  const sqlOptions = kept === undefined ? options : { ...options, sweepInterval: Duration.seconds(kept) }
  switch (store) {
    // One process has all sessions, and they end with it.
    case "memory":
      return McpStores.layerMemory()
    case "sqlite":
      return Layer.provide(McpStores.layerSql(sqlOptions), NodeSqlite.layer({ filename: database }))
    case "postgres":
      return Layer.provide(
        runner === undefined ? McpStores.layerSql(sqlOptions) : McpStores.layerSql({
          ...sqlOptions,
          membership: EffectCluster.membership
        }).pipe(Layer.provide(NodeEffectCluster.layer({ host: "127.0.0.1", port: runner, prefix: "fleet_cluster" }))),
        PgClient.layer({ url: Redacted.make(database) })
      )
    case "redis":
      return Layer.provide(
        McpStores.layerRedis({ ...options, prefix: "fleet:" }),
        NodeRedis.layer({ url: database, ...McpStores.redisClientOptions })
      )
  }
}
