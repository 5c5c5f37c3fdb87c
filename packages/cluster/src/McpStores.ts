/**
 * All stores of a server as one Layer. A program changes from memory to a database by another function of this module.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import * as ChangeBus from "@effect-mcp/session/ChangeBus"
import * as EventStore from "@effect-mcp/session/EventStore"
import { NumericOption } from "@effect-mcp/session/internal"
import type * as SessionOwners from "@effect-mcp/session/SessionOwners"
import * as SessionStore from "@effect-mcp/session/SessionStore"
import * as UsedStates from "@effect-mcp/session/UsedStates"
import * as TaskStore from "@effect-mcp/tasks/TaskStore"
import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Redis from "effect/persistence/Redis"
import type * as SqlClient from "effect/sql/SqlClient"
import * as ChangesRedis from "./internal/bus/ChangesRedis.ts"
import * as ChangesSql from "./internal/bus/ChangesSql.ts"
import * as Owners from "./internal/Owners.ts"
import * as RatesInMemory from "./internal/RatesInMemory.ts"
import * as RedisStores from "./internal/redis/RedisStores.ts"
import * as Database from "./internal/sql/Database.ts"
import * as Dialect from "./internal/sql/Dialect.ts"
import * as EventsSql from "./internal/sql/EventsSql.ts"
import * as Migrating from "./internal/sql/Migrating.ts"
import * as Migrations from "./internal/sql/Migrations.ts"
import * as OwnersSql from "./internal/sql/OwnersSql.ts"
import * as RatesSql from "./internal/sql/RatesSql.ts"
import * as SessionsSql from "./internal/sql/SessionsSql.ts"
import * as Sweep from "./internal/sql/Sweep.ts"
import * as Sweeping from "./internal/sql/Sweeping.ts"
import * as UsedStatesSql from "./internal/sql/UsedStatesSql.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import { StoresError } from "./StoresError.ts"

/**
 * Limits of the rates that a store remembers.
 *
 * @category models
 */
export interface RateOptions {
  /** The number of keys. Default 100,000. */
  readonly maxKeys?: number
}

const rateSettings: NumericOption.Settings<RateOptions> = { maxKeys: [NumericOption.count, 100_000] }

/**
 * Options of {@link layerMemory}.
 *
 * @category models
 */
export interface MemoryOptions {
  /** Limits of the sessions. */
  readonly sessions?: SessionStore.MemoryOptions
  /** Limits of the events of streams. */
  readonly events?: EventStore.MemoryOptions
  /** Limits of the used states. */
  readonly usedStates?: UsedStates.Options
  /** Limits of the rates. The least recently used key makes room. */
  readonly rates?: RateOptions
  /** Limits of the tasks. */
  readonly tasks?: TaskStore.MemoryOptions
}

/**
 * The stores that every bundle provides. It also sets the reference `UsedStates`. `RateLimiterStore` is that of Effect:
 * with `RateLimiter.layer` of `effect/persistence`, `McpRateLimit` counts in it.
 *
 * With SQL and Redis, the `EventStore` of a bundle needs the `SessionStore` of the same bundle: the streams of sessions
 * that this one does not know are deleted 60 seconds after their last event.
 *
 * @category models
 */
export type Stores =
  | EventStore.EventStore
  | RateLimiter.RateLimiterStore
  | SessionStore.SessionStore
  | TaskStore.TaskStore

/**
 * The services that the processes of a server need beside their stores.
 *
 * @category models
 */
export type Shared = ChangeBus.ChangeBus | SessionOwners.SessionOwners

/**
 * Provides all stores in memory. They end with the process, and one process uses them.
 *
 * @example
 * ```ts
 * import { McpStores } from "@effect-mcp/cluster"
 *
 * export const stores = McpStores.layerMemory({ sessions: { maxSessions: 1_000 } })
 * ```
 *
 * @category layers
 */
export const layerMemory = (options: MemoryOptions = {}): Layer.Layer<Stores> =>
  Layer.unwrap(Effect.sync(() => {
    LoadedPackages.check(thisPackage)
    const { maxKeys } = NumericOption.resolve(options.rates ?? {}, rateSettings, "rates.")
    return Layer.mergeAll(
      SessionStore.layerMemory(options.sessions),
      EventStore.layerMemory(options.events),
      UsedStates.layerMemory(options.usedStates),
      Layer.succeed(RateLimiter.RateLimiterStore, RatesInMemory.make(maxKeys)),
      TaskStore.layerMemory(options.tasks)
    )
  }))

/**
 * Limits of the sessions in a database. Those of all sessions are checked by each sweep.
 *
 * @category models
 */
export interface SqlSessionOptions {
  /** The number of sessions. The least recently used ones that no process serves make room. Default 100,000. */
  readonly maxSessions?: number
  /**
   * The number of sessions of one principal. The least recently used one that no process serves makes room. If there is
   * none, the store fails. Anonymous clients have no such limit. Default 10,000.
   */
  readonly maxSessionsPerPrincipal?: number
  /** The bytes of all sessions, two for each UTF-16 code unit of their JSON. They make room likewise. Default 1 GiB. */
  readonly maxBytes?: number
  /** The time after its last use for which a session is stored that no process serves. Default 1 day. */
  readonly idleTimeout?: Duration.Input
}

const sessionSettings: NumericOption.Settings<SqlSessionOptions> = {
  maxSessions: [NumericOption.count, 100_000],
  maxSessionsPerPrincipal: [NumericOption.count, 10_000],
  maxBytes: [NumericOption.count, 1024 ** 3],
  idleTimeout: [NumericOption.duration, "1 day"]
}

/**
 * Limits of the events of streams in a database. A full stream or session is cut to seven eighths of its limit, so that
 * not each event makes room. Limits of principals and of the store are checked by each sweep.
 *
 * @category models
 */
export interface SqlEventOptions extends EventStore.MemoryOptions {
  /** The bytes of the sessions of one principal. Anonymous clients have no such limit. Default 512 MiB. */
  readonly maxBytesPerPrincipal?: number
  /** The bytes of all sessions. Default 4 GiB. */
  readonly maxBytes?: number
}

const eventSettings: NumericOption.Settings<SqlEventOptions> = {
  maxEventsPerStream: [NumericOption.count, 1_000],
  maxBytesPerStream: [NumericOption.count, 4 * 1024 ** 2],
  maxBytesPerSession: [NumericOption.count, 8 * 1024 ** 2],
  maxBytesPerPrincipal: [NumericOption.count, 512 * 1024 ** 2],
  maxBytes: [NumericOption.count, 4 * 1024 ** 3],
  endedStreamTimeout: [NumericOption.duration, "60 seconds"]
}

/**
 * Options of {@link layerSql}.
 *
 * @category models
 */
export interface SqlOptions<R = never> extends Owners.Options<R> {
  /** Begins the names of the tables and indexes: letters, digits and `_`. Default: `mcp_`. */
  readonly prefix?: string
  /**
   * Whether the tables are created, and brought to the version of this release. Default: `true`. With `false`, tables
   * of an older version are an error; {@link sqlOf} returns the SQL.
   */
  readonly createTables?: boolean
  /** Limits of the sessions. */
  readonly sessions?: SqlSessionOptions
  /** Limits of the events of streams. */
  readonly events?: SqlEventOptions
  /** Limits of the used states. */
  readonly usedStates?: UsedStates.Options
  /** Limits of the rates. The rate that ends first makes room. */
  readonly rates?: RateOptions
  /**
   * The mean time between two sweeps by this process. A sweep deletes in batches what has expired and what exceeds the
   * limits of principals and of the store. Default 30 seconds.
   */
  readonly sweepInterval?: Duration.Input
  /** Options of the store of tasks. */
  readonly tasks?: Pick<TaskStoreSql.Options, "pollInterval">
}

const sqlSettings: NumericOption.Settings<Pick<SqlOptions, "sweepInterval">> = {
  sweepInterval: [NumericOption.interval, "30 seconds"]
}

const opened = (
  options: Pick<SqlOptions, "createTables" | "prefix">
): Effect.Effect<Database.Database, StoresError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const { createTables = true, prefix = "mcp_" } = options
    const database = yield* Database.open(prefix)
    yield* Migrating.checkIsolation(database)
    yield* createTables ? Migrating.migrate(database) : Migrating.check(database)
    return database
  }).pipe(Effect.mapError((error) => error instanceof StoresError ? error : new StoresError({ cause: error })))

/**
 * Provides all stores in the database of the `SqlClient`: SQLite, or PostgreSQL. Several processes can share it. They
 * use one table of sessions with their owners and epochs, so that a process that claims a session stops the writes of
 * the one that had it before.
 *
 * - Each write of an event, a session, an owner, a used state or a rate is one statement with PostgreSQL, and one
 *   transaction with SQLite. Limits that are exceeded cost further ones.
 * - Session ids and principals are stored as SHA-256. The principal of a session is also in its JSON, as are the
 *   messages of its handshake. Events contain messages of the server.
 * - Leases, expiry and rates go by the clock of the database. A used state is kept for the time that is left by the
 *   clock of its process.
 * - A process needs a connection of its own for changes (`LISTEN`) with PostgreSQL, so `maxConnections` is at least 2.
 *
 * Programs of an older release go on beside those of this one, if the tables were only added to. Tables that a later
 * release has changed otherwise are refused.
 *
 * The stores use the transaction of their caller if there is one. Give them a client of their own if handlers use
 * transactions.
 *
 * @example
 * ```ts
 * import { McpStores } from "@effect-mcp/cluster"
 * import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
 * import * as Layer from "effect/Layer"
 *
 * export const stores = Layer.provide(McpStores.layerSql(), NodeSqlite.layer({ filename: "stores.db" }))
 * ```
 *
 * @category layers
 */
export const layerSql = <R = never>(
  options: SqlOptions<R> = {}
): Layer.Layer<Shared | Stores, StoresError, R | SqlClient.SqlClient> =>
  Layer.unwrap(Effect.gen(function*() {
    LoadedPackages.check(thisPackage)
    NumericOption.check(options.usedStates, { capacity: NumericOption.count }, "usedStates.")
    const { maxKeys } = NumericOption.resolve(options.rates ?? {}, rateSettings, "rates.")
    const { sweepInterval } = NumericOption.resolve(options, sqlSettings)
    const sessions = NumericOption.resolve(options.sessions ?? {}, sessionSettings, "sessions.")
    const events = NumericOption.resolve(options.events ?? {}, eventSettings, "events.")
    const database = yield* opened(options)
    const { createTables = true, prefix = "mcp_", tasks } = options
    const leaseMillis = Owners.leaseMillisOf(options)
    return Layer.mergeAll(
      Layer.succeed(
        SessionStore.SessionStore,
        SessionsSql.make(database, { ...sessions, idleMillis: sessions.idleTimeout, leaseMillis })
      ),
      Layer.succeed(
        EventStore.EventStore,
        EventsSql.make(database, { ...events, endedStreamMillis: events.endedStreamTimeout })
      ),
      Owners.layer(OwnersSql.make(database), options),
      Layer.succeed(UsedStates.UsedStates, UsedStatesSql.make(database, options.usedStates?.capacity ?? 100_000)),
      Layer.succeed(RateLimiter.RateLimiterStore, RatesSql.make(database)),
      Layer.effectDiscard(Sweeping.start(
        Sweep.make(database, {
          maxSessions: sessions.maxSessions,
          maxSessionBytes: sessions.maxBytes,
          maxEventBytes: events.maxBytes,
          maxEventBytesPerPrincipal: events.maxBytesPerPrincipal,
          maxRates: maxKeys,
          endedStreamMillis: events.endedStreamTimeout,
          leaseMillis
        }),
        sweepInterval
      )),
      // The store of tasks learns of the changes of other processes from the bus.
      Layer.provideMerge(
        Layer.effect(
          TaskStore.TaskStore,
          Effect.mapError(
            TaskStoreSql.make({ ...tasks, createTables, prefix }),
            ({ cause }) => new StoresError({ cause })
          )
        ),
        ChangeBus.layer(yield* ChangesSql.connection(database))
      )
    )
  }))

/**
 * Returns the SQL that creates the tables of {@link layerSql} in an empty database, for people who set
 * `createTables: false`. Throws a `TypeError` if the prefix has other characters than letters, digits and `_`.
 *
 * @example
 * ```ts
 * import { McpStores } from "@effect-mcp/cluster"
 *
 * export const tables = McpStores.sqlOf("postgresql", { prefix: "app_" })
 * ```
 *
 * @category tables
 */
export const sqlOf = (dialect: "postgresql" | "sqlite", options: Pick<SqlOptions, "prefix"> = {}): string => {
  const { prefix = "mcp_" } = options
  const tasks = TaskStoreSql.sqlOf(dialect, { prefix })
  return `${Migrations.textOf(Dialect.of(dialect), prefix)}\n${tasks}`
}

/**
 * Limits of the sessions in Redis. The least recently used session makes room, one that no process serves if possible.
 *
 * @category models
 */
export interface RedisSessionOptions {
  /** The number of sessions. Default 100,000. */
  readonly maxSessions?: number
  /** The number of sessions of one principal. Anonymous clients have no such limit. Default 10,000. */
  readonly maxSessionsPerPrincipal?: number
  /** The bytes of all sessions: their JSON in UTF-8, and 1,024 for each. Default 512 MiB. */
  readonly maxBytes?: number
  /** The bytes of one session. A larger one is not stored, which is an error. Default 1 MiB. */
  readonly maxBytesPerSession?: number
  /** The time after its last use for which a session is stored, also one that a process serves. Default 7 days. */
  readonly idleTimeout?: Duration.Input
}

const redisSessionSettings: NumericOption.Settings<RedisSessionOptions> = {
  maxSessions: [NumericOption.count, 100_000],
  maxSessionsPerPrincipal: [NumericOption.count, 10_000],
  maxBytes: [NumericOption.count, 512 * 1024 ** 2],
  maxBytesPerSession: [NumericOption.count, 1024 ** 2],
  idleTimeout: [NumericOption.interval, "7 days"]
}

/**
 * Limits of the events in Redis. Each event counts its bytes of UTF-8 and about 50 more, and each stream 1,280. The
 * least recently used streams make room.
 *
 * @category models
 */
export interface RedisEventOptions extends EventStore.MemoryOptions {
  /** The bytes of the sessions of one principal. Anonymous clients have no such limit. Default 64 MiB. */
  readonly maxBytesPerPrincipal?: number
  /** The time after its last event for which a stream is stored that has not ended. Default 1 day. */
  readonly unusedStreamTimeout?: Duration.Input
}

const redisEventSettings: NumericOption.Settings<RedisEventOptions> = {
  maxEventsPerStream: [NumericOption.count, 1_000],
  maxBytesPerStream: [NumericOption.count, 4 * 1024 ** 2],
  maxBytesPerSession: [NumericOption.count, 8 * 1024 ** 2],
  maxBytesPerPrincipal: [NumericOption.count, 64 * 1024 ** 2],
  maxBytes: [NumericOption.count, 512 * 1024 ** 2],
  endedStreamTimeout: [NumericOption.interval, "60 seconds"],
  unusedStreamTimeout: [NumericOption.interval, "1 day"]
}

/**
 * Options of {@link layerRedis}.
 *
 * @category models
 */
export interface RedisOptions<R = never> extends Owners.Options<R> {
  /** Begins the names of the keys. Default: `mcp:`. Servers with common sessions need the same prefix. */
  readonly prefix?: string
  /** The time after which a command fails. Default 5 seconds. */
  readonly timeout?: Duration.Input
  /** Limits of the sessions. */
  readonly sessions?: RedisSessionOptions
  /** Limits of the events of streams. */
  readonly events?: RedisEventOptions
  /** Limits of the used states. */
  readonly usedStates?: UsedStates.Options
}

const redisSettings: NumericOption.Settings<RedisOptions> = { timeout: [NumericOption.interval, "5 seconds"] }

const usedStateSettings: NumericOption.Settings<UsedStates.Options> = { capacity: [NumericOption.count, 100_000] }

/**
 * Options for the client of {@link layerRedis}. Commands fail at once while Redis is away, a connection without replies
 * is closed after 10 seconds, and the client connects again within 600 milliseconds. That is less than a lease: the
 * process that returned first after an outage would otherwise take the sessions of others.
 *
 * @example
 * ```ts
 * import { McpStores } from "@effect-mcp/cluster"
 * import * as NodeRedis from "@effect/platform-node/NodeRedis"
 *
 * export const redis = NodeRedis.layer({ url: "redis://127.0.0.1:6379", ...McpStores.redisClientOptions })
 * ```
 *
 * @category constants
 */
export const redisClientOptions: {
  readonly disableOfflineQueue: true
  readonly pingInterval: number
  readonly socket: {
    readonly connectTimeout: number
    readonly socketTimeout: number
    readonly reconnectStrategy: (retries: number) => number
  }
} = {
  disableOfflineQueue: true,
  pingInterval: 1_000,
  socket: {
    connectTimeout: 2_000,
    // Longer than the commands that wait for messages.
    socketTimeout: 10_000,
    // Without the random part, the processes of a service would all connect at the same moment.
    reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, 400) + Math.floor(Math.random() * 200)
  }
}

/**
 * Provides the stores in Redis 7 or newer, which several processes share. There is no `TaskStore` among them: a
 * fail-over of Redis can lose writes that it has confirmed, and a task whose result is lost runs a second time. Keep
 * tasks in a database with `TaskStoreSql`.
 *
 * The stores use any client that provides `Redis` of `effect/persistence`, such as `NodeRedis` of
 * `@effect/platform-node` with the package `redis`, and {@link redisClientOptions}. All keys have to be on one server:
 * see `docs/operate/redis.md` for that, for the settings of Redis, and for what a fail-over loses.
 *
 * @example
 * ```ts
 * import { McpStores } from "@effect-mcp/cluster"
 * import * as NodeRedis from "@effect/platform-node/NodeRedis"
 * import * as Layer from "effect/Layer"
 *
 * export const stores = McpStores.layerRedis({ owners: { address: "http://10.0.0.3:3000" } }).pipe(
 *   Layer.provide(NodeRedis.layer({ url: "redis://127.0.0.1:6379", ...McpStores.redisClientOptions }))
 * )
 * ```
 *
 * @category layers
 */
export const layerRedis = <R = never>(
  options: RedisOptions<R> = {}
): Layer.Layer<Exclude<Stores, TaskStore.TaskStore> | Shared, never, R | Redis.Redis> =>
  Layer.unwrap(Effect.map(Redis.Redis, (redis) => {
    LoadedPackages.check(thisPackage)
    const { timeout } = NumericOption.resolve(options, redisSettings)
    const { capacity } = NumericOption.resolve(options.usedStates ?? {}, usedStateSettings, "usedStates.")
    const { prefix = "mcp:" } = options
    const stores = RedisStores.make(redis, {
      prefix,
      timeout,
      sessions: NumericOption.resolve(options.sessions ?? {}, redisSessionSettings, "sessions."),
      events: NumericOption.resolve(options.events ?? {}, redisEventSettings, "events."),
      capacity,
      leaseMillis: Owners.leaseMillisOf(options)
    })
    return Layer.mergeAll(
      Layer.succeed(EventStore.EventStore, stores.events),
      Layer.succeed(SessionStore.SessionStore, stores.sessions),
      Layer.succeed(UsedStates.UsedStates, stores.usedStates),
      Owners.layer(stores.owners, options),
      ChangeBus.layer(ChangesRedis.connection(redis, `${prefix}changes`)),
      Layer.provide(
        RateLimiter.layerStoreRedis({ prefix: stores.ratePrefix }),
        Layer.succeed(Redis.Redis, stores.redis)
      )
    )
  }))
